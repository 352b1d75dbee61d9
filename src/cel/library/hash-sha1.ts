import { blocksOf, digestOf, rotate } from './hash-blocks.ts'

/** FIPS 180-4. */
const INITIAL = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0)
const schedule = new Int32Array(80)

export function sha1(bytes: Uint8Array): Uint8Array {
  const blocks = blocksOf(bytes, false)
  const state = INITIAL.slice()
  for (let at = 0; at < blocks.byteLength; at += 64) digestBlock(blocks, at, state)
  return digestOf(state, false)
}

function digestBlock(blocks: DataView, at: number, state: Uint32Array): void {
  const w = schedule
  for (let i = 0; i < 16; i++) w[i] = blocks.getInt32(at + i * 4)
  for (let i = 16; i < 80; i++) {
    const mixed = (w[i - 3] as number) ^ (w[i - 8] as number) ^ (w[i - 14] as number)
    w[i] = rotate(mixed ^ (w[i - 16] as number), 1)
  }
  let [a, b, c, d, e] = state as unknown as [number, number, number, number, number]
  for (let i = 0; i < 80; i++) {
    const sum = (rotate(a, 5) + round(i, b, c, d) + e + (w[i] as number)) | 0
    e = d
    d = c
    c = rotate(b, 30)
    b = a
    a = sum
  }
  const after = [a, b, c, d, e]
  for (let i = 0; i < 5; i++) state[i] = (state[i] as number) + (after[i] as number)
}

function round(i: number, b: number, c: number, d: number): number {
  if (i < 20) return ((b & c) | (~b & d)) + 0x5a827999
  if (i < 40) return (b ^ c ^ d) + 0x6ed9eba1
  if (i < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
  return (b ^ c ^ d) + 0xca62c1d6
}
