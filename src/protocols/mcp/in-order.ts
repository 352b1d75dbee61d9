import { inTurns, onDone, type Serving } from './serving.ts'

/** Keeps a server's events in order while processing one of them takes several turns. */
export class InOrder<P> {
  readonly #serving: Serving<P>
  /** Undefined if nothing is being processed. */
  #waiting: (() => void)[] | undefined

  constructor(serving: Serving<P>) {
    this.#serving = serving
  }

  /** Runs an event at once, or after the current one. Returns false if it has to wait. */
  run(event: () => void): boolean {
    if (this.#waiting === undefined) {
      event()
      return true
    }
    this.#waiting.push(event)
    return false
  }

  /** Only for an event that is being run: later ones wait. */
  after<T>(steps: Generator<void, T>, next: (value: T) => void): void {
    this.#waiting = []
    onDone(this.#serving, inTurns(this.#serving, steps), (value) => {
      next(value)
      this.#goOn()
    })
  }

  #goOn(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const event of waiting) this.run(event)
    if (this.#waiting === undefined) this.#serving.sendings.resume()
  }
}
