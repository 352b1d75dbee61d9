import { blocksOf, digestOf, rotate } from './hash-blocks.ts'

/** RFC 1321. */
const INITIAL = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476)
const CONSTANTS = Int32Array.from({ length: 64 }, (_, i) =>
  Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32),
)
/** By round and by place in a group of four. */
const SHIFTS = Uint8Array.of(7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)

export function md5(bytes: Uint8Array): Uint8Array {
  const blocks = blocksOf(bytes, true)
  const state = INITIAL.slice()
  for (let at = 0; at < blocks.byteLength; at += 64) digestBlock(blocks, at, state)
  return digestOf(state, true)
}

function digestBlock(blocks: DataView, at: number, state: Uint32Array): void {
  let [a, b, c, d] = state as unknown as [number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const word = blocks.getInt32(at + 4 * wordOf(i), true)
    const sum = (a + mix(i, b, c, d) + (CONSTANTS[i] as number) + word) | 0
    a = d
    d = c
    c = b
    b = (b + rotate(sum, SHIFTS[((i >> 4) << 2) | (i & 3)] as number)) | 0
  }
  const after = [a, b, c, d]
  for (let i = 0; i < 4; i++) state[i] = (state[i] as number) + (after[i] as number)
}

function wordOf(i: number): number {
  if (i < 16) return i
  if (i < 32) return (5 * i + 1) & 15
  return i < 48 ? (3 * i + 5) & 15 : (7 * i) & 15
}

function mix(i: number, b: number, c: number, d: number): number {
  if (i < 16) return (b & c) | (~b & d)
  if (i < 32) return (b & d) | (c & ~d)
  return i < 48 ? b ^ c ^ d : c ^ (b | ~d)
}
