// HOT PATH: converts heads to strings, two for each request. Guarded by bench/proxy.ts.

import { Buffer } from 'node:buffer'

/*
 * `toString('latin1')` looks up the encoding each time, and then calls a method that Node has had
 * for long and does not document. If that method is missing, as it may be in another version of
 * Node, `toString` is used.
 */

interface Sliceable {
  latin1Slice(from: number, to: number): string
}

const isSliceable = typeof (Buffer.prototype as Partial<Sliceable>).latin1Slice === 'function'

/** One character for each byte between two offsets, which must be within the buffer. */
export const latin1Text: (bytes: Buffer, from: number, to: number) => string = isSliceable
  ? (bytes, from, to) => (bytes as Buffer & Sliceable).latin1Slice(from, to)
  : (bytes, from, to) => bytes.toString('latin1', from, to)
