/**
 * Runs something a little after the last of several signals, and never later than `max` after the
 * first: changes that come all the time cannot hold it up. It never runs twice at once.
 */
export class Debounce {
  readonly #run: () => Promise<void>
  readonly #quiet: number
  readonly #max: number
  #timer: NodeJS.Timeout | undefined
  #first: number | undefined
  #isRunning = false
  #isStopped = false

  /** Milliseconds. */
  constructor(
    run: () => Promise<void>,
    { quiet, max }: { readonly quiet: number; readonly max: number },
  ) {
    this.#run = run
    this.#quiet = quiet
    this.#max = max
  }

  signal(): void {
    if (this.#isStopped) return
    const now = performance.now()
    this.#first ??= now
    if (this.#isRunning) return
    const left = this.#first + this.#max - now
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#start(), Math.max(0, Math.min(this.#quiet, left)))
  }

  /** Whether something is waiting to be done. */
  get isPending(): boolean {
    return this.#first !== undefined || this.#isRunning
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  async #start(): Promise<void> {
    this.#first = undefined
    this.#isRunning = true
    try {
      await this.#run()
    } finally {
      this.#isRunning = false
      if (this.#first !== undefined) this.signal()
    }
  }
}
