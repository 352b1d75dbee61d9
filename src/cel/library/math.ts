import { BOOL, DOUBLE, DYN, INT, listOf, UINT } from '../check/types.ts'
import { compare } from '../values/compare.ts'
import { fail } from '../values/failure.ts'
import { charge } from '../values/fuel.ts'
import {
  type Double,
  double,
  doubleValue,
  type Int,
  int,
  isDouble,
  isInt,
  Uint,
} from '../values/number.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, type FunctionDeclaration, fn, global } from './define.ts'

type DoubleLike = number | Double

/** cel-go's math extension. */
export const MATH = defineLibrary('math', [
  extreme('math.greatest', 1),
  extreme('math.least', -1),
  extreme('max', 1),
  extreme('min', -1),
  ofDouble('math.ceil', Math.ceil),
  ofDouble('math.floor', Math.floor),
  ofDouble('math.round', round),
  ofDouble('math.trunc', Math.trunc),
  test('math.isNaN', Number.isNaN),
  test('math.isInf', (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  test('math.isFinite', Number.isFinite),
  fn(
    'math.abs',
    global([INT], INT, (value: Int) => (value < 0 ? int(-BigInt(value)) : value)),
    global([UINT], UINT, (value: Uint) => value),
    global([DOUBLE], DOUBLE, (value: DoubleLike) => double(Math.abs(doubleValue(value)))),
  ),
  fn(
    'math.sign',
    global([INT], INT, (value: Int) => (value > 0 ? 1 : value < 0 ? -1 : 0)),
    global([UINT], UINT, (value: Uint) => new Uint(value.value === 0n ? 0n : 1n)),
    global([DOUBLE], DOUBLE, (value: DoubleLike) => double(Math.sign(doubleValue(value)) + 0)),
  ),
  fn(
    'math.sqrt',
    global([INT], DOUBLE, (value: Int) => double(Math.sqrt(Number(value)))),
    global([UINT], DOUBLE, (value: Uint) => double(Math.sqrt(Number(value.value)))),
    global([DOUBLE], DOUBLE, (value: DoubleLike) => double(Math.sqrt(doubleValue(value)))),
  ),
  bitwise('math.bitAnd', (a, b) => a & b),
  bitwise('math.bitOr', (a, b) => a | b),
  bitwise('math.bitXor', (a, b) => a ^ b),
  fn(
    'math.bitNot',
    global([INT], INT, (value: Int) => int(~BigInt(value))),
    global([UINT], UINT, (value: Uint) => new Uint(BigInt.asUintN(64, ~value.value))),
  ),
  shift('math.bitShiftLeft', (value, by) => value << by),
  // Shifts in zeros, also for negative ints.
  shift('math.bitShiftRight', (value, by) => value >> by),
])

/**
 * Accepts numbers of any mix of types, or one list of them. Of equal numbers, the first is the
 * result. Numbers of one type have separate overloads, so that the result type is known.
 */
function extreme(name: string, sign: 1 | -1): FunctionDeclaration {
  const call = (...args: readonly Value[]) => {
    const only = args.length === 1 ? args[0] : undefined
    return furthest(Array.isArray(only) ? only : args, sign)
  }
  const types = [INT, UINT, DOUBLE]
  return fn(
    name,
    ...types.map((type) => global([type], type, call, { variadic: true })),
    ...types.map((type) => global([listOf(type)], type, call)),
    ...types.flatMap((first) =>
      types.filter((type) => type !== first).map((second) => global([first, second], DYN, call)),
    ),
    global([DYN, DYN, DYN], DYN, call, { variadic: true }),
  )
}

function furthest(numbers: readonly Value[], sign: 1 | -1): Value | undefined {
  charge(2 * numbers.length)
  let found: Value | undefined
  for (const number of numbers) {
    if (!isInt(number) && !isDouble(number) && !(number instanceof Uint)) {
      return fail('no such overload')
    }
    const order = found === undefined ? sign : (compare(number, found) as number)
    // NaN has no order: the result must not depend on its position.
    if (Number.isNaN(order)) return fail('NaN cannot be ordered')
    if (sign * order > 0) found = number
  }
  return found ?? fail('the list is empty')
}

function ofDouble(name: string, compute: (value: number) => number): FunctionDeclaration {
  return fn(
    name,
    global([DOUBLE], DOUBLE, (value: DoubleLike) => double(compute(doubleValue(value)))),
  )
}

function test(name: string, holds: (value: number) => boolean): FunctionDeclaration {
  return fn(
    name,
    global([DOUBLE], BOOL, (value: DoubleLike) => holds(doubleValue(value))),
  )
}

/** Rounds halves away from zero. */
function round(value: number): number {
  const whole = Math.trunc(value)
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole
}

type BitOperation = (a: bigint, b: bigint) => bigint

function bitwise(name: string, compute: BitOperation): FunctionDeclaration {
  return fn(
    name,
    global([INT, INT], INT, (a: Int, b: Int) => int(compute(BigInt(a), BigInt(b)))),
    global([UINT, UINT], UINT, (a: Uint, b: Uint) => new Uint(compute(a.value, b.value))),
  )
}

function shift(name: string, compute: BitOperation): FunctionDeclaration {
  const shifted = (bits: bigint, by: Int): bigint | undefined => {
    if (by < 0) return fail('negative offset', by)
    // Shifting by 64 or more leaves nothing; BigInt would still compute it.
    return by > 63 ? 0n : BigInt.asUintN(64, compute(bits, BigInt(by)))
  }
  return fn(
    name,
    global([INT, INT], INT, (value: Int, by: Int) => {
      const bits = shifted(BigInt.asUintN(64, BigInt(value)), by)
      return bits === undefined ? undefined : int(BigInt.asIntN(64, bits))
    }),
    global([UINT, INT], UINT, (value: Uint, by: Int) => {
      const bits = shifted(value.value, by)
      return bits === undefined ? undefined : new Uint(bits)
    }),
  )
}
