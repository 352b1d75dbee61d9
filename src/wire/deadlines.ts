import { SlotSet, type Slotted } from './slot-set.ts'

/** Something with a deadline. */
export interface Timed extends Slotted {
  /** Milliseconds of performance.now(); Infinity: no deadline now. */
  deadline: number
  expire(): void
}

/**
 * Checks many deadlines a few times a second: setting one stores a number, while a timer for each
 * would cost more than the request that it guards.
 */
export class Deadlines {
  readonly #timed = new SlotSet<Timed>()
  readonly #period: number
  readonly #broke: ((error: unknown) => void) | undefined
  #timer: NodeJS.Timeout | undefined

  /**
   * `broke` receives what `expire` throws; that object is removed, the others are still checked.
   */
  constructor(period = 250, broke?: (error: unknown) => void) {
    this.#period = period
    this.#broke = broke
  }

  /** Number of objects with deadlines; they must be removed when they are over. */
  get size(): number {
    return this.#timed.size
  }

  add(timed: Timed): void {
    this.#timed.add(timed)
    this.#timer ??= setInterval(() => this.check(performance.now()), this.#period).unref()
  }

  remove(timed: Timed): void {
    this.#timed.delete(timed)
    if (this.#timed.size > 0 || this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  check(now: number): void {
    for (let slot = this.#timed.size - 1; slot >= 0; slot--) {
      const timed = this.#timed.at(slot)
      if (timed === undefined || timed.deadline > now) continue
      try {
        timed.expire()
      } catch (error) {
        if (this.#broke === undefined) throw error
        this.remove(timed)
        this.#broke(error)
      }
    }
  }
}
