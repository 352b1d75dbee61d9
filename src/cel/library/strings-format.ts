import { DYN, listOf, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, charge, MAX_STRING, overBound } from '../values/fuel.ts'
import { isMap, typeName } from '../values/kind.ts'
import { CelMap } from '../values/map.ts'
import { doubleValue, isDouble, isInt, Uint } from '../values/number.ts'
import { compareText, utf8Decode, utf8Encode } from '../values/text.ts'
import { TypeValue } from '../values/type-value.ts'
import type { JsonObject, Value } from '../values/value.ts'
import { isWritten } from '../values/written.ts'
import { fixed, plain, scientific } from './decimal.ts'
import { fn, method, type Prepared } from './define.ts'

/** `'%s has %d'.format(['a', 1])`, with the clauses %s %d %f %e %b %o %x %X and %%. */
export const FORMAT = fn(
  'format',
  method([STRING, listOf(DYN)], STRING, format, { metered: true, prepare }),
)

type Clause = (value: Value) => string | undefined

function format(template: string, values: readonly Value[]): string | undefined {
  const parts = readTemplate(template)
  return parts === undefined ? undefined : fill(parts, values)
}

function prepare([template]: readonly (Value | undefined)[]): Prepared | undefined {
  if (typeof template !== 'string') return undefined
  const parts = readTemplate(template)
  if (parts === undefined) return undefined
  return (_: string, values: readonly Value[]) => fill(parts, values)
}

/** Ignores surplus values. */
function fill(parts: readonly (string | Clause)[], values: readonly Value[]): string | undefined {
  let result = ''
  let index = 0
  for (const part of parts) {
    let text: string | undefined
    if (typeof part === 'string') {
      text = part
    } else {
      const value = values[index]
      if (value === undefined) return fail('index out of range', index)
      text = part(value)
      index++
    }
    if (text === undefined) return undefined
    charge(8 + (text.length >> 4))
    if (result.length + text.length > MAX_STRING) return overBound('string too long')
    result += text
  }
  return result
}

const CLAUSE = /%(?:%|(?:\.([0-9]+))?([^.%]?))/gu
const DEFAULT_PRECISION = 6
const MAX_PRECISION = 100

function readTemplate(template: string): readonly (string | Clause)[] | undefined {
  const parts: (string | Clause)[] = []
  let from = 0
  for (const match of template.matchAll(CLAUSE)) {
    parts.push(template.slice(from, match.index))
    from = match.index + match[0].length
    if (match[0] === '%%') {
      parts.push('%')
      continue
    }
    const precision = Number(match[1] ?? DEFAULT_PRECISION)
    if (precision > MAX_PRECISION) return fail('invalid format', `precision ${precision}`)
    const clause = CLAUSES.get(match[2] as string)
    if (clause === undefined) return fail('invalid format', `unknown clause ${match[0]}`)
    parts.push(clause(precision))
  }
  parts.push(template.slice(from))
  return parts
}

const CLAUSES: ReadonlyMap<string, (precision: number) => Clause> = new Map<
  string,
  (precision: number) => Clause
>([
  ['s', () => (value: Value) => textOf(value, 0)],
  ['d', () => decimal],
  ['f', (precision) => number('fixed-point', (value) => fixed(value, precision))],
  ['e', (precision) => number('scientific', (value) => scientific(value, precision))],
  ['b', () => binary],
  ['o', () => octal],
  ['x', () => hexadecimal],
  ['X', () => (value: Value) => hexadecimal(value)?.toUpperCase()],
])

function reject(clause: string, value: Value): undefined {
  return fail('invalid format', `${clause} clause given ${typeName(value)}`)
}

function integerOf(value: Value): number | bigint | undefined {
  if (isInt(value)) return value
  return value instanceof Uint ? value.value : undefined
}

function decimal(value: Value): string | undefined {
  const integer = integerOf(value)
  if (integer !== undefined) return String(integer)
  return isDouble(value) ? plain(doubleValue(value)) : reject('decimal', value)
}

function number(name: string, print: (value: number) => string): Clause {
  return (value) => {
    const integer = integerOf(value)
    if (integer !== undefined) return print(Number(integer))
    return isDouble(value) ? print(doubleValue(value)) : reject(name, value)
  }
}

function binary(value: Value): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0'
  return integerOf(value)?.toString(2) ?? reject('binary', value)
}

function octal(value: Value): string | undefined {
  return integerOf(value)?.toString(8) ?? reject('octal', value)
}

function hexadecimal(value: Value): string | undefined {
  const bytes = typeof value === 'string' ? utf8Encode(value) : value
  if (!(bytes instanceof Uint8Array)) {
    return integerOf(value)?.toString(16) ?? reject('hexadecimal', value)
  }
  return 2 * bytes.length > MAX_STRING ? overBound('string too long') : bytes.toHex()
}

/** The max depth that readJson reads and expressions build. */
const MAX_DEPTH = 200

/** The output of %s: strings without quotes, lists and maps in CEL notation. */
function textOf(value: Value, depth: number): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || value === null) return String(value)
  if (integerOf(value) !== undefined || isDouble(value)) return decimal(value)
  if (depth > MAX_DEPTH) return fail('value is nested too deeply')
  if (Array.isArray(value)) return enclose('[', value, (element) => textOf(element, depth + 1), ']')
  if (isMap(value)) return textOfMap(value, depth)
  if (value instanceof Uint8Array) return utf8Decode(value) ?? fail('invalid UTF-8')
  if (value instanceof TypeValue) return value.name
  if (isWritten(value)) return value.text
  return reject('string', value)
}

/** Sorted by the keys as they are shown. */
function textOfMap(map: JsonObject | CelMap, depth: number): string | undefined {
  const entries: [key: string, value: Value][] = []
  const keys = map instanceof CelMap ? map.keys() : Object.keys(map)
  for (const key of keys) {
    const shown = textOf(key, depth + 1)
    const value = map instanceof CelMap ? map.get(key) : map[key as string]
    if (shown === undefined || value === undefined) return undefined
    entries.push([shown, value])
  }
  entries.sort(([a], [b]) => compareText(a, b))
  const show = ([key, value]: [string, Value]) => {
    const shown = textOf(value, depth + 1)
    return shown === undefined ? undefined : `${key}: ${shown}`
  }
  return enclose('{', entries, show, '}')
}

function enclose<T>(
  open: string,
  members: readonly T[],
  show: (member: T) => string | undefined,
  close: string,
): string | undefined {
  const shown: string[] = []
  let length = 2 * members.length
  if (!afford(8 * members.length)) return undefined
  for (const member of members) {
    const text = show(member)
    if (text === undefined) return undefined
    length += text.length
    if (length > MAX_STRING) return overBound('string too long')
    shown.push(text)
  }
  return `${open}${shown.join(', ')}${close}`
}
