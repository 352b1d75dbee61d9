export interface LoadLimits {
  /** Requests under way at once. */
  readonly requests: number
  /** Milliseconds that the process may be late; 0: as late as it is. */
  readonly delay: number
}

/** Why a request is not taken on. */
export type Shedding = 'requests' | 'delay'

/** Milliseconds between two looks at the clock. */
const PERIOD = 100
/** One long turn, of a reload or the garbage collector, is no overload: all of these must be late. */
const LOOKS = 4

/**
 * How much the process has to do. Beyond its limits new requests get 503 at once, so
 * that those under way are served in time: of the later ones as many as make up for the delay.
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

  /** Requests that began and did not end. */
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

  /** So late was the process just now. */
  look(milliseconds: number): void {
    this.#late[this.#looks++ % LOOKS] = milliseconds
    this.#delay = Math.min(...this.#late)
  }

  /** Whether bytes of a body that a rule waits for find room, where all may take `max`. */
  retain(bytes: number, max: number): boolean {
    if (this.#kept + bytes > max) return false
    this.#kept += bytes
    return true
  }

  release(bytes: number): void {
    this.#kept -= bytes
  }

  /** One more; whoever begins also ends, whatever the response. Undefined: it is taken on. */
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
