import { fail } from './failure.ts'
import { parsePlainJson } from './json-plain.ts'
import { isPlainObject } from './kind.ts'
import { int, Uint } from './number.ts'
import type { Value } from './value.ts'

export interface JsonReadOptions {
  /**
   * `refuse`: an object that names a member twice is an error. Without it the last one counts, as
   * in JSON.parse; but whoever signed or checked the text elsewhere may have read the first.
   */
  readonly duplicates?: 'refuse'
}

/** What is deeper is an error: values are walked recursively. */
const DEEPEST = 200

/**
 * The CEL value of a JSON text; an error where it is none.
 *
 * - A number that is a safe integer is an int, however it is written: `1`, `1.0` and `1e0`.
 * - A larger one that is written with digits alone is exact: an int up to int64, else a uint up
 *   to uint64, else the nearest double. With a fraction or an exponent (`1e17`) it is a double.
 * - Half of a surrogate pair, which only `\ud800` and its like can make, is an error: replaced,
 *   two different names would become one.
 */
export function readJson(text: string, options: JsonReadOptions = {}): Value | undefined {
  const shape = shapeOf(text)
  if (shape === undefined) return fail('JSON is nested too deep')
  const value = shape.escapedNames
    ? (parsePlainJson(text, plainNumber) as Value | undefined)
    : parse(text, UNUSUAL_NUMBER.test(text))
  if (value === undefined) return fail('invalid JSON')
  if (HALF_PAIR.test(text) || !text.isWellFormed()) {
    if (!isWellFormed(value)) return fail('invalid JSON', 'half of a surrogate pair')
  }
  if (options.duplicates === 'refuse' && countMembers(value) !== shape.members) {
    return fail('invalid JSON', 'a member is named twice')
  }
  return value
}

// 2^53 has 16 digits; `-0` and what rounds to it is the int 0. That JSON.parse shows a number's own
// text costs several times the parsing, so it is asked only of texts that may need it.
const UNUSUAL_NUMBER = /[0-9]{16}|[eE]-[0-9]{3}|(?:^|[\s:,[])-0/
const HALF_PAIR = /\\u[dD][89a-fA-F]/

function parse(text: string, exact: boolean): Value | undefined {
  try {
    return exact ? JSON.parse(text, exactly) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function plainNumber(source: string): unknown {
  return exactly('', Number(source), { source })
}

function exactly(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (value === 0) return 0
  const source = context?.source
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return /[.eE]/.test(source) ? value : (wide(source) ?? value)
}

/** uint64 has 20 digits; JSON has no leading zeros. */
function wide(digits: string): Value | undefined {
  if (digits.length > 20) return undefined
  const value = BigInt(digits)
  return int(value) ?? (value > 0n && value < 2n ** 64n ? new Uint(value) : undefined)
}

interface Shape {
  /** Colons outside of strings: one for each member of an object. */
  readonly members: number
  /** A member's name is written with a backslash; see ./json-plain.ts. */
  readonly escapedNames: boolean
}

const QUOTE = 34
const BACKSLASH = 92

/** One pass over the text, before it is parsed: undefined where it is nested too deep. */
function shapeOf(text: string): Shape | undefined {
  const mayEscape = text.includes('\\')
  let members = 0
  let depth = 0
  let escapedNames = false
  let string = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        string = at
        at = endOfString(text, at)
        break
      case 58: // :
        members++
        if (mayEscape && text.slice(string, at).includes('\\')) escapedNames = true
        break
      case 91: // [
      case 123: // {
        if (++depth > DEEPEST) return undefined
        break
      case 93: // ]
      case 125: // }
        depth--
        break
    }
  }
  return { members, escapedNames }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const end = text.indexOf('"', at)
    if (end === -1) return text.length
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
    at = end + 1
  }
}

function isWellFormed(value: Value): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isPlainObject(value)) return true
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member))
}

function countMembers(value: Value): number {
  if (Array.isArray(value)) return value.reduce((sum, element) => sum + countMembers(element), 0)
  if (!isPlainObject(value)) return 0
  const members = Object.values(value)
  return members.reduce<number>((sum, member) => sum + countMembers(member), members.length)
}
