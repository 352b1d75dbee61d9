// HOT PATH: the fields of one HEADERS frame. Guarded by bench/proxy.ts.
// Liberties: one object serves all connections, since a head is consumed synchronously.

/** Offsets of one field in the table. */
const STRIDE = 4

/**
 * Decoded fields as HTTP/1.1 lines, each `name: value` with its line end, and the offsets of names
 * and values. It is valid until the next block is decoded into it.
 */
export class FieldBlock {
  bytes: Buffer = Buffer.allocUnsafeSlow(4_096)
  length = 0
  count = 0
  offsets: Int32Array = new Int32Array(64 * STRIDE)
  /** The size according to HPACK (RFC 7541 §4.1), including omitted fields. */
  size = 0
  /** Fields were omitted because they exceed the limit. */
  isTooLarge = false
  /** The first rejection for a name or a value, or 1. */
  verdict = 1
}

export function beginBlock(block: FieldBlock): void {
  block.length = 0
  block.count = 0
  block.size = 0
  block.isTooLarge = false
  block.verdict = 1
}

/** Ensures that so many bytes can be appended. */
export function makeRoom(block: FieldBlock, byteCount: number): void {
  const wanted = block.length + byteCount
  if (wanted <= block.bytes.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(wanted, block.bytes.length * 2))
  block.bytes.copy(larger)
  block.bytes = larger
}

/** Records an appended line with the lengths of its name and its value. */
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
