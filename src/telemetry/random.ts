import { randomFillSync } from 'node:crypto'

/** Bytes that are generated at once: a few microseconds for 256 IDs, never blocking for entropy. */
const POOL = 4096

const bytes = Buffer.allocUnsafe(POOL)
const digits = Buffer.allocUnsafe(POOL * 2)
let used = POOL

/**
 * Returns the position of `length` random bytes in the pool, as hexadecimal digits. Each byte is
 * used only once, and comes from a generator whose output does not reveal later output.
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

/** Random bytes as hexadecimal digits in lower case: a separate string, not a slice of the pool. */
export function randomHex(length: number): string {
  const at = take(length)
  return digits.toString('latin1', at, at + length * 2)
}

/** Writes the digits of `length` bytes into a buffer. */
export function writeRandomHex(target: Uint8Array, from: number, length: number): void {
  const at = take(length)
  for (let i = 0; i < length * 2; i++) target[from + i] = digits[at + i] as number
}
