import { UNRECORDED } from '../../src/exchange/fixtures/recorded.ts'
import type { Downstream } from '../../src/wire/downstream.ts'
import { NO_LINES } from '../../src/wire/http1/field-lines.ts'
import type { BodySink } from '../../src/wire/streams.ts'
import { fill } from '../faults/patterns.ts'

/** How a sink handles the bytes of an upload. */
export interface KeptUpload {
  readonly seed: number
  /** Each piece is written at once after this many pieces; -1: only at the very end. */
  readonly writesAfter: number
  /**
   * Whether the sink reports when it has written; a sink that does not may keep its bytes forever.
   */
  readonly saysWritten: boolean
  /** Stops accepting data after this many bytes, for some turns. */
  readonly pausesAt: number
  /** The response is sent after this many bytes; -1: after all of them. */
  readonly repliesAt: number
}

/** Keeps the bytes that it receives until they are written, and compares them only then. */
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

  /** `mayAbort`: the rest of the body may be aborted once the response is sent. */
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
    this.#downstream.reply(UNRECORDED, 200, NO_LINES, 'ok')
  }
}
