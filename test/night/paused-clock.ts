const TICK = 1_000
/** A longer time between two ticks means that the process was stopped. */
const MAX_TICK = 5_000

/** Seconds that leave out the time during which this process was stopped (SIGSTOP). */
export class PausedClock {
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout
  #last: number
  #milliseconds = 0
  #wasPaused = false
  onTick: (seconds: number) => void = () => {}

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#last = now()
    this.#timer = setInterval(() => this.tick(), TICK)
  }

  tick(): void {
    const now = this.#now()
    const passed = now - this.#last
    this.#last = now
    if (passed > MAX_TICK) this.#wasPaused = true
    this.#milliseconds += passed > MAX_TICK ? TICK : passed
    this.onTick(this.#milliseconds / 1000)
  }

  stop(): { readonly seconds: number; readonly wasPaused: boolean } {
    clearInterval(this.#timer)
    this.tick()
    return { seconds: this.#milliseconds / 1000, wasPaused: this.#wasPaused }
  }
}
