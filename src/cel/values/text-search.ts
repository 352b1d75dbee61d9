import { afford, charge } from './fuel.ts'

/**
 * JavaScript's own searches take the product of both lengths where a text is made for it, and its
 * startsWith some nanoseconds a letter. Where both sides may come from a request, that is too much.
 */

/** Searches for less than this, or within it, are quick whatever the texts. */
const SHORT_PART = 32
const MAX_COMPARED = 1 << 20
/** Below, two texts are compared in no time. */
const SHORT_TEXT = 256

/** `text.includes(part)` in linear time; not looked at where nothing is left, and nothing counts. */
export function holdsText(text: string, part: string): boolean {
  return afford(text.length >> 3) && findText(text, part, 0) >= 0
}

/** `text.startsWith(prefix)`: long ones are compared as a whole, which is ten times quicker. */
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

/** `===`, with what it costs. */
export function isSameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  if (a.length >= SHORT_TEXT) charge(a.length >> 7)
  return a === b
}

/** `list.includes(text)`, with what long texts cost. */
export function isAmong(text: string, list: readonly unknown[]): boolean {
  if (text.length < SHORT_TEXT) return list.includes(text)
  return list.some((other) => typeof other === 'string' && isSameText(text, other))
}

/** `text.indexOf(part, from)` in linear time. */
export function findText(text: string, part: string, from: number): number {
  if (text.length < LONG_TEXT || part.length < 2) return text.indexOf(part, from)
  return searchFor(text, part)(from)
}

/** The same for whoever looks on behind a place: the way to search is chosen once. */
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
  // Letter by letter at every place.
  if (text.length >= LONG_TEXT && !afford((text.length * part.length) >> 3)) return -1
  return text.lastIndexOf(part, from)
}

/** `text.split(separator, most)` in linear time, for a separator that is not empty. */
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
 * JavaScript's search goes from one place of the first letter to the next, ten nanoseconds each: a
 * text of nothing but that letter takes a hundred times longer than others. Whoever writes the text
 * can see to it that one letter is everywhere, and hardly that all of them are.
 */
const LONG_TEXT = 512
/** A letter that stands at one place in so many is rare. */
const RARE = 6

/** The place in the part of a letter that is rare in the text; -1 where there is none. */
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

/** All places where the part is, overlapping ones too: Knuth, Morris and Pratt's search. */
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

/** For each beginning of the part, the length of its longest end that is a beginning as well. */
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
