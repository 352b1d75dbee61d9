import { crc32c } from '../../src/wire/proxy-protocol/crc32c.ts'
import { uint, vector } from './hello-bytes.ts'

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** Builds a PROXY protocol version 2 header. */
export function proxyV2(
  versionAndCommand: number,
  familyAndTransport: number,
  rest: Buffer,
  length = rest.length,
): Buffer {
  const head = Buffer.from([versionAndCommand, familyAndTransport])
  return Buffer.concat([SIGNATURE, head, uint(length, 2), rest])
}

export const V4 = Buffer.from([10, 0, 0, 7, 192, 0, 2, 1, 0x30, 0x39, 1, 0xbb])
export const V6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000007', 'hex'),
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.from([0x30, 0x39, 1, 0xbb]),
])

export function tlv(kind: number, value: Buffer): Buffer {
  return Buffer.concat([uint(kind, 1), vector(2, value)])
}

/** The same with a checksum as its last TLV. */
export function summed(familyAndTransport: number, rest: Buffer): Buffer {
  const bytes = proxyV2(0x21, familyAndTransport, Buffer.concat([rest, tlv(3, Buffer.alloc(4))]))
  bytes.writeUInt32BE(crc32c(bytes), bytes.length - 4)
  return bytes
}
