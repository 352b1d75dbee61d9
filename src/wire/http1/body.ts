// HOT PATH: finds the data of a body in received bytes, without copying it.
// Guarded by bench/http1-body.ts; equals test/fuzz/http1-body.plain.ts on any input.
// Liberties: one object for all bodies of a connection; a range is two numbers.

import { BODY_LIMITS, type BodyLimits, beginChunks, ChunkReader, readChunks } from './chunked.ts'
import type { Fields } from './fields.ts'
import { lowerNames } from './lower-names.ts'
import type { Framing } from './message.ts'
import { reject } from './rejections.ts'

/** Reads bodies of every framing. One object serves all bodies of a connection. */
export class BodyReader {
  framing: Framing = 'none'
  isDone = true
  /** The result of the last call, as offsets into its bytes. */
  from = 0
  to = 0
  /** Bytes of data so far, without their framing. */
  byteCount = 0
  /** Remaining bytes of a body whose length is known. */
  left = 0
  /** Set if trailer names are written in lower case. */
  lowersNames = false
  readonly chunks: ChunkReader = new ChunkReader()
}

/**
 * `asWire` is for a chunked body that is forwarded as chunked: ranges then include the framing,
 * without chunk extensions and trailers, so that a segment with many small chunks stays one piece.
 * Such a body ends with `renderTrailers` of its trailers, if it has any.
 */
export function beginBody(
  body: BodyReader,
  framing: Framing,
  length: number,
  asWire = false,
  lowersNames = false,
): void {
  body.framing = framing
  body.isDone = framing === 'none'
  body.from = 0
  body.to = 0
  body.byteCount = 0
  body.lowersNames = lowersNames
  body.left = framing === 'length' ? length : 0
  if (framing === 'chunked') beginChunks(body.chunks, asWire)
}

/**
 * Continues reading at `at`. Returns the offset that it reached, with the range that it found,
 * which may be empty, or a rejection. Call it until it reaches the end or is done.
 */
export function readBody(
  body: BodyReader,
  bytes: Buffer,
  at: number,
  end: number,
  limits: BodyLimits = BODY_LIMITS,
): number {
  body.from = at
  body.to = at
  if (body.isDone) return at
  if (body.framing === 'chunked') {
    const { chunks } = body
    const behind = readChunks(chunks, bytes, at, end, limits)
    body.isDone = chunks.isDone
    body.from = chunks.from
    body.to = chunks.to
    body.byteCount = chunks.byteCount
    return behind
  }
  const length = body.framing === 'length' ? Math.min(end - at, body.left) : end - at
  body.to = at + length
  body.byteCount += length
  body.left -= body.framing === 'length' ? length : 0
  body.isDone = body.framing === 'length' && body.left === 0
  return body.to
}

/**
 * Called when the peer has closed its side. Returns 1, or a rejection if the body is incomplete.
 */
export function endBody(body: BodyReader): number {
  if (body.framing === 'close') body.isDone = true
  return body.isDone ? 1 : reject('truncated-body')
}

/** The trailer section of a complete chunked body, if there was one; `hide` hides some fields. */
export function trailersOf(
  body: BodyReader,
  hide?: (trailers: Fields) => void,
): Fields | undefined {
  if (body.framing !== 'chunked') return undefined
  const { trailers } = body.chunks
  if (trailers !== undefined && body.lowersNames) lowerNames(trailers)
  if (trailers !== undefined) hide?.(trailers)
  return trailers
}
