// HOT PATH: what a response that passes by says of itself, once for each call. Guarded by
// bench/llm.ts; equals parsing all of it (response-edges.test.ts).

import { isObject, parseJsonText } from './json.ts'
import type { Fields } from './reading.ts'

/*
 * A provider names itself in the first members of a response and its usage in the last ones; between
 * them is what a model wrote, often some kilobytes, or the vectors of an embedding. So the two ends
 * are read, and what is between them is not. Where they are not as expected nothing is found, and
 * all has to be parsed.
 */

/** Bytes that are looked at, of each end. */
const EDGE = 1_024

/** The members that are wanted, by name. */
export interface EdgeNames {
  /** Undefined: responses have none. */
  readonly id?: string | undefined
  readonly model: string
  readonly usage: string
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN = 123
const CLOSE = 125
const LAST_ASCII = 127

const BLANK = String.raw`[ \t\r\n]*`
const PLAIN = String.raw`"([^"\\\x00-\x1f\x80-\xff]*)"`
const SCALAR = String.raw`(?:${PLAIN}|-?\d[\d.eE+-]*|true|false|null)`
const MEMBER = `${BLANK}${PLAIN}${BLANK}:${BLANK}${SCALAR}${BLANK}`

const OPENING = new RegExp(`^${BLANK}\\{`)
const FIRST = new RegExp(`${MEMBER},`, 'y')
const LATER = new RegExp(`${BLANK},${MEMBER}`, 'y')
const CLOSING = new RegExp(`${BLANK}\\}${BLANK}$`, 'y')
const BEFORE = new RegExp(`,${MEMBER},${BLANK}$`)
const VALUE = new RegExp(`${BLANK}:${BLANK}(?=\\{)`, 'y')

/** All that is wanted; undefined: it has to be looked for by parsing the response. */
export function readEdges(bytes: Uint8Array, names: EdgeNames): Fields | undefined {
  const tail = textOf(bytes, Math.max(0, bytes.length - EDGE), bytes.length)
  const found: Record<string, unknown> = {}
  const name = tail.lastIndexOf(`"${names.usage}"`)
  // Behind a backslash it is the end of a longer name.
  if (name < 1 || tail[name - 1] === '\\') return undefined
  const open = endOf(VALUE, tail, name + names.usage.length + 2)
  const close = open < 0 ? -1 : endOfObject(tail, open)
  if (close < 0) return undefined
  let at = close
  for (;;) {
    const member = matchAt(LATER, tail, at)
    if (member === null) break
    found[member[1] as string] = member[2]
    at = LATER.lastIndex
  }
  // Whatever the usage is a member of ends with the response: it is the outermost object.
  if (endOf(CLOSING, tail, at) < 0) return undefined
  const { value } = parseJsonText(tail.slice(open, close))
  if (!isObject(value)) return undefined
  found[names.usage] = value
  readBefore(tail.slice(0, name), found)
  readFirst(bytes, found)
  if (typeof found[names.model] !== 'string') return undefined
  if (names.id !== undefined && typeof found[names.id] !== 'string') return undefined
  return found
}

/** The member before the usage, if it is short. */
function readBefore(text: string, found: Record<string, unknown>): void {
  const member = BEFORE.exec(text.slice(-256))
  if (member !== null) found[member[1] as string] ??= member[2]
}

/** Those that the response begins with, up to the first that has an inside. */
function readFirst(bytes: Uint8Array, found: Record<string, unknown>): void {
  const head = textOf(bytes, 0, Math.min(bytes.length, EDGE))
  let at = endOf(OPENING, head, 0)
  while (at >= 0) {
    const member = matchAt(FIRST, head, at)
    if (member === null) return
    found[member[1] as string] ??= member[2]
    at = FIRST.lastIndex
  }
}

/**
 * Behind the bracket that closes what opens here; -1: it does not close, or has words that are not
 * read here.
 */
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

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function endOf(pattern: RegExp, text: string, at: number): number {
  const match = matchAt(pattern, text, at)
  return match === null ? -1 : match.index + match[0].length
}

function textOf({ buffer, byteOffset }: Uint8Array, from: number, to: number): string {
  return Buffer.from(buffer, byteOffset + from, to - from).toString('latin1')
}
