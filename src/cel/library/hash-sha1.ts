import { blocksOf, digestOf, rotate } from './hash-blocks.ts'

/** FIPS 180-4. */
const INITIAL = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0)
const schedule = new Int32Array(80)

export function sha1(bytes: Uint8Array): Uint8Array {
  const blocks = blocksOf(bytes, false)
  const state = INITIAL.slice()
  for (let at = 0; at < blocks.byteLength; at += 64) digestBlock(blocks, at, state)
  return digestOf(state, false)
}

function digestBlock(blocks: DataView, at: number, state: Int32Array): void {
  const w = schedule
  for (let i = 0; i < 16; i++) w[i] = blocks.getInt32(at + i * 4)
  for (let i = 16; i < 80; i++) {
    const mixed = (w[i - 3] as number) ^ (w[i - 8] as number) ^ (w[i - 14] as number)
    w[i] = rotate(mixed ^ (w[i - 16] as number), 1)
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  for (let i = 0; i < 80; i++) {
    const sum = (rotate(a, 5) + round(i, b, c, d) + e + (w[i] as number)) | 0
    e = d
    d = c
    c = rotate(b, 30)
    b = a
    a = sum
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
}

function round(i: number, b: number, c: number, d: number): number {
  if (i < 20) return ((b & c) | (~b & d)) + 0x5a827999
  if (i < 40) return (b ^ c ^ d) + 0x6ed9eba1
  if (i < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
  return (b ^ c ^ d) + 0xca62c1d6
}
