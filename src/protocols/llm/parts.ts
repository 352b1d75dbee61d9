import { isObject, parseJsonText } from './json.ts'
import type { JsonObject, MediaSource, Part, TextPart } from './neutral.ts'

/** Parses `data:image/png;base64,…`, OpenAI's form of images; any other URL stays a URL. */
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
 * Returns the arguments of a call as an object, for dialects that do not write them as a string. A
 * model may write nothing, or something that is not an object; the latter is kept where a person
 * can see it.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  const { value } = parseJsonText(text)
  return isObject(value) ? value : { invalid_arguments: text }
}

/** Arguments for the dialects that write them as a string: never empty. */
export function argumentsText(text: string): string {
  return text.trim() === '' ? '{}' : text
}

/** Makes a call ID valid in every dialect; equal IDs stay equal, so results match their calls. */
export function fitCallId(id: string, max = 64): string {
  return id.length <= max && /^[a-zA-Z0-9_-]+$/.test(id) ? id : `call_${digest(id)}`
}

/** A stable hash that does not resist deliberate collisions. */
export function digest(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let at = 0; at < text.length; at++) {
    hash = ((hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  return hash.toString(16).padStart(16, '0')
}

/** Returns an ID in the form of the client's dialect that still shows the provider's. */
export function prefixedId(prefix: string, id: string): string {
  if (id === '') return `${prefix}${crypto.randomUUID().replaceAll('-', '')}`
  return id.startsWith(prefix) ? id : `${prefix}${id.replace(/[^a-zA-Z0-9_-]/g, '')}`
}

/** The names of dropped fields, each once, in the order in which they were found. */
export class Dropped {
  readonly #names = new Set<string>()

  add(...names: readonly string[]): void {
    for (const name of names) this.#names.add(name)
  }

  /** Adds a field that is set and has no place in the other dialect. */
  addIfSet(name: string, value: unknown): void {
    if (value !== undefined && value !== null) this.#names.add(name)
  }

  /** Adds the members of an object that are not read; `place` is the kind of object. */
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

/** A set of member names. */
export function members(...names: readonly string[]): ReadonlySet<string> {
  return new Set(names)
}

/** The max names in the report; clients limit the headers that they read. */
const MAX_REPORTED = 32
const MAX_REPORTED_NAME = 64

/** Formats names for a header and the log. Clients may choose names with any characters. */
export function droppedText(names: readonly string[]): string {
  const reported = names.slice(0, MAX_REPORTED).map((name) => {
    const plain = name.slice(0, MAX_REPORTED_NAME + 1).replaceAll(/[^\x20-\x7e]|,/g, '?')
    return plain.length > MAX_REPORTED_NAME ? `${plain.slice(0, MAX_REPORTED_NAME - 1)}~` : plain
  })
  const others = names.length - reported.length
  return `${reported.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}
