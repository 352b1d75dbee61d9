import { compare } from '../values/compare.ts'
import { Duration, durationOf } from '../values/duration.ts'
import { fail } from '../values/failure.ts'
import { Ip } from '../values/ip.ts'
import { double, doubleValue, isDouble, isInt, Uint } from '../values/number.ts'
import { Timestamp } from '../values/timestamp.ts'
import type { Value } from '../values/value.ts'
import { addBytes, addLists, addStrings } from './concat.ts'
import {
  addInts,
  addUints,
  divideInts,
  divideUints,
  moduloInts,
  moduloUints,
  multiplyInts,
  multiplyUints,
  negateInt,
  subtractInts,
  subtractUints,
} from './integers.ts'

export {
  hasField,
  holds,
  index,
  isIn,
  optionalIndex,
  optionalSelect,
  select,
  sizeOf,
} from './access.ts'

// Operators for operands whose types are known only at run time. Each returns undefined, with a
// reason, for operands that it does not accept: CEL has no implicit conversions.

export function add(a: Value, b: Value): Value | undefined {
  if (isInt(a)) return isInt(b) ? addInts(a, b) : noOverload()
  if (typeof a === 'string') return addToString(a, b)
  if (isDouble(a)) return isDouble(b) ? double(doubleValue(a) + doubleValue(b)) : noOverload()
  if (a instanceof Uint) return b instanceof Uint ? addUints(a, b) : noOverload()
  if (Array.isArray(a)) return Array.isArray(b) ? addLists(a, b) : noOverload()
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? addBytes(a, b) : noOverload()
  if (a instanceof Timestamp) return b instanceof Duration ? a.plus(b) : noOverload()
  if (!(a instanceof Duration)) return noOverload()
  if (b instanceof Timestamp) return b.plus(a)
  return b instanceof Duration ? addDurations(a, b) : noOverload()
}

/** An address is appended as a string: other gateways have addresses as strings. */
function addToString(a: string, b: Value): Value | undefined {
  if (typeof b === 'string') return addStrings(a, b)
  return b instanceof Ip ? addStrings(a, b.text) : noOverload()
}

export function subtract(a: Value, b: Value): Value | undefined {
  if (isInt(a)) return isInt(b) ? subtractInts(a, b) : noOverload()
  if (isDouble(a)) return isDouble(b) ? double(doubleValue(a) - doubleValue(b)) : noOverload()
  if (a instanceof Uint) return b instanceof Uint ? subtractUints(a, b) : noOverload()
  if (a instanceof Duration) return b instanceof Duration ? subtractDurations(a, b) : noOverload()
  if (!(a instanceof Timestamp)) return noOverload()
  if (b instanceof Timestamp) return a.since(b)
  return b instanceof Duration ? a.minus(b) : noOverload()
}

export function multiply(a: Value, b: Value): Value | undefined {
  if (isInt(a)) return isInt(b) ? multiplyInts(a, b) : noOverload()
  if (isDouble(a)) return isDouble(b) ? double(doubleValue(a) * doubleValue(b)) : noOverload()
  if (a instanceof Uint) return b instanceof Uint ? multiplyUints(a, b) : noOverload()
  return noOverload()
}

export function divide(a: Value, b: Value): Value | undefined {
  if (isInt(a)) return isInt(b) ? divideInts(a, b) : noOverload()
  if (isDouble(a)) return isDouble(b) ? double(doubleValue(a) / doubleValue(b)) : noOverload()
  if (a instanceof Uint) return b instanceof Uint ? divideUints(a, b) : noOverload()
  return noOverload()
}

export function modulo(a: Value, b: Value): Value | undefined {
  if (isInt(a)) return isInt(b) ? moduloInts(a, b) : noOverload()
  if (a instanceof Uint) return b instanceof Uint ? moduloUints(a, b) : noOverload()
  return noOverload()
}

export function negate(a: Value): Value | undefined {
  if (isInt(a)) return negateInt(a)
  if (isDouble(a)) return double(-doubleValue(a))
  return noOverload()
}

export function less(a: Value, b: Value): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a < b
  const order = compare(a, b)
  return order === undefined ? undefined : order < 0
}

export function lessOrEqual(a: Value, b: Value): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a <= b
  const order = compare(a, b)
  return order === undefined ? undefined : order <= 0
}

export function greater(a: Value, b: Value): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a > b
  const order = compare(a, b)
  return order === undefined ? undefined : order > 0
}

export function greaterOrEqual(a: Value, b: Value): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a >= b
  const order = compare(a, b)
  return order === undefined ? undefined : order >= 0
}

export function addDurations(a: Duration, b: Duration): Duration | undefined {
  return durationOf(a.seconds + b.seconds, a.nanos + b.nanos)
}

export function subtractDurations(a: Duration, b: Duration): Duration | undefined {
  return durationOf(a.seconds - b.seconds, a.nanos - b.nanos)
}

function noOverload(): undefined {
  return fail('no such overload')
}
