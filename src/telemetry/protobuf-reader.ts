/** A number of any size, or the bytes of what is longer: fixed-size numbers, strings, messages. */
export type ProtobufValue = bigint | Uint8Array

/** The fields of a message by their number; undefined if it is none. */
export function readProtobuf(bytes: Uint8Array): Map<number, ProtobufValue[]> | undefined {
  const fields = new Map<number, ProtobufValue[]>()
  let at = 0

  const readVarint = (): bigint | undefined => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) return undefined
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    return undefined
  }

  const readBytes = (length: number): Uint8Array | undefined => {
    if (length > bytes.length - at) return undefined
    at += length
    return bytes.subarray(at - length, at)
  }

  const readValue = (wireType: number): ProtobufValue | undefined => {
    if (wireType === 0) return readVarint()
    if (wireType === 1) return readBytes(8)
    if (wireType === 5) return readBytes(4)
    if (wireType !== 2) return undefined
    const length = readVarint()
    return length === undefined ? undefined : readBytes(Number(length))
  }

  while (at < bytes.length) {
    const tag = readVarint()
    if (tag === undefined) return undefined
    const value = readValue(Number(tag & 7n))
    if (value === undefined) return undefined
    const field = Number(tag >> 3n)
    const values = fields.get(field)
    if (values === undefined) fields.set(field, [value])
    else values.push(value)
  }
  return fields
}
