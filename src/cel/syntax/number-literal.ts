import { double, int, uint } from '../values/number.ts'
import type { Value } from '../values/value.ts'
import type { Problem } from './lexer.ts'

const NUMBER = /0x([0-9a-fA-F]+)([uU]?)|(\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(\d+)([uU]?)/y

/** 2^63 is not an int, but `-9223372036854775808` is: the parser negates this magnitude itself. */
export const MIN_INT_MAGNITUDE = 2n ** 63n

/** Reads `12`, `0x1f`, `3u`, `.5`, `6.02e23`; the parser handles the sign. */
export function readNumber(text: string, at: number): { value: Value; end: number } | Problem {
  NUMBER.lastIndex = at
  const match = NUMBER.exec(text)
  if (match === null) return { message: 'invalid number', start: at, end: at + 1 }
  const [all, hex, hexUnsigned, float, decimal, unsigned] = match
  const end = at + all.length
  if (/[\w]/.test(text[end] ?? '')) {
    return { message: 'a number must not be directly followed by a name', start: at, end: end + 1 }
  }
  const value =
    float !== undefined
      ? double(Number(float))
      : integer(
          hex === undefined ? (decimal as string) : `0x${hex}`,
          (hexUnsigned || unsigned) !== '' && (hexUnsigned || unsigned) !== undefined,
        )
  if (value === undefined) {
    return {
      message: 'this number does not fit in 64 bits',
      start: at,
      end,
      hint: 'use a double: 1e20',
    }
  }
  return { value, end }
}

function integer(digits: string, unsigned: boolean): Value | undefined {
  if (!unsigned && digits.length < 16 && !digits.startsWith('0x')) return Number(digits)
  const value = BigInt(digits)
  if (unsigned) return uint(value)
  return value === MIN_INT_MAGNITUDE ? value : int(value)
}
