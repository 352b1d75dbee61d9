import { Double, int, Uint } from '../../cel/values/number.ts'
import type { Value } from '../../cel/values/value.ts'

/** Whether the value is a number of any of CEL's three types, as in constants of expressions. */
export function isNumber(value: Value): boolean {
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    value instanceof Uint ||
    value instanceof Double
  )
}

/** The numbers that an attribute can have. */
export interface NumberDomain {
  readonly hasFractions: boolean
  /** Whether it can be NaN, which is neither less nor greater than anything. */
  readonly hasNaN: boolean
  readonly min?: number
  readonly max?: number
}

/** All numbers that JSON can express: any int64 or uint64, any double, and infinity as `1e999`. */
export const JSON_NUMBERS: NumberDomain = { hasFractions: true, hasNaN: false }

/** Preferred if it is as good as any other number. */
const LIKED = 7

/**
 * A number for every way to be less than, equal to or greater than these: each of them, and one for
 * every gap between two neighbors, below the smallest and above the greatest. Fractions lie in gaps
 * between whole numbers. No test here distinguishes whole numbers from doubles, except beyond 2^53,
 * where the two are compared as doubles.
 */
export function numbersFor(constants: readonly Value[], domain: NumberDomain): readonly Value[] {
  const bounds = constants.map(plainNumber).filter((bound) => !Number.isNaN(bound))
  const found = bounds.every(isModest) ? modest(bounds as number[]) : exhaustive(bounds)
  const possible = [...found].filter((value) => isPossible(value, domain))
  return domain.hasNaN ? [...possible, Number.NaN] : possible
}

/** The plain number, regardless of its type. */
export function plainNumber(constant: Value): number | bigint {
  if (constant instanceof Uint || constant instanceof Double) return constant.value
  return constant as number | bigint
}

/** The value as a claim has it: JSON has only one kind of small whole numbers, and no `1u`. */
export function asInJson(value: Value): Value {
  if (value instanceof Double) return value.value
  return value instanceof Uint ? (int(value.value) ?? value) : value
}

/** Up to this limit, an int and a double that are compared as doubles are compared exactly. */
const EXACT = 2 ** 52

/** Whether the number can never equal two different numbers. */
export function isModest(bound: number | bigint): boolean {
  return typeof bound === 'number' && Math.abs(bound) <= EXACT
}

function isPossible(value: Value, { hasFractions, min, max }: NumberDomain): boolean {
  if (!hasFractions && !Number.isSafeInteger(value) && typeof value !== 'bigint') return false
  const number = Number(plainNumber(value))
  return number >= (min ?? -Infinity) && number <= (max ?? Infinity)
}

function modest(bounds: readonly number[]): ReadonlySet<Value> {
  const sorted = [...new Set(bounds)].sort((a, b) => a - b)
  const found = new Set<number>()
  const [least, greatest] = [sorted[0], sorted.at(-1)]
  if (least === undefined || greatest === undefined) return new Set([LIKED])
  if (!sorted.includes(LIKED)) found.add(LIKED)
  for (const [index, bound] of sorted.entries()) {
    found.add(bound)
    const next = sorted[index + 1]
    if (next === undefined) continue
    const whole = Math.floor(bound) + 1
    if (whole < next) found.add(whole)
    const middle = bound + (next - bound) / 2
    if (middle > bound && middle < next) found.add(middle)
  }
  // A gap below and above, with a whole number and a fraction, for types with only one of them. The
  // whole numbers are the nearest ones: those further away may be out of the range of a type.
  const [below, beyond] = [Math.ceil(least) - 1, Math.floor(greatest) + 1]
  found.add(below).add(beyond)
  if (Math.abs(below) < EXACT) found.add(Math.floor(least) - 0.5)
  if (Math.abs(beyond) < EXACT) found.add(beyond + 0.5)
  return found
}

const INT_MIN = -(2n ** 63n)
const UINT_MAX = 2n ** 64n - 1n

/**
 * Large numbers: whole ones are compared exactly with each other, and as doubles with doubles. So
 * doubles are distinguished by their position among the bounds as doubles; whole numbers are
 * distinguished at each bound, and where rounding changes sides.
 */
function exhaustive(bounds: readonly (number | bigint)[]): ReadonlySet<Value> {
  const doubles = [...new Set(bounds.map(Number))].sort((a, b) => a - b)
  const found = new Set<Value>([LIKED])
  const add = (value: number) => {
    // JSON has no -0, and a double that is a safe integer is an int in JSON.
    if (!Number.isNaN(value)) found.add(value === 0 ? 0 : value)
  }
  for (const [index, bound] of doubles.entries()) {
    for (const one of [bound, above(bound), -above(-bound)]) add(one)
    const next = doubles[index + 1]
    if (next !== undefined) add(bound / 2 + next / 2)
  }
  for (const one of [Number.MAX_VALUE, Infinity]) {
    add(one)
    add(-one)
  }
  const edges = new Set<bigint>([0n, INT_MIN, UINT_MAX])
  for (const bound of bounds) {
    if (typeof bound === 'bigint') edges.add(bound)
    const near = Number(bound)
    if (!(Math.abs(near) <= 2 ** 65)) continue
    for (const one of [-above(-near), near, above(near)]) {
      edges.add(BigInt(Math.floor(one)))
      edges.add(BigInt(Math.ceil(one)))
      // Halfway to the next double, where a whole number rounds up instead of down.
      if (Math.abs(one) >= 2 ** 53) {
        const gap = BigInt(above(one)) - BigInt(one)
        edges.add(BigInt(one) + gap / 2n)
        edges.add(BigInt(one) - gap / 2n)
      }
    }
  }
  const sorted = [...edges].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  for (const [index, edge] of sorted.entries()) {
    for (const one of [edge - 1n, edge, edge + 1n]) addWhole(found, one)
    const next = sorted[index + 1]
    if (next !== undefined) addWhole(found, (edge + next) / 2n)
  }
  return found
}

function addWhole(found: Set<Value>, value: bigint): void {
  if (value < INT_MIN || value > UINT_MAX) return
  if (BigInt.asIntN(54, value) === value && Number.isSafeInteger(Number(value))) {
    found.add(Number(value))
  } else found.add(value < 2n ** 63n ? value : new Uint(value))
}

const FLOAT = new DataView(new ArrayBuffer(8))

/** The next greater double. */
function above(value: number): number {
  if (value === Infinity || Number.isNaN(value)) return value
  if (value === 0) return Number.MIN_VALUE
  FLOAT.setFloat64(0, value)
  const bits = FLOAT.getBigInt64(0)
  FLOAT.setBigInt64(0, value > 0 ? bits + 1n : bits - 1n)
  return FLOAT.getFloat64(0)
}
