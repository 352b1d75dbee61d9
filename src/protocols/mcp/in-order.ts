import { inTurns, onDone, type Serving } from './serving.ts'

/** Events of a server in their order, while what to make of one of them takes several turns. */
export class InOrder<P> {
  readonly #serving: Serving<P>
  /** Undefined: nothing is under way. */
  #waiting: (() => void)[] | undefined

  constructor(serving: Serving<P>) {
    this.#serving = serving
  }

  /** At once, or after what is under way. False: not yet. */
  run(event: () => void): boolean {
    if (this.#waiting === undefined) {
      event()
      return true
    }
    this.#waiting.push(event)
    return false
  }

  /** Only of an event that is run: those after it wait. */
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
