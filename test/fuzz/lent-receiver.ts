import type { ResponseEvents } from '../../src/wire/upstream-connection.ts'
import { fill } from '../faults/patterns.ts'

/** The data that a receiver expects, and how it accepts the data. */
export interface Expected {
  readonly seed: number
  /** Each piece is written at once after this many pieces; -1: only at the very end. */
  readonly writesAfter: number
  /** Stops accepting data after this many bytes, for some turns. */
  readonly pausesAt: number
}

/** Keeps the bytes that it receives until they are written, and compares them only then. */
export class Receiver implements ResponseEvents {
  readonly idleTimeout: number = 60_000
  readonly #expected: Expected
  readonly #from: { resume(): void }
  #views: Buffer[] = []
  #pieces = 0
  #paused = false
  received = 0
  done = false
  fault: string | undefined = undefined

  constructor(expected: Expected, from: { resume(): void }) {
    this.#expected = expected
    this.#from = from
  }

  interim(): void {}
  response(): boolean {
    return false
  }

  data(bytes: Buffer): boolean {
    this.#views.push(bytes)
    const { writesAfter, pausesAt } = this.#expected
    if (writesAfter >= 0 && ++this.#pieces > writesAfter) this.write()
    const total = this.received + this.#views.reduce((sum, view) => sum + view.length, 0)
    if (this.#paused || pausesAt === 0 || total < pausesAt) return true
    this.#paused = true
    setTimeout(() => this.#from.resume(), 2)
    return false
  }

  isWritten(): boolean {
    return this.#views.length === 0
  }

  write(): void {
    for (const view of this.#views) {
      const right = fill(this.#expected.seed, this.received, view.length)
      if (!view.equals(right)) this.fault ??= `bytes from ${this.received} on are others'`
      this.received += view.length
    }
    this.#views = []
  }

  ended(): void {
    this.done = true
  }

  failed(reason: string): void {
    this.fault ??= reason
    this.done = true
  }

  drained(): void {}
}
