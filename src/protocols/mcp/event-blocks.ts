/** One block of an event stream (WHATWG HTML): its lines and their content. */
export interface EventBlock {
  /** Undefined if it carries no data, such as a comment or `retry`. */
  readonly data: string | undefined
  readonly id: string | undefined
  /** The lines that are neither data nor id, as written: comments, `event`, `retry`. */
  readonly others: readonly string[]
}

/** The max length of one block; a stream that never ends a block is not kept in memory. */
const MAX_BLOCK = 16 * 1024 * 1024

/** Reads blocks from bytes that may be split anywhere, even inside a character. */
export class EventBlockReader {
  /** True if a block is too long: nothing more is read. */
  isTooLong = false
  readonly #decoder = new TextDecoder('utf-8')
  readonly #max: number
  #rest = ''
  #isAfterReturn = false
  #lines: string[] = []
  #length = 0

  constructor(max: number = MAX_BLOCK) {
    this.#max = max
  }

  push(bytes: Uint8Array): readonly EventBlock[] {
    const blocks: EventBlock[] = []
    if (this.isTooLong) return blocks
    const piece = this.#decoder.decode(bytes, { stream: true })
    this.#length += piece.length
    // A CR at the end of a piece may be half of a CRLF and is read with the next piece.
    const text = this.#isAfterReturn ? `\r${piece}` : piece
    this.#isAfterReturn = false
    let from = 0
    // Only new text is searched and joined: a long line arrives in many pieces.
    for (;;) {
      const end = endOfLine(text, from)
      if (end < 0) break
      const isReturn = text.charCodeAt(end) === 13
      if (isReturn && end + 1 === text.length) {
        this.#isAfterReturn = true
        this.#rest += text.slice(from, end)
        from = text.length
        break
      }
      const line = this.#rest + text.slice(from, end)
      this.#rest = ''
      this.#line(line, blocks)
      from = isReturn && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1
    }
    if (from < text.length) this.#rest += text.slice(from)
    if (this.#length > this.#max) this.isTooLong = true
    return blocks
  }

  #line(line: string, blocks: EventBlock[]): void {
    if (line !== '') {
      this.#lines.push(line)
      return
    }
    if (this.#lines.length > 0) blocks.push(readBlock(this.#lines))
    this.#lines = []
    this.#length = 0
  }
}

function endOfLine(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  const before = feed < 0 ? text.indexOf('\r', from) : text.slice(from, feed).indexOf('\r')
  if (feed < 0 || before < 0) return feed < 0 ? before : feed
  return from + before
}

function readBlock(lines: readonly string[]): EventBlock {
  const data: string[] = []
  const others: string[] = []
  let id: string | undefined
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') data.push(value)
    else if (name === 'id') id = value
    else others.push(line)
  }
  return { data: data.length === 0 ? undefined : data.join('\n'), id, others }
}

export function writeBlock({ data, id, others }: EventBlock): string {
  let text = others.map((line) => `${line}\n`).join('')
  if (id !== undefined) text += `id: ${id}\n`
  if (data !== undefined)
    text += data
      .split('\n')
      .map((line) => `data: ${line}\n`)
      .join('')
  return `${text}\n`
}
