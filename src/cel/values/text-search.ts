import { afford, charge } from './fuel.ts'

/**
 * JavaScript's own searches take the product of both lengths for strings that are crafted for it,
 * and its startsWith takes a few nanoseconds per character. If both sides may come from a request,
 * that is too much.
 */

/** Searches for shorter parts, or with fewer comparisons, are fast for all strings. */
const SHORT_PART = 32
const MAX_COMPARED = 1 << 20
/** Comparing shorter strings takes practically no time. */
const SHORT_TEXT = 256

/** `text.includes(part)` in linear time; skipped if no fuel is left, when no result counts. */
export function holdsText(text: string, part: string): boolean {
  return afford(text.length >> 3) && findText(text, part, 0) >= 0
}

/** `text.startsWith(prefix)`; long prefixes are compared as a whole, which is ten times faster. */
export function beginsWith(text: string, prefix: string): boolean {
  const { length } = prefix
  if (length < SHORT_TEXT) return text.startsWith(prefix)
  return length <= text.length && isSameText(text.slice(0, length), prefix)
}

export function finishesWith(text: string, suffix: string): boolean {
  const { length } = suffix
  if (length < SHORT_TEXT) return text.endsWith(suffix)
  return length <= text.length && isSameText(text.slice(text.length - length), suffix)
}

/** `===`, charging for long strings. */
export function isSameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  if (a.length >= SHORT_TEXT) charge(a.length >> 7)
  return a === b
}

/** `list.includes(text)`, charging for long strings. */
export function isAmong(text: string, list: readonly unknown[]): boolean {
  if (text.length < SHORT_TEXT) return list.includes(text)
  return list.some((other) => typeof other === 'string' && isSameText(text, other))
}

/** `text.indexOf(part, from)` in linear time. */
export function findText(text: string, part: string, from: number): number {
  if (text.length < LONG_TEXT || part.length < 2) return text.indexOf(part, from)
  return searchFor(text, part)(from)
}

/** Like `findText`, for repeated searches: the way to search is chosen once. */
export function searchFor(text: string, part: string): (from: number) => number {
  if (text.length < LONG_TEXT || part.length < 2) return (from) => text.indexOf(part, from)
  if (!isQuick(text, part)) {
    if (!afford(text.length + part.length)) return () => -1
    return (from) => {
      for (const at of places(text, part, from)) return at
      return -1
    }
  }
  const letter = rareLetter(text, part)
  if (letter >= 0) return (from) => findByLetter(text, part, letter, from)
  return afford(text.length >> 1) ? (from) => text.indexOf(part, from) : () => -1
}

/** `text.lastIndexOf(part, from)` in linear time. */
export function findLastText(text: string, part: string, from: number): number {
  if (!isQuick(text, part)) {
    if (!afford(text.length + part.length)) return -1
    let last = -1
    for (const at of places(text, part, 0)) {
      if (at > from) break
      last = at
    }
    return last
  }
  // Compares character by character at every position.
  if (text.length >= LONG_TEXT && !afford((text.length * part.length) >> 3)) return -1
  return text.lastIndexOf(part, from)
}

/** `text.split(separator, max)` in linear time, for a separator that is not empty. */
export function splitText(text: string, separator: string, max: number): string[] {
  if (text.length < LONG_TEXT || separator.length < 2) return text.split(separator, max)
  const find = searchFor(text, separator)
  const parts: string[] = []
  let from = 0
  for (let at = find(0); at >= 0; at = find(from)) {
    if (parts.length === max) return parts
    parts.push(text.slice(from, at))
    from = at + separator.length
  }
  if (parts.length < max) parts.push(text.slice(from))
  return parts
}

function isQuick(text: string, part: string): boolean {
  return part.length < SHORT_PART || part.length * text.length <= MAX_COMPARED
}

/*
 * JavaScript's search goes from one occurrence of the first character to the next, ten nanoseconds
 * each: a string of nothing but that character takes a hundred times longer than others. The author
 * of a string can make one character occur everywhere, but hardly all of them.
 */
const LONG_TEXT = 512
/** A character at fewer than one in 2^RARE positions is rare. */
const RARE = 6

/** The offset in the part of a character that is rare in the text; -1 if there is none. */
function rareLetter(text: string, part: string): number {
  const last = part.length - 1
  for (const at of new Set([last, 0, last >> 1, 1])) {
    if (isRare(text, part.charAt(at))) return at
  }
  return -1
}

function isRare(text: string, letter: string): boolean {
  let at = -1
  for (let left = text.length >> RARE; left > 0; left--) {
    at = text.indexOf(letter, at + 1)
    if (at < 0) return true
  }
  return false
}

function findByLetter(text: string, part: string, place: number, from: number): number {
  const letter = part.charAt(place)
  for (let at = text.indexOf(letter, from + place); at >= 0; at = text.indexOf(letter, at + 1)) {
    if (text.startsWith(part, at - place)) return at - place
  }
  return -1
}

/** All occurrences of the part, including overlapping ones: the Knuth-Morris-Pratt search. */
function* places(text: string, part: string, from: number): Generator<number> {
  const borders = bordersOf(part)
  let matched = 0
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    while (matched > 0 && part.charCodeAt(matched) !== unit)
      matched = borders[matched - 1] as number
    if (part.charCodeAt(matched) === unit) matched++
    if (matched < part.length) continue
    yield i - matched + 1
    matched = borders[matched - 1] as number
  }
}

/** For each prefix of the part, the length of its longest proper suffix that is also a prefix. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let i = 1; i < part.length; i++) {
    const unit = part.charCodeAt(i)
    while (length > 0 && part.charCodeAt(length) !== unit) length = borders[length - 1] as number
    if (part.charCodeAt(length) === unit) length++
    borders[i] = length
  }
  return borders
}
