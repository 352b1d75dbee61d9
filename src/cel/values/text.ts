import { afford, charge } from './fuel.ts'
import { findLastText, findText } from './text-search.ts'

/**
 * CEL counts, cuts and orders strings by code points, JavaScript by UTF-16 units. These agree
 * until the first surrogate pair, so each function below walks units and pays for pairs only
 * where there are some.
 */

const FIRST_SURROGATE = 0xd800
const FIRST_LOW_SURROGATE = 0xdc00
const AFTER_SURROGATES = 0xe000

/** Only texts with characters beyond U+FFFF have pairs; V8 knows at once of many that they have none. */
const PAIR = /[\ud800-\udbff]/
/** Fewer letters than this are walked sooner than looked over. */
const SHORT = 64

function hasPairs(text: string): boolean {
  return text.length <= SHORT || PAIR.test(text)
}

export function codePointLength(text: string): number {
  return countCodePoints(text, text.length)
}

/** The UTF-16 offset of the code point with this index; -1 where the text is shorter. */
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

/** One character; '' right behind the last one; undefined outside. */
export function codePointAt(text: string, index: number): string | undefined {
  if (index < 0) return undefined
  const offset = codePointOffset(text, index)
  if (offset < 0) return undefined
  return text.slice(offset, offset + (isPair(text, offset) ? 2 : 1))
}

/** From `start` to before `end`; undefined where these are not 0 <= start <= end <= length. */
export function codePointSlice(text: string, start: number, end: number): string | undefined {
  if (start < 0 || end < start) return undefined
  const from = codePointOffset(text, start)
  if (from < 0) return undefined
  const rest = text.slice(from)
  const to = codePointOffset(rest, end - start)
  return to < 0 ? undefined : rest.slice(0, to)
}

/** The first place at or behind `start`, as an index of code points; -1 where there is none. */
export function codePointIndexOf(text: string, search: string, start: number): number {
  const from = codePointOffset(text, start)
  if (from < 0) return -1
  const found = findText(text, search, from)
  return found < 0 ? -1 : countCodePoints(text, found)
}

/** The last place at or before `start`, as an index of code points; -1 where there is none. */
export function codePointLastIndexOf(text: string, search: string, start: number): number {
  const from = codePointOffset(text, start)
  const found = findLastText(text, search, from < 0 ? text.length : from)
  return found < 0 ? -1 : countCodePoints(text, found)
}

/** Negative, zero or positive: the order of code points, which is also that of UTF-8 bytes. */
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

/** Units of pairs stand for code points above all others, U+E000..U+FFFF included. */
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
// A byte order mark is a character like any other.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function utf8Encode(text: string): Uint8Array {
  return encoder.encode(text)
}

/** undefined where the bytes are not UTF-8. */
export function utf8Decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
