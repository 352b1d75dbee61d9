// HOT PATH: the fields of one HEADERS frame. Guarded by bench/proxy.ts.
// Liberties: one object serves all connections, since a head is read before anything else happens.

/** Offsets of one field in the table. */
const STRIDE = 4

/**
 * Fields as they were decoded: lines of HTTP/1.1, each `name: value` and the end of a line, and
 * where their names and values are. It is valid until the next block is decoded into it.
 */
export class FieldBlock {
  bytes: Buffer = Buffer.allocUnsafeSlow(4_096)
  length = 0
  count = 0
  offsets: Int32Array = new Int32Array(64 * STRIDE)
  /** The size that HPACK counts (RFC 7541 §4.1), also of what was left out. */
  size = 0
  /** Fields were left out, since there was no more room for them. */
  isTooLarge = false
  /** The first rejection that a name or a value is worth, or 1. */
  verdict = 1
}

export function beginBlock(block: FieldBlock): void {
  block.length = 0
  block.count = 0
  block.size = 0
  block.isTooLarge = false
  block.verdict = 1
}

/** Sees to it that so many bytes can be written behind what there is. */
export function makeRoom(block: FieldBlock, byteCount: number): void {
  const wanted = block.length + byteCount
  if (wanted <= block.bytes.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(wanted, block.bytes.length * 2))
  block.bytes.copy(larger)
  block.bytes = larger
}

/** A line was written behind what there is: its name and its value are that long. */
export function noteField(block: FieldBlock, nameLength: number, valueLength: number): void {
  const { count, length } = block
  if ((count + 1) * STRIDE > block.offsets.length) {
    const larger = new Int32Array(block.offsets.length * 2)
    larger.set(block.offsets)
    block.offsets = larger
  }
  const { offsets } = block
  const slot = count * STRIDE
  const value = length + nameLength + 2
  offsets[slot] = length
  offsets[slot + 1] = length + nameLength
  offsets[slot + 2] = value
  offsets[slot + 3] = value + valueLength
  block.count = count + 1
  block.length = value + valueLength + 2
}

export function nameStart(block: FieldBlock, index: number): number {
  return block.offsets[index * STRIDE] as number
}

export function nameEnd(block: FieldBlock, index: number): number {
  return block.offsets[index * STRIDE + 1] as number
}

export function valueStart(block: FieldBlock, index: number): number {
  return block.offsets[index * STRIDE + 2] as number
}

export function valueEnd(block: FieldBlock, index: number): number {
  return block.offsets[index * STRIDE + 3] as number
}
