import { fail } from '../values/failure.ts'
import { type Int, int, Uint, uint } from '../values/number.ts'

// HOT PATH: arithmetic of ints, guarded by bench/cel.ts and compared with BigInt in the test. The
// first branch of each function handles two numbers: a result that is a safe integer is exact, and
// everything else goes through BigInt. `+ 0` turns JavaScript's -0 into the int 0.

export function addInts(a: Int, b: Int): Int | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return int(BigInt(a) + BigInt(b))
}

export function subtractInts(a: Int, b: Int): Int | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    if (Number.isSafeInteger(difference)) return difference
  }
  return int(BigInt(a) - BigInt(b))
}

export function multiplyInts(a: Int, b: Int): Int | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    if (Number.isSafeInteger(product)) return product + 0
  }
  return int(BigInt(a) * BigInt(b))
}

/** Rounds toward zero. */
export function divideInts(a: Int, b: Int): Int | undefined {
  if (b === 0) return fail('division by zero')
  // The quotient of safe integers is rounded, but never up to the next integer.
  if (typeof a === 'number' && typeof b === 'number') return Math.trunc(a / b) + 0
  return int(BigInt(a) / BigInt(b))
}

/** The remainder has the sign of the dividend. */
export function moduloInts(a: Int, b: Int): Int | undefined {
  if (b === 0) return fail('modulus by zero')
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  // cel-go rejects -2^63 % -1 because its division overflows.
  if (b === -1 && a === -(2n ** 63n)) return fail('integer overflow')
  return int(BigInt(a) % BigInt(b))
}

export function negateInt(a: Int): Int | undefined {
  return typeof a === 'number' ? 0 - a : int(-a)
}

export function addUints(a: Uint, b: Uint): Uint | undefined {
  return uint(a.value + b.value)
}

export function subtractUints(a: Uint, b: Uint): Uint | undefined {
  return uint(a.value - b.value)
}

export function multiplyUints(a: Uint, b: Uint): Uint | undefined {
  return uint(a.value * b.value)
}

export function divideUints(a: Uint, b: Uint): Uint | undefined {
  return b.value === 0n ? fail('division by zero') : new Uint(a.value / b.value)
}

export function moduloUints(a: Uint, b: Uint): Uint | undefined {
  return b.value === 0n ? fail('modulus by zero') : new Uint(a.value % b.value)
}
