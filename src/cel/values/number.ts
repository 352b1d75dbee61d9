import { fail } from './failure.ts'

/** uint64. Rare in rules, so it has one exact form instead of a fast one. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

/** A double whose value is a safe integer (1.0, -0.0), boxed to distinguish it from an int. */
export class Double {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export type Int = number | bigint

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n
const UINT_MAX = 2n ** 64n - 1n
const SAFE_MIN = BigInt(Number.MIN_SAFE_INTEGER)
const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** The int of this value; an error outside int64. */
export function int(value: bigint): Int | undefined {
  if (value >= SAFE_MIN && value <= SAFE_MAX) return Number(value)
  if (value < INT_MIN || value > INT_MAX) return fail('integer overflow')
  return value
}

/** The uint of this value; an error outside uint64. */
export function uint(value: bigint): Uint | undefined {
  if (value < 0n || value > UINT_MAX) return fail('unsigned integer overflow')
  return new Uint(value)
}

export function double(value: number): number | Double {
  return Number.isSafeInteger(value) ? new Double(value) : value
}

export function isInt(value: unknown): value is Int {
  return typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'bigint'
}

export function isDouble(value: unknown): value is number | Double {
  return typeof value === 'number' ? !Number.isSafeInteger(value) : value instanceof Double
}

/** The JavaScript number of a double. */
export function doubleValue(value: number | Double): number {
  return typeof value === 'number' ? value : value.value
}
