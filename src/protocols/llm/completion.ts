import type { Dialect, StreamReader } from './dialect.ts'
import type { Part, StreamEvent } from './neutral.ts'

/* Extracts the text that a model wrote, without reasoning and tool calls, for logs and spans. */

/** The max number of characters to keep; the rest is dropped. */
const MAX_COMPLETION = 1 << 18

/** For a whole response that is passed through: one text per choice; undefined if none is found. */
export function completionOf(dialect: Dialect, bytes: Uint8Array): readonly string[] | undefined {
  if (dialect.choicesOf !== undefined) return bounded(dialect.choicesOf(bytes))
  const read = dialect.provider?.readResponse(bytes, '')
  return read?.ok === true ? textsOf(read.value.parts) : undefined
}

export function textsOf(parts: readonly Part[]): readonly string[] | undefined {
  const texts = parts.map((part) => (isWritten(part.kind) && 'text' in part ? part.text : ''))
  return bounded([texts.join('')])
}

/** The same for a stream, event by event. */
export class CompletionText {
  readonly #blocks = new Set<number>()
  #text = ''

  add(event: StreamEvent): void {
    if (event.kind === 'blockStart' && isWritten(event.part.kind)) this.#blocks.add(event.block)
    if (event.kind !== 'delta' || !this.#blocks.has(event.block)) return
    if (this.#text.length < MAX_COMPLETION) this.#text += event.text
  }

  get texts(): readonly string[] | undefined {
    return bounded([this.#text])
  }
}

/** The same for a stream whose bytes are passed through. */
export class CompletionTap {
  readonly #reader: StreamReader | undefined
  readonly #text = new CompletionText()

  constructor(dialect: Dialect) {
    this.#reader = dialect.provider?.readStream('')
  }

  push(bytes: Uint8Array): void {
    for (const event of this.#reader?.push(bytes) ?? []) this.#text.add(event)
  }

  get texts(): readonly string[] | undefined {
    return this.#text.texts
  }
}

function isWritten(kind: string): boolean {
  return kind === 'text' || kind === 'refusal'
}

function bounded(texts: readonly string[]): readonly string[] | undefined {
  let left = MAX_COMPLETION
  const kept = texts.flatMap((text) => {
    const own = text.length > left ? text.slice(0, left).replace(HALF, '') : text
    left -= own.length
    return own === '' ? [] : [own]
  })
  return kept.length === 0 ? undefined : kept
}

/** The first half of a character that was cut in two. */
const HALF = /[\uD800-\uDBFF]$/
