/** One event of a stream (WHATWG HTML, server-sent events). */
export interface SseEvent {
  /** Empty if the stream does not name it. */
  readonly event: string
  readonly data: string
  readonly id?: string | undefined
}

/** The max length of one event; a stream that never ends an event is not kept in memory. */
const MAX_SSE_EVENT = 16 * 1024 * 1024

/** For pieces that end with a whole character, as most do: a decoder per stream is expensive. */
const WHOLE_DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Reads events from bytes that may be split anywhere, even inside a character. Comments and unknown
 * fields are skipped, lines end with CR, LF or both, and a byte order mark at the start is skipped.
 */
export class SseReader {
  /** True if an event is too long: nothing more is read. */
  isTooLong = false
  /** The number of comment lines, which keep the connection alive. */
  comments = 0
  #decoder: TextDecoder | undefined
  /** True if the decoder may hold the beginning of a character. */
  #isInsideCharacter = false
  #hasText = false
  readonly #max: number
  #line = ''
  #skipLineFeed = false
  #event = ''
  #data: string[] = []
  #length = 0
  #id: string | undefined

  constructor(max: number = MAX_SSE_EVENT) {
    this.#max = max
  }

  /** True if an event has begun and not ended. At the end of a stream, it does not count. */
  get isInsideEvent(): boolean {
    return this.#line !== '' || this.#data.length > 0 || this.#event !== ''
  }

  /** True if the next byte begins an event. */
  get isBetweenEvents(): boolean {
    return !this.isInsideEvent && !this.#skipLineFeed && !this.#isInsideCharacter && this.#hasText
  }

  push(bytes: Uint8Array): readonly SseEvent[] {
    return this.#read(this.#decode(bytes))
  }

  /** Ends the body: half a character is replaced, and no event ends by this. */
  end(): void {
    if (this.#isInsideCharacter) this.#read(this.#decoder?.decode() ?? '')
  }

  #decode(bytes: Uint8Array): string {
    if (bytes.length === 0) return ''
    const mayBeCut = (bytes[bytes.length - 1] as number) >= 0x80
    let text: string
    if (mayBeCut || this.#isInsideCharacter) {
      this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true })
      text = this.#decoder.decode(bytes, { stream: true })
      this.#isInsideCharacter = mayBeCut
    } else text = WHOLE_DECODER.decode(bytes)
    if (this.#hasText || text === '') return text
    this.#hasText = true
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  }

  #read(text: string): readonly SseEvent[] {
    const events: SseEvent[] = []
    let at = 0
    // Only new text is searched: a long line in small pieces would be searched again and again.
    while (at < text.length && !this.isTooLong) {
      if (this.#skipLineFeed) {
        this.#skipLineFeed = false
        if (text.charCodeAt(at) === 10) {
          at++
          continue
        }
      }
      const end = endOfLine(text, at)
      if (end < 0) {
        this.#grow(text.slice(at))
        break
      }
      this.#grow(text.slice(at, end))
      this.#skipLineFeed = text.charCodeAt(end) === 13
      at = end + 1
      const line = this.#line
      this.#line = ''
      if (!this.isTooLong) this.#readLine(line, events)
    }
    return events
  }

  #grow(piece: string): void {
    this.#line = this.#line === '' ? piece : this.#line + piece
    this.#length += piece.length
    if (this.#length > this.#max) {
      this.isTooLong = true
      this.#line = ''
      this.#data = []
    }
  }

  #readLine(line: string, events: SseEvent[]): void {
    if (line === '') {
      const { length } = this.#data
      if (length > 0) {
        const data = length === 1 ? (this.#data[0] as string) : this.#data.join('\n')
        events.push({ event: this.#event, data, id: this.#id })
        this.#data = []
      }
      this.#event = ''
      this.#length = 0
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) {
      this.comments++
      this.#length -= line.length
      return
    }
    const field = colon < 0 ? line : line.slice(0, colon)
    const from = line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1
    const value = colon < 0 ? '' : line.slice(from)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
  }
}

const BYTE_ORDER_MARK = 0xfeff

function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  if (feed < 0) return text.indexOf('\r', from)
  const carriage = text.slice(from, feed).indexOf('\r')
  return carriage < 0 ? feed : from + carriage
}

const ENCODER = new TextEncoder()

export function writeSse(data: string, event?: string): Uint8Array {
  return ENCODER.encode(renderSse(data, event))
}

/** A line end inside `data` would end the field, so each line becomes a separate field. */
export function renderSse(data: string, event?: string): string {
  const lines = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`
}
