import { Duration } from './duration.ts'
import { fail } from './failure.ts'
import { charge } from './fuel.ts'
import { Double, Uint } from './number.ts'
import { compareText } from './text.ts'
import { Timestamp } from './timestamp.ts'
import type { Value } from './value.ts'

/**
 * Negative, 0 or positive if `a` is less than, equal to or greater than `b`; NaN if one of them is
 * NaN, so that every comparison with 0 is false. An error if the types have no order.
 *
 * Ints and uints are ordered exactly. An int or uint and a double are ordered as two doubles:
 * cel-spec's tests require `9223372036854775807 < 9223372036854775808.0` to be false. Equality is
 * exact (see ./equal.ts), so beyond 2^53 two numbers may be neither less, greater nor equal.
 */
export function compare(a: Value, b: Value): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return order(a, b)
  if (typeof a === 'string') return typeof b === 'string' ? compareText(a, b) : noOrder()
  const left = numberOf(a)
  if (left !== undefined) {
    const right = numberOf(b)
    return right === undefined ? noOrder() : compareNumbers(left, right, a, b)
  }
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : noOrder()
  if (a instanceof Timestamp) return b instanceof Timestamp ? a.compare(b) : noOrder()
  if (a instanceof Duration) return b instanceof Duration ? a.compare(b) : noOrder()
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : noOrder()
  return noOrder()
}

function noOrder(): undefined {
  return fail('no such overload')
}

function numberOf(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  return value instanceof Uint || value instanceof Double ? value.value : undefined
}

function compareNumbers(left: number | bigint, right: number | bigint, a: Value, b: Value): number {
  if (isDoubleValue(a) || isDoubleValue(b)) return order(Number(left), Number(right))
  // JavaScript compares a number and a bigint exactly.
  return left < right ? -1 : left > right ? 1 : 0
}

function isDoubleValue(value: Value): boolean {
  return typeof value === 'number' ? !Number.isSafeInteger(value) : value instanceof Double
}

function order(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length)
  if (shared > 255) charge(shared >> 2)
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
