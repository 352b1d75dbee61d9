import { afford, charge } from './fuel.ts'
import { findLastText, findText } from './text-search.ts'

/**
 * CEL counts, slices and orders strings by code points, JavaScript by UTF-16 units. The two agree
 * until the first surrogate pair, so each function below walks units and pays for pairs only if
 * there are any.
 */

const FIRST_SURROGATE = 0xd800
const FIRST_LOW_SURROGATE = 0xdc00
const AFTER_SURROGATES = 0xe000

/**
 * Only strings with characters above U+FFFF have pairs; for many strings V8 knows at once that they
 * have none.
 */
const PAIR = /[\ud800-\udbff]/
/** Walking fewer characters than this is faster than testing them for pairs. */
const SHORT = 64

function hasPairs(text: string): boolean {
  return text.length <= SHORT || PAIR.test(text)
}

export function codePointLength(text: string): number {
  return countCodePoints(text, text.length)
}

/** The UTF-16 offset of the code point with this index; -1 if the string is shorter. */
export function codePointOffset(text: string, index: number): number {
  if (index > text.length) return -1
  if (!hasPairs(text)) return index
  if (index > SHORT && !afford(index >> 1)) return -1
  let offset = 0
  for (let left = index; left > 0; left--) {
    if (offset >= text.length) return -1
    offset += isPair(text, offset) ? 2 : 1
  }
  return offset
}

/** One character; '' directly after the last one; `undefined` out of range. */
export function codePointAt(text: string, index: number): string | undefined {
  if (index < 0) return undefined
  const offset = codePointOffset(text, index)
  if (offset < 0) return undefined
  return text.slice(offset, offset + (isPair(text, offset) ? 2 : 1))
}

/** From `start` to before `end`; `undefined` unless 0 <= start <= end <= length. */
export function codePointSlice(text: string, start: number, end: number): string | undefined {
  if (start < 0 || end < start) return undefined
  const from = codePointOffset(text, start)
  if (from < 0) return undefined
  const rest = text.slice(from)
  const to = codePointOffset(rest, end - start)
  return to < 0 ? undefined : rest.slice(0, to)
}

/** The first occurrence at or after `start`, as a code point index; -1 if there is none. */
export function codePointIndexOf(text: string, search: string, start: number): number {
  const from = codePointOffset(text, start)
  if (from < 0) return -1
  const found = findText(text, search, from)
  return found < 0 ? -1 : countCodePoints(text, found)
}

/** The last occurrence at or before `start`, as a code point index; -1 if there is none. */
export function codePointLastIndexOf(text: string, search: string, start: number): number {
  const from = codePointOffset(text, start)
  const found = findLastText(text, search, from < 0 ? text.length : from)
  return found < 0 ? -1 : countCodePoints(text, found)
}

/** Negative, zero or positive, by code points, which is also the order of the UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  if (a === b) {
    if (shorter > 255) charge(shorter >> 5)
    return 0
  }
  if (shorter > 255) charge(shorter >> 2)
  for (let i = 0; i < shorter; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Surrogates represent code points above all others, including U+E000..U+FFFF. */
function rank(unit: number): number {
  return unit >= FIRST_SURROGATE && unit < AFTER_SURROGATES ? unit + 0x10000 : unit
}

function countCodePoints(text: string, end: number): number {
  if (end === 0 || !hasPairs(text)) return end
  if (end > SHORT && !afford(end >> 1)) return end
  let pairs = 0
  for (let i = 0; i < end; i++) {
    if (text.charCodeAt(i) >= FIRST_SURROGATE && isPair(text, i)) {
      pairs++
      i++
    }
  }
  return end - pairs
}

function isPair(text: string, offset: number): boolean {
  const high = text.charCodeAt(offset)
  if (high < FIRST_SURROGATE || high >= FIRST_LOW_SURROGATE) return false
  const low = text.charCodeAt(offset + 1)
  return low >= FIRST_LOW_SURROGATE && low < AFTER_SURROGATES
}

const encoder = new TextEncoder()
// A byte order mark is an ordinary character.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function utf8Encode(text: string): Uint8Array {
  return encoder.encode(text)
}

/** `undefined` if the bytes are not UTF-8. */
export function utf8Decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
