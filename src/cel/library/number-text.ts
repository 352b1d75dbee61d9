import { fail } from '../values/failure.ts'
import { type Double, double, type Int, int, type Uint, uint } from '../values/number.ts'

// Numbers as text, by the rules of Go's strconv, which cel-spec's tests follow. Hexadecimal floats
// and underscores, which Go accepts in doubles, are rejected: they are not CEL.

const SIGNED = /^[+-]?[0-9]+$/
const UNSIGNED = /^[0-9]+$/
const DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const INFINITE = /^([+-]?)inf(?:inity)?$/i

// Leaves room for many leading zeros; BigInt would take minutes for a megabyte of digits.
const MAX_INTEGER = 64
const MAX_DOUBLE = 1024

export function readInt(text: string): Int | undefined {
  if (text.length > MAX_INTEGER || !SIGNED.test(text)) return fail('not an int', text)
  if (text.length < 16) return Number(text) + 0
  return int(text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace('+', '')))
}

export function readUint(text: string): Uint | undefined {
  if (text.length > MAX_INTEGER || !UNSIGNED.test(text)) return fail('not a uint', text)
  return uint(BigInt(text))
}

export function readDouble(text: string): number | Double | undefined {
  if (text.length > MAX_DOUBLE) return fail('not a double', text)
  if (DECIMAL.test(text)) {
    const value = Number(text)
    return Number.isFinite(value) ? double(value) : fail('double out of range', text)
  }
  if (text.toLowerCase() === 'nan') return Number.NaN
  const infinite = INFINITE.exec(text)
  if (infinite === null) return fail('not a double', text)
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

const BOOLS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])

export function readBool(text: string): boolean | undefined {
  return BOOLS.get(text) ?? fail('not a bool', text)
}

/** Formats doubles like cel-go (Go's %g): the shortest digits, with an exponent from 1e+06 on. */
export function printDouble(value: number): string {
  if (!Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  }
  if (Object.is(value, -0)) return '-0'
  const [digits, exponent] = value.toExponential().split('e') as [string, string]
  const power = Number(exponent)
  if (power >= -4 && power < LARGEST_PLAIN_POWER) return String(value)
  const padded = String(Math.abs(power)).padStart(2, '0')
  return `${digits}e${power < 0 ? '-' : '+'}${padded}`
}

const LARGEST_PLAIN_POWER = 6
