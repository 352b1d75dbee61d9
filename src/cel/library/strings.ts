import { INT, listOf, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, affordable, charge, MAX_LIST, MAX_STRING, overBound } from '../values/fuel.ts'
import type { Int } from '../values/number.ts'
import {
  codePointAt,
  codePointIndexOf,
  codePointLastIndexOf,
  codePointLength,
  codePointSlice,
} from '../values/text.ts'
import { beginsWith, finishesWith, searchFor, splitText } from '../values/text-search.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, fn, global, method } from './define.ts'
import { FORMAT } from './strings-format.ts'

const METERED = { metered: true } as const

/** cel-go's strings extension. Lengths and indices count code points. */
export const STRINGS = defineLibrary('strings', [
  fn('charAt', method([STRING, INT], STRING, charAt, METERED)),
  fn(
    'indexOf',
    method([STRING, STRING], INT, (text: string, part: string) => indexOf(text, part, 0), METERED),
    method([STRING, STRING, INT], INT, indexOf, METERED),
  ),
  fn(
    'lastIndexOf',
    method(
      [STRING, STRING],
      INT,
      (text: string, part: string) => lastPlace(text, part, codePointLength(text)),
      METERED,
    ),
    method([STRING, STRING, INT], INT, lastIndexOf, METERED),
  ),
  fn(
    'join',
    method([listOf(STRING)], STRING, (list: readonly Value[]) => join(list, ''), METERED),
    method([listOf(STRING), STRING], STRING, join, METERED),
  ),
  fn('lowerAscii', method([STRING], STRING, lowerAscii, METERED)),
  fn('upperAscii', method([STRING], STRING, upperAscii, METERED)),
  fn(
    'replace',
    method(
      [STRING, STRING, STRING],
      STRING,
      (text: string, old: string, fresh: string) => replace(text, old, fresh, -1),
      METERED,
    ),
    method([STRING, STRING, STRING, INT], STRING, replace, METERED),
  ),
  fn(
    'split',
    method(
      [STRING, STRING],
      listOf(STRING),
      (text: string, separator: string) => split(text, separator, -1),
      METERED,
    ),
    method([STRING, STRING, INT], listOf(STRING), split, METERED),
  ),
  fn(
    'substring',
    method(
      [STRING, INT],
      STRING,
      (text: string, start: Int) => substring(text, start, codePointLength(text)),
      METERED,
    ),
    method([STRING, INT, INT], STRING, substring, METERED),
  ),
  fn('trim', method([STRING], STRING, trim, METERED)),
  fn('reverse', method([STRING], STRING, reverse, METERED)),
  fn('stripPrefix', method([STRING, STRING], STRING, stripPrefix)),
  fn('stripSuffix', method([STRING, STRING], STRING, stripSuffix)),
  fn('strings.quote', global([STRING], STRING, quote, METERED)),
  FORMAT,
])

function charAt(text: string, index: Int): string | undefined {
  charge(text.length >> 5)
  return codePointAt(text, Number(index)) ?? fail('index out of range', index)
}

function indexOf(text: string, part: string, start: Int): number | undefined {
  if (!afford(text.length >> 3)) return undefined
  const from = Number(start)
  if (from < 0 || from > codePointLength(text)) return fail('index out of range', start)
  return codePointIndexOf(text, part, from)
}

/** At the end of the string, only the empty string is found, as in cel-go. */
function lastIndexOf(text: string, part: string, start: Int): number | undefined {
  const from = Number(start)
  const length = codePointLength(text)
  if (from < 0 || from > length) return fail('index out of range', start)
  return from === length && part !== '' ? -1 : lastPlace(text, part, from)
}

function lastPlace(text: string, part: string, from: number): number | undefined {
  if (!afford(text.length >> 3)) return undefined
  return codePointLastIndexOf(text, part, from)
}

function join(list: readonly Value[], separator: string): string | undefined {
  let length = separator.length * Math.max(0, list.length - 1)
  for (const element of list) {
    if (typeof element !== 'string') return fail('no such overload')
    length += element.length
  }
  if (length > MAX_STRING) return overBound('string too long')
  return afford(6 * list.length + (length >> 4)) ? list.join(separator) : undefined
}

const NOT_ASCII = /[^\0-\x7f]/

function lowerAscii(text: string): string | undefined {
  if (!afford(text.length >> 2)) return undefined
  if (!NOT_ASCII.test(text)) return text.toLowerCase()
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function upperAscii(text: string): string | undefined {
  if (!afford(text.length >> 2)) return undefined
  if (!NOT_ASCII.test(text)) return text.toUpperCase()
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())
}

/** `limit` is the max number of replacements; negative means all. */
function replace(text: string, old: string, fresh: string, limit: Int): string | undefined {
  if (old === '') return interleave(text, fresh, limit)
  charge(text.length >> 3)
  const find = searchFor(text, old)
  let result = ''
  let from = 0
  for (let left = Number(limit); left !== 0; left--) {
    const at = find(from)
    if (at < 0) break
    if (!afford(8 + (fresh.length >> 4))) return undefined
    result += text.slice(from, at) + fresh
    from = at + old.length
    if (result.length > MAX_STRING) return overBound('string too long')
  }
  result += text.slice(from)
  return result.length > MAX_STRING ? overBound('string too long') : result
}

/** The empty string is found before each character and at the end. */
function interleave(text: string, fresh: string, limit: Int): string | undefined {
  const places = codePointLength(text) + 1
  const count = limit < 0 ? places : Math.min(Number(limit), places)
  const length = text.length + count * fresh.length
  if (length > MAX_STRING) return overBound('string too long')
  if (!afford(8 * places + (length >> 4))) return undefined
  let result = ''
  let left = count
  for (const character of text) result += (left-- > 0 ? fresh : '') + character
  return left > 0 ? result + fresh : result
}

/** `limit` is the max number of parts, the last of which is the rest; negative means all. */
function split(text: string, separator: string, limit: Int): readonly string[] | undefined {
  if (limit === 0) return []
  charge(20 + (text.length >> 4))
  const max = affordable(MAX_LIST, UNITS_PER_PART)
  const parts = separator === '' ? characters(text, max) : splitText(text, separator, max + 1)
  if (parts === undefined || parts.length > max) return overBound('list too long')
  charge(UNITS_PER_PART * parts.length)
  if (limit < 0 || parts.length <= limit) return parts
  const rest = parts.splice(Number(limit) - 1)
  parts.push(rest.join(separator))
  return parts
}

function characters(text: string, max: number): string[] | undefined {
  return codePointLength(text) > max ? undefined : [...text]
}

/** The cost of each part of a string that is split. */
const UNITS_PER_PART = 8

function substring(text: string, start: Int, end: Int): string | undefined {
  charge(text.length >> 5)
  if (start > end) return fail('invalid substring range', `start ${start}, end ${end}`)
  const part = codePointSlice(text, Number(start), Number(end))
  return part ?? fail('index out of range', start < 0 ? start : end)
}

/** Unicode's White_Space; String.trim differs in U+0085 and U+FEFF. */
const SPACES: ReadonlySet<number> = new Set(
  Array.from(
    '\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
    (space) => space.charCodeAt(0),
  ),
)

function trim(text: string): string | undefined {
  if (text.length > MAX_STRING && !afford(text.length >> 1)) return undefined
  let start = 0
  let end = text.length
  while (start < end && SPACES.has(text.charCodeAt(start))) start++
  while (end > start && SPACES.has(text.charCodeAt(end - 1))) end--
  charge((text.length - end + start) >> 1)
  return text.slice(start, end)
}

function reverse(text: string): string | undefined {
  if (!afford(10 * text.length)) return undefined
  return [...text].reverse().join('')
}

function stripPrefix(text: string, prefix: string): string {
  return beginsWith(text, prefix) ? text.slice(prefix.length) : text
}

function stripSuffix(text: string, suffix: string): string {
  return finishesWith(text, suffix) ? text.slice(0, text.length - suffix.length) : text
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
])

function quote(text: string): string | undefined {
  if (!afford(6 * text.length)) return undefined
  let escaped = ''
  for (const character of text) escaped += ESCAPES.get(character) ?? character
  return escaped.length > MAX_STRING ? overBound('string too long') : `"${escaped}"`
}
