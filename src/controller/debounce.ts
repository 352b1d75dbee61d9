export interface DebounceTimes {
  /** After the last signal, in milliseconds. */
  readonly quiet: number
  /** After the first signal, in milliseconds. */
  readonly max: number
  /**
   * Whether the first signal after a pause of `quiet` runs at once. Later signals wait, but no
   * longer than two runs take: fast work runs often, and continuous signals never use more than a
   * third of the time.
   */
  readonly isEager?: boolean
}

/**
 * Runs a function shortly after the last of several signals, and at the latest `max` after the
 * first, so that continuous changes cannot delay it indefinitely. Runs never overlap.
 */
export class Debounce {
  readonly #run: () => Promise<void>
  readonly #times: DebounceTimes
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #first: number | undefined
  #ended = Number.NEGATIVE_INFINITY
  /** Milliseconds that the last run took. */
  #took = 0
  #isRunning = false
  #isStopped = false

  constructor(run: () => Promise<void>, times: DebounceTimes) {
    this.#run = run
    this.#times = times
  }

  signal(): void {
    if (this.#isStopped) return
    const { quiet, max, isEager = false } = this.#times
    const now = performance.now()
    this.#first ??= now
    if (this.#isRunning || this.#immediate !== undefined) return
    if (isEager && this.#timer === undefined && now - this.#ended >= quiet) {
      // Deferred: further signals in the same watch message are included.
      this.#immediate = setImmediate(() => void this.#start())
      return
    }
    const longest = isEager ? Math.min(max, 2 * this.#took) : max
    const left = this.#first + longest - now
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#start(), Math.max(0, Math.min(quiet, left)))
  }

  /** Whether a run is pending or in progress. */
  get isPending(): boolean {
    return this.#first !== undefined || this.#isRunning
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }

  async #start(): Promise<void> {
    this.#first = undefined
    this.#timer = undefined
    this.#immediate = undefined
    this.#isRunning = true
    const began = performance.now()
    try {
      await this.#run()
    } finally {
      this.#isRunning = false
      this.#ended = performance.now()
      this.#took = this.#ended - began
      if (this.#first !== undefined) this.signal()
    }
  }
}
