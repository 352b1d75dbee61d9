import { BOOL, listOf, optionalOf, param } from '../check/types.ts'
import { Duration } from '../values/duration.ts'
import { fail } from '../values/failure.ts'
import { charge } from '../values/fuel.ts'
import { isPlainObject } from '../values/kind.ts'
import { CelMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { Timestamp } from '../values/timestamp.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, fn, global, method } from './define.ts'

const A = param('A')
const OPTIONAL_A = optionalOf(A)

/** Values that may be absent without an error. The emitter handles `.?`, `[?]` and the macros. */
export const OPTIONAL = defineLibrary('optional', [
  fn('optional.of', global([A], OPTIONAL_A, of)),
  fn(
    'optional.none',
    global([], OPTIONAL_A, () => Optional.none),
  ),
  fn(
    'optional.ofNonZeroValue',
    global([A], OPTIONAL_A, (value: Value) => (isZero(value) ? Optional.none : of(value))),
  ),
  fn(
    'hasValue',
    method([OPTIONAL_A], BOOL, (optional: Optional) => optional.value !== undefined),
  ),
  fn(
    'value',
    method([OPTIONAL_A], A, ({ value }: Optional) =>
      value === undefined ? fail('optional.none() has no value') : value,
    ),
  ),
  fn(
    'or',
    method([OPTIONAL_A, OPTIONAL_A], OPTIONAL_A, (optional: Optional, other: Optional) =>
      optional.value === undefined ? other : optional,
    ),
  ),
  fn(
    'orValue',
    method([OPTIONAL_A, A], A, ({ value }: Optional, other: Value) =>
      value === undefined ? other : value,
    ),
  ),
  fn('optional.unwrap', global([listOf(OPTIONAL_A)], listOf(A), unwrap, { metered: true })),
  fn('unwrapOpt', method([listOf(OPTIONAL_A)], listOf(A), unwrap, { metered: true })),
])

function of(value: Value): Optional {
  return new Optional(value)
}

function unwrap(list: readonly Value[]): readonly Value[] | undefined {
  charge(list.length)
  const values: Value[] = []
  for (const element of list) {
    if (!(element instanceof Optional)) return fail('no such overload')
    if (element.value !== undefined) values.push(element.value)
  }
  return values
}

/** Whether this is the value that protobuf has for an unset field. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  if (isPlainObject(value)) return Object.keys(value).length === 0
  if (value instanceof CelMap) return value.size === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Double) return value.value === 0
  if (value instanceof Duration || value instanceof Timestamp) {
    return value.seconds === 0 && value.nanos === 0
  }
  return false
}
