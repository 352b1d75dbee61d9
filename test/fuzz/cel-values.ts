import fc from 'fast-check'
import type { Type } from '../../src/cel/check/types.ts'
import * as types from '../../src/cel/check/types.ts'
import { Duration, durationFromNanos } from '../../src/cel/values/duration.ts'
import { double, doubleValue, int, isDouble, Uint } from '../../src/cel/values/number.ts'
import { Timestamp } from '../../src/cel/values/timestamp.ts'
import type { Value } from '../../src/cel/values/value.ts'
import { anyText } from './any-text.ts'

const INT_LIMITS = [
  0n,
  1n,
  -1n,
  2n,
  10n,
  2n ** 31n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
const UINT_LIMITS = [0n, 1n, 2n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]
const DOUBLE_LIMITS = [0, -0, 1, -1, 0.5, 2 ** 53, 2 ** 63, 2 ** 64, 1e300, 5e-324, 1e21, 1e-7]
const FIRST_SECOND = -62_135_596_800
const LAST_SECOND = 253_402_300_799

export const anyInt = fc
  .oneof(
    fc.constantFrom(...INT_LIMITS),
    { weight: 4, arbitrary: fc.bigInt(-3n, 9n) },
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  )
  .map((value) => int(value) as Value)

export const anyUint = fc
  .oneof(fc.constantFrom(...UINT_LIMITS), fc.bigInt(0n, 20n), fc.bigInt(0n, 2n ** 64n - 1n))
  .map((value) => new Uint(value) as Value)

export const anyDouble = fc
  .oneof(fc.constantFrom(...DOUBLE_LIMITS, NaN, Infinity, -Infinity), fc.double(), fc.integer())
  .map((value) => double(value) as Value)

/**
 * Uses few letters, so that equal and contained strings are common, and astral characters, so that
 * UTF-16 errors show.
 */
export const anyString = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'b', 'A', ' ', '/', '1', 'é', '\u{1f600}', '\u{ffff}'),
    maxLength: 5,
  }),
  anyText({ maxLength: 4 }),
  fc.constantFrom(
    '',
    'abc',
    '12',
    '-7',
    '1.5',
    'true',
    '2020-02-29T12:34:56.789Z',
    '1h30m',
    'ab/ba',
  ),
)

export const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 4 }),
  anyString.map((text) => new TextEncoder().encode(text)),
)

export const anyTimestamp = fc
  .oneof(
    fc.constantFrom(0, -1, FIRST_SECOND, LAST_SECOND, 951_782_400, 1_700_000_000),
    fc.integer({ min: FIRST_SECOND, max: LAST_SECOND }),
  )
  .chain((seconds) =>
    fc.constantFrom(0, 1, 500_000_000, 999_999_999).map((n) => new Timestamp(seconds, n)),
  )

export const anyDuration = fc
  .oneof(
    fc.constantFrom(0n, 1n, -1n, 1_500_000_000n, -1_500_000_000n, 3_600_000_000_000n),
    fc.bigInt(-(10n ** 18n), 10n ** 18n),
  )
  .map((total) => durationFromNanos(total) as Duration)

/** The variables that every generated expression may read. `unset` is declared but never set. */
export const VARIABLES: Readonly<Record<string, { type: Type; values: fc.Arbitrary<Value> }>> = {
  p: { type: types.BOOL, values: fc.boolean() },
  i: { type: types.INT, values: anyInt },
  i2: { type: types.INT, values: anyInt },
  u: { type: types.UINT, values: anyUint },
  d: { type: types.DOUBLE, values: anyDouble },
  s: { type: types.STRING, values: anyString },
  s2: { type: types.STRING, values: anyString },
  b: { type: types.BYTES, values: anyBytes },
  t: { type: types.TIMESTAMP, values: anyTimestamp },
  t2: { type: types.TIMESTAMP, values: anyTimestamp },
  r: { type: types.DURATION, values: anyDuration },
  li: { type: types.listOf(types.INT), values: fc.array(anyInt, { maxLength: 4 }) },
  ls: { type: types.listOf(types.STRING), values: fc.array(anyString, { maxLength: 4 }) },
  m: {
    type: types.mapOf(types.STRING, types.INT),
    values: fc.dictionary(fc.constantFrom('a', 'b', 'c', ''), anyInt, { maxKeys: 3 }),
  },
  j: { type: types.mapOf(types.STRING, types.DYN), values: anyJson() },
  unset: { type: types.STRING, values: fc.constant(null) },
}

export type Bindings = Readonly<Record<string, Value>>

export function anyBindings(): fc.Arbitrary<Bindings> {
  const given = Object.entries(VARIABLES).filter(([name]) => name !== 'unset')
  return fc.record(Object.fromEntries(given.map(([name, { values }]) => [name, values])))
}

/** JWT claims: members that are present or missing, with or without the expected type. */
function anyJson(): fc.Arbitrary<Value> {
  const leaf = fc.oneof(anyString, anyInt, fc.boolean(), fc.constant(null))
  const inner = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b'), leaf, { maxKeys: 2 }),
  )
  return fc.dictionary(fc.constantFrom('a', 'b', 'c', 'sub'), inner, { maxKeys: 4 })
}

/** Returns the value as an exact CEL expression. */
export function literal(value: Value): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return `${value}`
  if (typeof value === 'string') return quoted(value)
  if (isDouble(value)) return doubleLiteral(doubleValue(value))
  if (typeof value === 'number') return `${value}`
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) {
    return `b'${Array.from(value, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`
  }
  if (value instanceof Timestamp) return `timestamp('${value.text}')`
  if (value instanceof Duration) return `duration('${value.text}')`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  const entries = Object.entries(value).map(([k, v]) => `${quoted(k)}: ${literal(v as Value)}`)
  return `{${entries.join(', ')}}`
}

function doubleLiteral(value: number): string {
  if (Number.isNaN(value)) return "double('NaN')"
  if (!Number.isFinite(value)) return value > 0 ? "double('Infinity')" : "double('-Infinity')"
  const text = Object.is(value, -0) ? '-0.0' : String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

export function quoted(text: string): string {
  const escaped = text.replaceAll(/[^ !#-&(-[\]-~]/gu, (character) => {
    const code = character.codePointAt(0) as number
    return `\\U${code.toString(16).padStart(8, '0')}`
  })
  return `'${escaped}'`
}
