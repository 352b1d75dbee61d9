// HOT PATH: reads the metadata of a response that is passed through, once per call. Guarded by
// bench/llm.ts; equals parsing all of it, or finds nothing (response-edges.test.ts).
// Liberties: strings are read by their character codes.

import { isObject } from './json.ts'
import type { Fields } from './reading.ts'

/*
 * A provider identifies itself in the first members of a response and reports usage in the last
 * ones; between them is the model's output, often some kilobytes, or the vectors of an embedding.
 * Only the two ends are read. If they are not as expected, nothing is found, and the whole response
 * must be parsed. Text is latin1: strings that are not ASCII are not read here.
 */

/** The max bytes to read at the beginning, which is short, and at the end. */
const FIRST = 512
const LAST = 1_024

/** The members to read, by name. */
export interface EdgeNames {
  /** Undefined if responses have none. */
  readonly id?: string | undefined
  readonly model: string
  readonly usage: string
}

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92
const OPEN = 123
const CLOSE = 125
const LAST_ASCII = 127

/** Returns all requested members, or undefined if the response must be parsed to find them. */
export function readEdges(bytes: Uint8Array, names: EdgeNames): Fields | undefined {
  const tail = textOf(bytes, Math.max(0, bytes.length - LAST), bytes.length)
  const quoted = `"${names.usage}"`
  const start = tail.lastIndexOf(quoted)
  // After a backslash, it is the end of a longer name.
  if (start < 1 || tail.charCodeAt(start - 1) === BACKSLASH) return undefined
  const colon = skip(tail, start + quoted.length)
  const open = skip(tail, colon + 1)
  if (tail.charCodeAt(colon) !== COLON || tail.charCodeAt(open) !== OPEN) return undefined
  const close = endOfObject(tail, open)
  if (close < 0) return undefined
  const found: Record<string, unknown> = {}
  if (!readLater(tail, close, names, found)) return undefined
  readBefore(tail, start, names, found)
  if (!hasAll(found, names))
    readFirst(textOf(bytes, 0, Math.min(bytes.length, FIRST)), names, found)
  if (!hasAll(found, names)) return undefined
  found[names.usage] = parsed(tail.slice(open, close))
  return isObject(found[names.usage]) ? found : undefined
}

function hasAll(found: Fields, { id, model }: EdgeNames): boolean {
  return found[model] !== undefined && (id === undefined || found[id] !== undefined)
}

/**
 * Reads the members after the usage, up to the end. Returns false if the usage is not a member of
 * the outermost object, which ends with the response, or if something after it is not read here.
 */
function readLater(
  text: string,
  from: number,
  names: EdgeNames,
  found: Record<string, unknown>,
): boolean {
  let at = skip(text, from)
  while (text.charCodeAt(at) === COMMA) {
    at = readMember(text, at + 1, names, found)
    if (at < 0) return false
  }
  return text.charCodeAt(at) === CLOSE && skip(text, at + 1) === text.length
}

/** Reads the member before the usage, if it is a requested one. */
function readBefore(
  text: string,
  usage: number,
  names: EdgeNames,
  found: Record<string, unknown>,
): void {
  const start = text.lastIndexOf(`"${names.model}"`, usage)
  if (start < 1 || text.charCodeAt(start - 1) === BACKSLASH) return
  const at = readMember(text, start, names, found)
  // The usage follows directly: both are members of one object.
  if (at >= 0 && text.charCodeAt(at) === COMMA && skip(text, at + 1) === usage) return
  delete found[names.model]
}

/** Reads the first members of the response, up to the first with a nested value. */
function readFirst(text: string, names: EdgeNames, found: Record<string, unknown>): void {
  let at = skip(text, 0)
  if (text.charCodeAt(at) !== OPEN) return
  do at = readMember(text, at + 1, names, found)
  while (at >= 0 && text.charCodeAt(at) === COMMA)
}

/**
 * Reads a member whose value is not nested, and keeps it if it is requested. Returns the position
 * of the next token after it, or -1 if it is nested or cut off.
 */
function readMember(
  text: string,
  from: number,
  { id, model }: EdgeNames,
  found: Record<string, unknown>,
): number {
  const open = skip(text, from)
  const close = endOfText(text, open)
  const colon = skip(text, close)
  if (close < 0 || text.charCodeAt(colon) !== COLON) return -1
  const start = skip(text, colon + 1)
  const isText = text.charCodeAt(start) === QUOTE
  const end = isText ? endOfText(text, start) : endOfWord(text, start)
  if (end < 0) return -1
  const next = skip(text, end)
  // A number that was cut off looks like a shorter one.
  if (next === text.length) return -1
  const name = isNamed(text, open, close, model)
    ? model
    : isNamed(text, open, close, id)
      ? id
      : undefined
  if (name !== undefined) {
    if (!isText) return -1
    found[name] = text.slice(start + 1, end - 1)
  }
  return next
}

function isNamed(text: string, open: number, close: number, name: string | undefined): boolean {
  return name !== undefined && close - open === name.length + 2 && text.startsWith(name, open + 1)
}

/** Returns the position after the closing quote, or -1 if it is missing or the string not plain. */
function endOfText(text: string, open: number): number {
  if (text.charCodeAt(open) !== QUOTE) return -1
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH || code < 32 || code > LAST_ASCII) return -1
  }
  return -1
}

/** Returns the position after a number, `true`, `false` or `null`; it does not validate them. */
function endOfWord(text: string, start: number): number {
  let at = start
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isLetter = code >= 97 && code <= 122
    const isNumber = (code >= 43 && code <= 57 && code !== COMMA) || code === 69
    if (!isLetter && !isNumber) break
  }
  return at > start ? at : -1
}

/** Returns the position after the closing bracket, or -1 if it is missing or a string not plain. */
function endOfObject(text: string, open: number): number {
  let depth = 0
  let isQuoted = false
  for (let at = open; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH || code > LAST_ASCII) return -1
    if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (code === OPEN) depth++
    else if (code === CLOSE && --depth === 0) return at + 1
  }
  return -1
}

function skip(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) break
  }
  return at
}

/** The text has no escapes, and numbers that a double cannot represent are not token counts. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function textOf({ buffer, byteOffset }: Uint8Array, from: number, to: number): string {
  return Buffer.from(buffer, byteOffset + from, to - from).toString('latin1')
}
