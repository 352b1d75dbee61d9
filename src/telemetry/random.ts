import { randomFillSync } from 'node:crypto'

/** Bytes that are fetched at once: some microseconds for 256 ids, never waiting for entropy. */
const POOL = 4096

const bytes = Buffer.allocUnsafe(POOL)
const digits = Buffer.allocUnsafe(POOL * 2)
let used = POOL

/**
 * Where `length` random bytes stand in the pool, as hexadecimal digits. They are given to one
 * caller only, and come from a generator whose output does not tell what comes next.
 */
function take(length: number): number {
  if (used + length > POOL) {
    randomFillSync(bytes)
    digits.write(bytes.toString('hex'), 'latin1')
    used = 0
  }
  const at = used * 2
  used += length
  return at
}

/** As many bytes as hexadecimal digits in lower case: a string of its own, not a part of the pool. */
export function randomHex(length: number): string {
  const at = take(length)
  return digits.toString('latin1', at, at + length * 2)
}

/** Writes the digits of `length` bytes into a buffer. */
export function writeRandomHex(target: Uint8Array, from: number, length: number): void {
  const at = take(length)
  for (let i = 0; i < length * 2; i++) target[from + i] = digits[at + i] as number
}
