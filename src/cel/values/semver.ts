import { fail } from './failure.ts'
import { charge } from './fuel.ts'

/** A version as in Semantic Versioning 2.0.0. Build metadata is kept but ignored in comparisons. */
export class Semver {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  /** The identifiers of the pre-release: numbers and words. */
  readonly pre: readonly (bigint | string)[]
  readonly text: string

  constructor(numbers: readonly bigint[], pre: readonly (bigint | string)[], text: string) {
    const [major = 0n, minor = 0n, patch = 0n] = numbers
    this.major = major
    this.minor = minor
    this.patch = patch
    this.pre = pre
    this.text = text
    Object.freeze(this)
  }

  /** Compares by precedence: -1, 0 or 1. */
  compare(other: Semver): number {
    charge(2 * Math.min(this.pre.length, other.pre.length))
    return (
      order(this.major, other.major) ||
      order(this.minor, other.minor) ||
      order(this.patch, other.patch) ||
      comparePre(this.pre, other.pre)
    )
  }

  toString(): string {
    return this.text
  }
}

/** No real version is longer, and a longer string is not worth the work. */
const MAX_LENGTH = 1024
const LARGEST = 2n ** 64n - 1n

const FORM = /^([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/
const DIGITS = /^[0-9]+$/

/** Numbers have no leading zeros and fit 64 bits, as in Kubernetes. */
export function parseSemver(text: string): Semver | undefined {
  charge(text.length > MAX_LENGTH ? 10 : 80 + 8 * text.length)
  const match = text.length > MAX_LENGTH ? null : FORM.exec(text)
  if (match === null) return fail('invalid semantic version', text)
  const [, major = '', minor = '', patch = '', pre, build] = match
  const numbers = [major, minor, patch].map(readNumber)
  const identifiers = pre?.split('.').map(readIdentifier) ?? []
  const isWhole = [...numbers, ...identifiers].every((part) => part !== undefined)
  if (!isWhole || build?.split('.').includes('')) return fail('invalid semantic version', text)
  return new Semver(numbers as bigint[], identifiers as (bigint | string)[], text)
}

/**
 * Converts common spellings to a version: `v1.2` is `1.2.0`, and leading zeros of the three numbers
 * are dropped. A pre-release or build requires all three.
 */
export function parseLooseSemver(text: string): Semver | undefined {
  if (text.length > MAX_LENGTH) return fail('invalid semantic version', text)
  const [, numbers = '', rest = ''] = /^v?([0-9.]*)(.*)$/s.exec(text) ?? []
  const parts = numbers.split('.')
  // What follows the third number is part of the pre-release: `1.2.3.4` is not a version.
  if (parts.length > 3 || (parts.length < 3 && rest !== '')) {
    return fail('invalid semantic version', text)
  }
  const trimmed = parts.map((part) => part.replace(/^0+(?=.)/, ''))
  while (trimmed.length < 3) trimmed.push('0')
  return parseSemver(trimmed.join('.') + rest)
}

function readNumber(digits: string): bigint | undefined {
  // More than 20 digits do not fit in 64 bits.
  if ((digits.length > 1 && digits.startsWith('0')) || digits.length > 20) return undefined
  const value = BigInt(digits)
  return value > LARGEST ? undefined : value
}

function readIdentifier(text: string): bigint | string | undefined {
  if (text === '') return undefined
  return DIGITS.test(text) ? readNumber(text) : text
}

/** A release sorts after its pre-releases, numbers before words, fewer identifiers first. */
function comparePre(a: Semver['pre'], b: Semver['pre']): number {
  if (a.length === 0 || b.length === 0) return order(b.length, a.length)
  for (let at = 0; at < a.length && at < b.length; at++) {
    const result = compareIdentifiers(a[at] as bigint | string, b[at] as bigint | string)
    if (result !== 0) return result
  }
  return order(a.length, b.length)
}

function compareIdentifiers(a: bigint | string, b: bigint | string): number {
  if (typeof a === 'bigint') return typeof b === 'bigint' ? order(a, b) : -1
  return typeof b === 'bigint' ? 1 : order(a, b)
}

function order<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}
