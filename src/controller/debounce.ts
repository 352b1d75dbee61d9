export interface DebounceTimes {
  /** After the last signal, in milliseconds. */
  readonly quiet: number
  /** After the first signal, in milliseconds. */
  readonly max: number
  /**
   * Whether the first signal after a pause of `quiet` runs at once. Those after it wait, though no
   * longer than two runs take: what is quick is done often, and signals that go on never get more
   * than a third of the time.
   */
  readonly isEager?: boolean
}

/**
 * Runs something a little after the last of several signals, and never later than `max` after the
 * first: changes that come all the time cannot hold it up. It never runs twice at once.
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
      // Not within the signal: what comes with it, in the same message of a watch, is included.
      this.#immediate = setImmediate(() => void this.#start())
      return
    }
    const longest = isEager ? Math.min(max, 2 * this.#took) : max
    const left = this.#first + longest - now
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#start(), Math.max(0, Math.min(quiet, left)))
  }

  /** Whether something is waiting to be done. */
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
