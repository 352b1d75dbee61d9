import type { Downstream } from '../../src/wire/downstream.ts'
import { NO_LINES } from '../../src/wire/http1/field-lines.ts'
import type { BodySink } from '../../src/wire/streams.ts'
import { fill } from '../faults/patterns.ts'

/** What a sink does with the bytes of an upload. */
export interface KeptUpload {
  readonly seed: number
  /** After so many pieces that were received it is written; -1: only at the very end. */
  readonly writesAfter: number
  /** Whether the sink says when it has written; one that does not may keep its bytes for ever. */
  readonly saysWritten: boolean
  /** Takes no more after this many bytes, until some turns later. */
  readonly pausesAt: number
  /** The response comes after this many bytes; -1: after all of them. */
  readonly repliesAt: number
}

/** Keeps what it gets until it is written, and compares it only then. */
export class Keeper implements BodySink {
  readonly #expected: KeptUpload
  readonly #downstream: Downstream
  readonly #mayAbort: boolean
  declare readonly hasWritten?: () => boolean
  #views: Buffer[] = []
  #pieces = 0
  #total = 0
  #hasPaused = false
  #hasReplied = false
  compared = 0
  isWhole = false
  fault: string | undefined = undefined

  /** `mayAbort`: once the response is sent, what still comes may be broken off. */
  constructor(expected: KeptUpload, downstream: Downstream, mayAbort: boolean) {
    this.#expected = expected
    this.#mayAbort = mayAbort
    this.#downstream = downstream
    if (expected.saysWritten) this.hasWritten = () => this.#views.length === 0
  }

  write(bytes: Buffer): boolean {
    this.#views.push(bytes)
    this.#total += bytes.length
    const { writesAfter, pausesAt, repliesAt } = this.#expected
    if (writesAfter >= 0 && ++this.#pieces > writesAfter) this.compare()
    if (repliesAt >= 0 && this.#total >= repliesAt) this.#reply()
    if (this.#hasPaused || pausesAt === 0 || this.#total < pausesAt) return true
    this.#hasPaused = true
    setTimeout(() => this.#downstream.resumeBody(), 2)
    return false
  }

  compare(): void {
    for (const view of this.#views) {
      const right = fill(this.#expected.seed, this.compared, view.length)
      if (!view.equals(right)) this.fault ??= `bytes from ${this.compared} on are others'`
      this.compared += view.length
    }
    this.#views = []
  }

  end(): void {
    this.isWhole = true
    this.#reply()
  }

  abort(reason: string): void {
    if (!(this.#mayAbort && this.#hasReplied)) this.fault ??= reason
  }

  #reply(): void {
    if (this.#hasReplied) return
    this.#hasReplied = true
    this.#downstream.reply(200, NO_LINES, 'ok')
  }
}
