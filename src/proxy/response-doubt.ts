import {
  beginsLikeError,
  ERROR_PREFIX_BYTES,
  type ErrorInSuccess,
  errorInSuccess,
} from '../program/model-response.ts'
import { eventTime } from '../wire/event-clock.ts'
import type { FieldLines, NameSet } from '../wire/http1/field-lines.ts'
import { joinedValue } from '../wire/http1/fields.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'

/** Max milliseconds for which white space is held: it may be there to keep a connection open. */
const MAX_SILENCE = 5_000

/** Holds a response with a success status until it is known to be one. */
export class ResponseDoubt {
  readonly head: ResponseHead
  readonly dropped: NameSet
  readonly lines: FieldLines
  readonly isStream: boolean
  /** Without the bytes that decided last. */
  held: Buffer[] = []
  readonly #startedAt = eventTime()

  constructor(head: ResponseHead, written: { dropped: NameSet; lines: FieldLines }) {
    this.head = head
    this.dropped = written.dropped
    this.lines = written.lines
    this.isStream = /^text\/event-stream\b/i.test(joinedValue(head.fields, 'content-type') ?? '')
  }

  /** `bytes` is undefined if there are no more. */
  look(bytes: Buffer | undefined): ErrorInSuccess {
    const isWhole = bytes === undefined
    if (!isWhole && this.held.length === 0 && bytes.length > ERROR_PREFIX_BYTES) {
      const beginning = bytes.toString('latin1', 0, ERROR_PREFIX_BYTES)
      if (!beginsLikeError(beginning, this.isStream)) return undefined
    }
    const all = isWhole ? this.held : [...this.held, bytes]
    const text = all.length === 1 ? textOf(all[0] as Buffer) : textOf(Buffer.concat(all))
    const verdict = errorInSuccess(text, this.isStream, isWhole)
    const isLate = verdict === 'more' && eventTime() - this.#startedAt > MAX_SILENCE
    if (isLate && text.trim() === '') return undefined
    // The buffer that was read to is reused.
    if (verdict === 'more' && bytes !== undefined) this.held.push(Buffer.from(bytes))
    return verdict
  }
}

function textOf(bytes: Buffer): string {
  return bytes.toString('latin1')
}
