import { isObject, parseJsonText } from './json.ts'
import type { JsonObject, MediaSource, Part, TextPart } from './neutral.ts'

/** `data:image/png;base64,…`, as OpenAI has images; another address is left as one. */
export function mediaSourceOf(url: string): MediaSource {
  const match = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 256))
  if (match === null) return { kind: 'url', url }
  const mediaType = match[1] === '' ? 'application/octet-stream' : (match[1] as string)
  return { kind: 'base64', mediaType: mediaType.toLowerCase(), data: url.slice(match[0].length) }
}

export function dataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`
}

export function textOf(parts: readonly Part[], separator = ''): string {
  return parts
    .filter((part): part is TextPart => part.kind === 'text')
    .map(({ text }) => text)
    .join(separator)
}

/**
 * The arguments of a call as an object, for dialects that have no text for them. A model may write
 * nothing, or what is no object; the latter is kept where a person can see it.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  const { value } = parseJsonText(text)
  return isObject(value) ? value : { invalid_arguments: text }
}

/** As the dialects with text want them: never empty. */
export function argumentsText(text: string): string {
  return text.trim() === '' ? '{}' : text
}

/** Ids of calls as every dialect takes them; equal ids stay equal, so that results find their calls. */
export function fitCallId(id: string, max = 64): string {
  return id.length <= max && /^[a-zA-Z0-9_-]+$/.test(id) ? id : `call_${digest(id)}`
}

/** Stable, and not meant to keep anybody from finding another text with the same one. */
export function digest(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let at = 0; at < text.length; at++) {
    hash = ((hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  return hash.toString(16).padStart(16, '0')
}

/** An id in the form of the client's dialect that still shows the provider's. */
export function prefixedId(prefix: string, id: string): string {
  if (id === '') return `${prefix}${crypto.randomUUID().replaceAll('-', '')}`
  return id.startsWith(prefix) ? id : `${prefix}${id.replace(/[^a-zA-Z0-9_-]/g, '')}`
}

/** What was dropped, each once, in the order in which it was found. */
export class Dropped {
  readonly #names = new Set<string>()

  add(...names: readonly string[]): void {
    for (const name of names) this.#names.add(name)
  }

  /** Notes a field that is set; for fields without a place in the other dialect. */
  addIfSet(name: string, value: unknown): void {
    if (value !== undefined && value !== null) this.#names.add(name)
  }

  /** Notes the members of an object that are not read; `place`: what the object is. */
  addOthers(place: string, fields: JsonObject, read: ReadonlySet<string>): void {
    for (const [name, value] of Object.entries(fields)) {
      if (read.has(name) || value === null || isEmptyList(value)) continue
      this.#names.add(`${place}.${name}`)
    }
  }

  get names(): readonly string[] {
    return [...this.#names]
  }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** The names of members. */
export function members(...names: readonly string[]): ReadonlySet<string> {
  return new Set(names)
}

/** Names that are told; clients that read headers have limits on them. */
const MAX_TOLD = 32
const MAX_TOLD_NAME = 64

/** As a header and the log tell it. The names may be a client's own, with any letter in them. */
export function droppedText(names: readonly string[]): string {
  const told = names.slice(0, MAX_TOLD).map((name) => {
    const plain = name.slice(0, MAX_TOLD_NAME + 1).replaceAll(/[^\x20-\x7e]|,/g, '?')
    return plain.length > MAX_TOLD_NAME ? `${plain.slice(0, MAX_TOLD_NAME - 1)}~` : plain
  })
  const others = names.length - told.length
  return `${told.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}
