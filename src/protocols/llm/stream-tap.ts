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
  /** Cheap, on the raw data: is there anything in it that is not known yet? */
  isOfInterest(data: string, event: string, state: TapState): boolean
  read(data: Fields, state: TapState): void
  /**
   * The same of the bytes of several events as they came, as text of one byte for each letter. True
   * only if none of them is of interest, and none that a policy may take out.
   */
  isIdle?(text: string, state: TapState): boolean
  /** Data that is no JSON. */
  word?(data: string, state: TapState): void
}

/**
 * Reads what it must of a stream that passes by: most events are looked at and not parsed. It
 * changes nothing, and what it cannot read it does not count.
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
      // What is so long holds what a model made, and takes long to search.
      if (data.length > MAX_READ_AT_ONCE) continue
      if (!this.#reader.isOfInterest(data, event, this)) continue
      // Most streams end with a word that is no JSON, and an error that is thrown costs more than it.
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

/** Of calls that have no streams. */
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
