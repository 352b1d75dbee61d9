// HOT PATH: Huffman-coded strings of header fields (RFC 7541 §5.2). Guarded by bench/proxy.ts.
// Liberties: tables are built once; four bits are read at a time, and nothing is allocated.

/**
 * The code length of each byte (RFC 7541, appendix B), and of EOS. The code is canonical: codes of
 * the same length follow each other in byte order, and longer ones begin where the shorter ones
 * end.
 */
// biome-ignore format: as many in a line as rows have in the byte's table
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
]
const END_OF_TEXT = 256
const MAX_LENGTH = 30

const LENGTH_OF: Uint8Array = Uint8Array.from(LENGTHS.slice(0, END_OF_TEXT))
const CODE_OF: Uint32Array = new Uint32Array(END_OF_TEXT)

const NODE = 0xff
const HAS_BYTE = 0x100
const FAILS = 0x200
/** At most seven bits since the last byte, all ones: the string may end here (§5.2). */
const MAY_END = 0x400

/**
 * The transition for four bits, at the current node times 16 plus the bits: the next node, the
 * decoded byte in the upper half, and the flags above.
 */
const STEPS: Uint32Array = makeSteps()

function makeSteps(): Uint32Array {
  // The children of each node: another node, or a negative value for a leaf.
  const children: number[] = [0, 0]
  const depths = [0]
  const areOnes = [true]
  let code = 0
  for (let length = 1; length <= MAX_LENGTH; length++) {
    code *= 2
    for (let byte = 0; byte <= END_OF_TEXT; byte++) {
      if (LENGTHS[byte] !== length) continue
      if (byte < END_OF_TEXT) CODE_OF[byte] = code
      let node = 0
      for (let bit = length - 1; bit >= 0; bit--) {
        const at = node * 2 + ((code >>> bit) & 1)
        if (bit === 0) children[at] = -1 - byte
        else {
          if (children[at] === 0) {
            children[at] = depths.length
            children.push(0, 0)
            depths.push((depths[node] as number) + 1)
            areOnes.push((areOnes[node] as boolean) && at % 2 === 1)
          }
          node = children[at] as number
        }
      }
      code++
    }
  }
  const steps = new Uint32Array(depths.length * 16)
  for (let from = 0; from < depths.length; from++)
    for (let bits = 0; bits < 16; bits++) {
      let node = from
      let step = 0
      for (let bit = 3; bit >= 0; bit--) {
        const child = children[node * 2 + ((bits >>> bit) & 1)] as number
        if (child >= 0) node = child
        else {
          step |= child === -1 - END_OF_TEXT ? FAILS : HAS_BYTE | ((-1 - child) << 16)
          node = 0
        }
      }
      if (areOnes[node] === true && (depths[node] as number) < 8) step |= MAY_END
      steps[from * 16 + bits] = step | node
    }
  return steps
}

/**
 * Decodes `bytes` to `out` at `to`; returns the end of the string, or -1 if the code is invalid.
 * `out` must have room for eight bytes for each five bytes of code.
 */
export function decodeHuffman(
  bytes: Uint8Array,
  from: number,
  end: number,
  out: Uint8Array,
  to: number,
): number {
  let at = to
  let step = MAY_END
  for (let i = from; i < end; i++) {
    const byte = bytes[i] as number
    step = STEPS[((step & NODE) << 4) | (byte >> 4)] as number
    if ((step & HAS_BYTE) !== 0) out[at++] = step >>> 16
    if ((step & FAILS) !== 0) return -1
    step = STEPS[((step & NODE) << 4) | (byte & 15)] as number
    if ((step & HAS_BYTE) !== 0) out[at++] = step >>> 16
    if ((step & FAILS) !== 0) return -1
  }
  return (step & MAY_END) === 0 ? -1 : at
}

/** The encoded length in bytes of a string of one byte per character. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits += LENGTH_OF[text.charCodeAt(i)] as number
  return (bits + 7) >> 3
}

/** Encodes a string to `out` at `to`, which must have room for it; returns the end. */
export function encodeHuffman(text: string, out: Uint8Array, to: number): number {
  let at = to
  let held = 0
  let bits = 0
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i)
    let code = CODE_OF[byte] as number
    let length = LENGTH_OF[byte] as number
    // 30 bits and up to 7 held ones exceed 32 bits: the upper half is written first.
    if (length > HALF) {
      length -= HALF
      held = (held << length) | (code >>> HALF)
      for (bits += length; bits >= 8; ) out[at++] = held >>> (bits -= 8)
      code &= (1 << HALF) - 1
      length = HALF
    }
    held = (held << length) | code
    for (bits += length; bits >= 8; ) out[at++] = held >>> (bits -= 8)
  }
  if (bits > 0) out[at++] = (held << (8 - bits)) | (0xff >> bits)
  return at
}

/** Codes of visible characters are no longer than this. */
const HALF = 16
