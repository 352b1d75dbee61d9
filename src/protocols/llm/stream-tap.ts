import { isTooMuch, MAX_READ_AT_ONCE } from '../long-json.ts'
import { SseReader } from '../sse.ts'
import type { StreamTap } from './dialect.ts'
import type { LlmError } from './error.ts'
import { isObject, parseJsonText } from './json.ts'
import type { Fields } from './reading.ts'
import { serverError } from './sse-stream.ts'
import type { Usage } from './usage.ts'

/** What a tap has learned so far. */
export class TapState {
  model: string | undefined
  id: string | undefined
  usage: Usage | undefined
  hasOutput = false
  isComplete = false
  error: LlmError | undefined
}

export interface TapReader {
  /** A cheap check of the raw data: does it contain anything that is not known yet? */
  isOfInterest(data: string, event: string, state: TapState): boolean
  read(data: Fields, state: TapState): void
  /**
   * The same for the raw bytes of several events, as a string with one character per byte. True
   * only if none of them is of interest, and none may be removed by a policy.
   */
  isIdle?(text: string, state: TapState): boolean
  /** Handles data that is not JSON. */
  word?(data: string, state: TapState): void
}

/**
 * Reads what it must of a stream that passes through: most events are scanned but not parsed. It
 * changes nothing, and ignores what it cannot read.
 */
export class SseTap extends TapState implements StreamTap {
  readonly #sse = new SseReader()
  readonly #reader: TapReader

  constructor(reader: TapReader) {
    super()
    this.#reader = reader
  }

  isIdle(bytes: Uint8Array): boolean {
    const { length } = bytes
    if (bytes[length - 1] !== LINE_FEED || bytes[length - 2] !== LINE_FEED) return false
    if (this.#reader.isIdle === undefined || !this.#sse.isBetweenEvents) return false
    return this.#reader.isIdle(latin1(bytes), this)
  }

  push(bytes: Uint8Array): void {
    for (const { data, event } of this.#sse.push(bytes)) {
      // Such a long event contains model output and takes long to search.
      if (data.length > MAX_READ_AT_ONCE) continue
      if (!this.#reader.isOfInterest(data, event, this)) continue
      // Most streams end with a word that is not JSON; a thrown error costs more than this check.
      const isRead = !data.startsWith('[') && !isTooMuch(data)
      const value = isRead ? parseJsonText(data).value : undefined
      if (isObject(value)) this.#reader.read(value, this)
      else this.#reader.word?.(data, this)
    }
  }

  end(): void {
    this.#sse.end()
    if (!this.isComplete) this.error ??= serverError('The provider ended the stream early.')
  }
}

/** For calls that have no streams. */
export class NoTap extends TapState implements StreamTap {
  push(): void {}

  end(): void {
    this.isComplete = true
  }
}

const LINE_FEED = 10

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
