import { fail } from './failure.ts'
import { charge } from './fuel.ts'
import { type Int, int } from './number.ts'

/** How a quantity is written: with `k`, `M`, with `Ki`, `Mi`, or with an exponent. */
type Notation = 'decimal' | 'binary' | 'exponent'

/**
 * An amount of a resource as Kubernetes writes it (`500m`, `1.5Gi`, `2e3`). It is exact: a whole
 * number of billionths, the smallest unit in Kubernetes.
 */
export class Quantity {
  readonly nanos: bigint
  readonly #notation: Notation
  #text: string | undefined

  constructor(nanos: bigint, notation: Notation) {
    this.nanos = nanos
    this.#notation = notation
    this.#text = undefined
    Object.freeze(this)
  }

  /** The canonical string form: without a fraction, in the largest unit that allows this. */
  get text(): string {
    this.#text ??= write(this.nanos, this.#notation)
    return this.#text
  }

  /** The sign as Kubernetes defines it: -1, 0 or 1. */
  get sign(): number {
    return compareBigints(this.nanos, 0n)
  }

  compare(other: Quantity): number {
    return compareBigints(this.nanos, other.nanos)
  }

  equals(other: Quantity): boolean {
    return this.nanos === other.nanos
  }

  /** Uses the notation of this quantity, unless it is zero. */
  plus(nanos: bigint, like: Quantity = this): Quantity {
    const { nanos: own } = this
    return new Quantity(own + nanos, own === 0n ? like.#notation : this.#notation)
  }

  get isWhole(): boolean {
    return this.nanos % UNIT === 0n
  }

  /** An error if there is a fraction, or if the value exceeds int64. */
  toInt(): Int | undefined {
    return this.isWhole ? int(this.nanos / UNIT) : fail('quantity has a fraction', this.text)
  }

  /** The nearest double. */
  toDouble(): number {
    return Number(`${this.nanos}e-9`)
  }

  toString(): string {
    return this.text
  }
}

/** One, in billionths. */
export const UNIT = 1_000_000_000n

/** No real quantity is longer; arithmetic on strings of any length would be too much per call. */
const MAX_LENGTH = 256
/** Slightly more than a double can represent. */
const MAX_DIGITS = 400
/** Kubernetes reduces larger amounts with binary units to the largest int64. */
const MAX_BINARY = (2n ** 63n - 1n) * UNIT

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?[0-9]{1,9}))?$/
const BINARY_UNITS = ['', 'K', 'M', 'G', 'T', 'P', 'E']
const DECIMAL_UNITS = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']

/** Rounds fractions of a billionth away from zero, so that a nonzero amount stays nonzero. */
export function parseQuantity(text: string): Quantity | undefined {
  charge(text.length > MAX_LENGTH ? 10 : 150 + text.length)
  const match = text.length > MAX_LENGTH ? null : FORM.exec(text)
  const [, sign, whole = '', fraction = '', binary, decimal, exponent] = match ?? []
  if (match === null || whole + fraction === '') return fail('invalid quantity', text)
  const digits = BigInt(whole + fraction)
  const size =
    binary === undefined
      ? decimalSize(digits, decimalExponent(decimal, exponent) - fraction.length)
      : binarySize(digits, BINARY_UNITS.indexOf(binary), fraction.length)
  if (size === undefined) return fail('quantity out of range', text)
  const notation = exponent !== undefined ? 'exponent' : binary === undefined ? 'decimal' : 'binary'
  return new Quantity(sign === '-' ? -size : size, notation)
}

function decimalExponent(unit: string | undefined, exponent: string | undefined): number {
  return unit === undefined ? Number(exponent ?? 0) : 3 * DECIMAL_UNITS.indexOf(unit) - 9
}

function decimalSize(digits: bigint, scale: number): bigint | undefined {
  const shift = scale + 9
  if (digits === 0n) return 0n
  if (shift > MAX_DIGITS) return undefined
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  // In that case, no string is long enough for more than one billionth.
  return shift < -MAX_DIGITS ? 1n : dividedUp(digits, 10n ** BigInt(-shift))
}

function binarySize(digits: bigint, unit: number, places: number): bigint {
  const size = dividedUp(digits * 1024n ** BigInt(unit) * UNIT, 10n ** BigInt(places))
  return size > MAX_BINARY ? MAX_BINARY : size
}

function dividedUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function write(nanos: bigint, notation: Notation): string {
  if (nanos === 0n) return '0'
  if (notation === 'binary' && nanos % UNIT === 0n && sizeOf(nanos) >= 1024n * UNIT) {
    const { count, power } = reduced(nanos / UNIT, 1024n, BINARY_UNITS.length - 1)
    return `${count}${BINARY_UNITS[power]}${power === 0 ? '' : 'i'}`
  }
  const isExponent = notation === 'exponent'
  const max = isExponent ? Number.POSITIVE_INFINITY : DECIMAL_UNITS.length - 1
  const { count, power } = reduced(nanos, 1000n, max)
  if (!isExponent) return `${count}${DECIMAL_UNITS[power]}`
  return power === 3 ? `${count}` : `${count}e${3 * power - 9}`
}

/** Divides by the base as long as there is no remainder. */
function reduced(value: bigint, base: bigint, max: number): { count: bigint; power: number } {
  let count = value
  let power = 0
  while (power < max && count % base === 0n) {
    count /= base
    power++
  }
  return { count, power }
}

function sizeOf(nanos: bigint): bigint {
  return nanos < 0n ? -nanos : nanos
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
