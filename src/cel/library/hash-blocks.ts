/**
 * The message that MD5, SHA-1 and SHA-256 digest: the bytes, a 1 bit, zeros, and the length in
 * bits, padded to a multiple of 64 bytes.
 */
export function blocksOf(bytes: Uint8Array, littleEndian: boolean): DataView {
  const length = ((bytes.length + 8) >> 6) * 64 + 64
  const padded = new Uint8Array(length)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(length - 8, BigInt(bytes.length) * 8n, littleEndian)
  return view
}

export function digestOf(words: Int32Array, littleEndian: boolean): Uint8Array {
  const digest = new Uint8Array(words.length * 4)
  const view = new DataView(digest.buffer)
  for (const [i, word] of words.entries()) view.setInt32(i * 4, word, littleEndian)
  return digest
}

/** Rotates left: bits shifted out on the left come back on the right. */
export function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
