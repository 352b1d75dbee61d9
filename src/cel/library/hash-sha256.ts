import { blocksOf, digestOf, rotate } from './hash-blocks.ts'

/** FIPS 180-4: the fractional parts of the cube roots of the first 64 primes. */
const CONSTANTS = new Int32Array(64)
/** … and of the square roots of the first eight. */
const INITIAL = new Int32Array(8)

for (let candidate = 2, count = 0; count < 64; candidate++) {
  if (!isPrime(candidate)) continue
  CONSTANTS[count] = fraction(Math.cbrt(candidate))
  if (count < 8) INITIAL[count] = fraction(Math.sqrt(candidate))
  count++
}

function isPrime(number: number): boolean {
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false
  return true
}

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) | 0
}

const schedule = new Int32Array(64)

export function sha256(bytes: Uint8Array): Uint8Array {
  const blocks = blocksOf(bytes, false)
  const state = INITIAL.slice()
  for (let at = 0; at < blocks.byteLength; at += 64) digestBlock(blocks, at, state)
  return digestOf(state, false)
}

function digestBlock(blocks: DataView, at: number, state: Int32Array): void {
  const w = schedule
  for (let i = 0; i < 16; i++) w[i] = blocks.getInt32(at + i * 4)
  for (let i = 16; i < 64; i++) {
    const early = w[i - 15] as number
    const late = w[i - 2] as number
    const s0 = rotate(early, 25) ^ rotate(early, 14) ^ (early >>> 3)
    const s1 = rotate(late, 15) ^ rotate(late, 13) ^ (late >>> 10)
    w[i] = ((w[i - 16] as number) + s0 + (w[i - 7] as number) + s1) | 0
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 26) ^ rotate(e, 21) ^ rotate(e, 7)
    const choice = (e & f) ^ (~e & g)
    const t1 = (h + s1 + choice + (CONSTANTS[i] as number) + (w[i] as number)) | 0
    const s0 = rotate(a, 30) ^ rotate(a, 19) ^ rotate(a, 10)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + s0 + majority) | 0
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
  state[5] = (state[5] as number) + f
  state[6] = (state[6] as number) + g
  state[7] = (state[7] as number) + h
}
