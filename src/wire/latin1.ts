// HOT PATH: heads as text, two for each request. Guarded by bench/proxy.ts.

import { Buffer } from 'node:buffer'

/*
 * `toString('latin1')` first finds out which encoding that is, each time. What it calls then is a
 * method of its own, which Node has had for long and does not document: where it is missing, as it
 * may be in another version of Node, the long way is taken.
 */

interface Sliceable {
  latin1Slice(from: number, to: number): string
}

const isSliceable = typeof (Buffer.prototype as Partial<Sliceable>).latin1Slice === 'function'

/** One character for each byte between two offsets, which are those of bytes that are there. */
export const latin1Text: (bytes: Buffer, from: number, to: number) => string = isSliceable
  ? (bytes, from, to) => (bytes as Buffer & Sliceable).latin1Slice(from, to)
  : (bytes, from, to) => bytes.toString('latin1', from, to)
