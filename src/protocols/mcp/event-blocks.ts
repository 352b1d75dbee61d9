/** One block of an event stream (WHATWG HTML): its lines, and what they say. */
export interface EventBlock {
  /** Undefined: it carries no data, as a comment or `retry`. */
  readonly data: string | undefined
  readonly id: string | undefined
  /** The lines that are neither data nor id, as they are written: comments, `event`, `retry`. */
  readonly others: readonly string[]
}

/** What one block may hold; a stream that never ends one is not kept in memory. */
const MAX_BLOCK = 16 * 1024 * 1024

/** Blocks from bytes that may be split anywhere, inside a character too. */
export class EventBlockReader {
  /** A block is too long: nothing is read any more. */
  isTooLong = false
  readonly #decoder = new TextDecoder('utf-8')
  readonly #max: number
  #rest = ''
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
    const text = this.#rest + piece
    let from = 0
    // A long line in small pieces must not be searched again and again.
    let search = this.#rest.length === 0 ? 0 : Math.max(0, this.#rest.length - 1)
    for (;;) {
      const end = endOfLine(text, search)
      // A CR at the end may be half of a CRLF.
      if (end < 0 || (text[end] === '\r' && end + 1 === text.length)) break
      this.#line(text.slice(from, end), blocks)
      from = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
      search = from
    }
    this.#rest = text.slice(from)
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
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 10 || code === 13) return at
  }
  return -1
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
