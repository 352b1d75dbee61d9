export interface LoadLimits {
  /** Max number of concurrent requests. */
  readonly requests: number
  /** Max milliseconds that the process may be late; 0: no limit. */
  readonly delay: number
}

/** Why a request is not accepted. */
export type Shedding = 'requests' | 'delay'

/** Milliseconds between two checks of the clock. */
const PERIOD = 100
/** One long turn, of a reload or the garbage collector, is no overload: all must be late. */
const LOOKS = 4

/**
 * Measures the load of the process. Beyond its limits, new requests get 503 at once, so that those
 * in progress are served in time: if the process is late, only as many as make up for the delay.
 */
export class Load {
  readonly #limits: LoadLimits
  readonly #random: () => number
  readonly #late: number[] = new Array(LOOKS).fill(0)
  #underWay = 0
  #kept = 0
  #looks = 0
  #expectedAt = 0
  #delay = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: LoadLimits, random: () => number = Math.random) {
    this.#limits = limits
    this.#random = random
  }

  /** The number of requests in progress. */
  get underWay(): number {
    return this.#underWay
  }

  watch(): void {
    if (this.#limits.delay === 0) return
    this.#expectedAt = performance.now() + PERIOD
    const look = () => {
      const now = performance.now()
      this.look(now - this.#expectedAt)
      this.#expectedAt = now + PERIOD
    }
    this.#timer = setInterval(look, PERIOD).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Records how late the process just was. */
  look(milliseconds: number): void {
    this.#late[this.#looks++ % LOOKS] = milliseconds
    this.#delay = Math.min(...this.#late)
  }

  /** Whether bytes of a body that a rule waits for have room, if all bodies may take `max`. */
  retain(bytes: number, max: number): boolean {
    if (this.#kept + bytes > max) return false
    this.#kept += bytes
    return true
  }

  release(bytes: number): void {
    this.#kept -= bytes
  }

  /** Counts a request; each `begin` needs an `end`. Returns undefined if it is accepted. */
  begin(): Shedding | undefined {
    this.#underWay++
    const { requests, delay } = this.#limits
    if (this.#underWay > requests) return 'requests'
    const isLate = delay > 0 && this.#delay > delay
    return isLate && this.#random() > delay / this.#delay ? 'delay' : undefined
  }

  end(): void {
    this.#underWay--
  }
}
