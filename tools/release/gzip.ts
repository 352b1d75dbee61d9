import { gzipSync } from 'node:zlib'

/** Compresses without a date; the OS byte is fixed, because it differs between systems. */
export function gzip(bytes: Uint8Array): Buffer {
  const packed = gzipSync(bytes, { level: 6 })
  packed[9] = 255
  return packed
}
