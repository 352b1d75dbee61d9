import { gzipSync } from 'node:zlib'

/** Without a date; the byte for the system that wrote it differs between systems, so it is fixed. */
export function gzip(bytes: Uint8Array): Buffer {
  const packed = gzipSync(bytes, { level: 6 })
  packed[9] = 255
  return packed
}
