import { blocksOf, digestOf } from './hash-blocks.ts'

/** RFC 1321. */
const INITIAL = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476)
const CONSTANTS = Int32Array.from({ length: 64 }, (_, i) =>
  Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32),
)
/** By round: the stride between words, and the index of the first. */
const ORDERS = [
  [1, 0],
  [5, 1],
  [3, 5],
  [7, 0],
] as const
/** By round and by position in a group of four. */
const SHIFTS = Uint8Array.of(7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)
/** The byte offset, within the block, of the word that each step reads. */
const OFFSETS = Uint8Array.from({ length: 64 }, (_, i) => {
  const [factor, start] = ORDERS[i >> 4] as readonly [number, number]
  return 4 * ((factor * i + start) & 15)
})

export function md5(bytes: Uint8Array): Uint8Array {
  const blocks = blocksOf(bytes, true)
  const state = INITIAL.slice()
  for (let at = 0; at < blocks.byteLength; at += 64) digestBlock(blocks, at, state)
  return digestOf(state, true)
}

function digestBlock(blocks: DataView, at: number, state: Int32Array): void {
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  for (let i = 0; i < 64; i++) {
    const word = blocks.getInt32(at + (OFFSETS[i] as number), true)
    const sum = (a + mix(i, b, c, d) + (CONSTANTS[i] as number) + word) | 0
    const bits = SHIFTS[((i >> 4) << 2) | (i & 3)] as number
    a = d
    d = c
    c = b
    b = (b + ((sum << bits) | (sum >>> (32 - bits)))) | 0
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
}

function mix(i: number, b: number, c: number, d: number): number {
  if (i < 16) return (b & c) | (~b & d)
  if (i < 32) return (b & d) | (c & ~d)
  return i < 48 ? b ^ c ^ d : c ^ (b | ~d)
}
