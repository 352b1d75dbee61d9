// HOT PATH: the chunked coding of RFC 9112 §7.1, across segment boundaries; data is never copied.
// Guarded by bench/http1-body.ts; equals test/fuzz/http1-body.plain.ts on any input.
// Liberties: one object for all bodies of a connection; a range is two numbers.

import type { BodySink } from '../streams.ts'
import {
  BACKSLASH,
  CR,
  DEL,
  EQUALS,
  HEX_VALUE,
  IS_TOKEN,
  LF,
  QUOTE,
  SEMICOLON,
  SPACE,
  TAB,
} from './ascii.ts'
import { HIDDEN, isForbiddenTrailer } from './field-names.ts'
import { beginFields, Fields, fieldName, lineOf, readFields, rejectText } from './fields.ts'
import { reject } from './rejections.ts'

export interface BodyLimits {
  /** Bytes of chunk extensions in one body; the gateway ignores and drops them. */
  readonly extensions: number
  /** Bytes of the trailer section. */
  readonly trailers: number
  readonly trailerFields: number
}

export const BODY_LIMITS: BodyLimits = { extensions: 4_096, trailers: 8_192, trailerFields: 32 }

/** The states of the reader. */
const IN_SIZE = 0
const IN_EXTENSION = 1
const SIZE_LF = 2
const IN_DATA = 3
const DATA_CR = 4
const DATA_LF = 5
const AT_TRAILERS = 6
const IN_TRAILERS = 7
const LAST_LF = 8
const DONE = 9

export class ChunkReader {
  /** The result of the last call: data, or with `asWire` bytes to be forwarded as they are. */
  from = 0
  to = 0
  isDone = false
  /** Whether ranges include the framing, without what must not be forwarded. */
  asWire = false
  state: number = IN_SIZE
  /** Of the chunk: its size while it is being parsed, then the remaining bytes. */
  size = 0
  digits = 0
  /** Bytes of data so far. */
  byteCount = 0
  /** Bytes of extensions so far, and the state within an extension. */
  extensions = 0
  extension: number = AT_NAME
  /** The trailer section, if there is one, with forbidden fields hidden. */
  trailers: Fields | undefined = undefined
  section: Buffer | undefined = undefined
  held = 0
}

export function beginChunks(reader: ChunkReader, asWire: boolean): void {
  reader.from = 0
  reader.to = 0
  reader.isDone = false
  reader.asWire = asWire
  reader.state = IN_SIZE
  reader.size = 0
  reader.digits = 0
  reader.byteCount = 0
  reader.extensions = 0
  reader.trailers = undefined
  reader.section = undefined
  reader.held = 0
}

/**
 * Continues reading at `at`. Returns the offset that it reached, with the range that it found, or a
 * rejection. Call it until it reaches the end or is done.
 */
export function readChunks(
  reader: ChunkReader,
  bytes: Buffer,
  start: number,
  end: number,
  limits: BodyLimits,
): number {
  let at = start
  // The start of the range to be forwarded.
  let from = start
  while (at < end) {
    const byte = bytes[at] as number
    switch (reader.state) {
      case IN_SIZE: {
        const digit = HEX_VALUE[byte] as number
        if (digit < 16) {
          reader.size = reader.size * 16 + digit
          if (reader.size > Number.MAX_SAFE_INTEGER || ++reader.digits > 16) {
            return reject('chunk-too-large')
          }
        } else if (reader.digits === 0) return rejectText(byte, 'bad-chunk-size')
        else if (byte === CR) reader.state = SIZE_LF
        else if (byte === SEMICOLON) {
          reader.state = IN_EXTENSION
          reader.extension = AT_NAME
          if (reader.asWire) return give(reader, from, at, at + 1)
        } else return rejectText(byte, 'bad-chunk-size')
        at++
        break
      }
      case IN_EXTENSION:
        if (byte === CR && isWhole(reader.extension)) {
          reader.state = SIZE_LF
          from = at
        } else {
          reader.extension = nextOfExtension(reader.extension, byte)
          if (reader.extension === INVALID) return rejectText(byte, 'bad-chunk-extension')
          if (++reader.extensions > limits.extensions) return reject('chunk-extensions-too-large')
          from = at + 1
        }
        at++
        break
      case SIZE_LF:
        if (byte !== LF) return reject('bare-cr')
        reader.state = reader.size === 0 ? AT_TRAILERS : IN_DATA
        at++
        break
      case IN_DATA: {
        const length = Math.min(end - at, reader.size)
        reader.size -= length
        reader.byteCount += length
        if (reader.size === 0) reader.state = DATA_CR
        if (!reader.asWire) return give(reader, at, at + length, at + length)
        at += length
        break
      }
      case DATA_CR:
        if (byte !== CR) return rejectText(byte, 'bad-chunk-end')
        reader.state = DATA_LF
        at++
        break
      case DATA_LF:
        if (byte !== LF) return reject('bare-cr')
        reader.state = IN_SIZE
        reader.digits = 0
        at++
        break
      case AT_TRAILERS:
        if (byte === CR) {
          reader.state = LAST_LF
          at++
          break
        }
        reader.state = IN_TRAILERS
        if (reader.asWire && at > from) return give(reader, from, at, at)
        break
      case IN_TRAILERS:
        at = readTrailers(reader, bytes, at, end, limits)
        return at < 0 ? at : give(reader, at, at, at)
      case LAST_LF:
        if (byte !== LF) return reject('bare-cr')
        finish(reader)
        return give(reader, reader.asWire ? from : at + 1, at + 1, at + 1)
      default:
        return at
    }
  }
  return give(reader, reader.asWire ? from : at, at, at)
}

function give(reader: ChunkReader, from: number, to: number, at: number): number {
  reader.from = from
  reader.to = to
  return at
}

function finish(reader: ChunkReader): void {
  reader.state = DONE
  reader.isDone = true
}

/** The states within an extension: `;name`, `;name=token` or `;name="quoted"`. */
const AT_NAME = 0
const IN_NAME = 1
const AT_VALUE = 2
const IN_VALUE = 3
const IN_QUOTES = 4
const ESCAPED = 5
const BEHIND_QUOTES = 6
const INVALID = 7

function isWhole(extension: number): boolean {
  return extension === IN_NAME || extension === IN_VALUE || extension === BEHIND_QUOTES
}

/** RFC 9112 §7.1.1, without the white space that senders must not generate. */
function nextOfExtension(extension: number, byte: number): number {
  if (byte === SEMICOLON && isWhole(extension)) return AT_NAME
  const isToken = IS_TOKEN[byte] === 1
  const isText = byte < SPACE ? byte === TAB : byte !== DEL
  switch (extension) {
    case AT_NAME:
      return isToken ? IN_NAME : INVALID
    case IN_NAME:
      if (byte === EQUALS) return AT_VALUE
      return isToken ? IN_NAME : INVALID
    case AT_VALUE:
      if (byte === QUOTE) return IN_QUOTES
      return isToken ? IN_VALUE : INVALID
    case IN_VALUE:
      return isToken ? IN_VALUE : INVALID
    case IN_QUOTES:
      if (byte === QUOTE) return BEHIND_QUOTES
      if (byte === BACKSLASH) return ESCAPED
      return isText ? IN_QUOTES : INVALID
    case ESCAPED:
      return isText ? IN_QUOTES : INVALID
    default:
      return INVALID
  }
}

/** Trailer sections are rare and small: they are buffered until they are complete. */
function readTrailers(
  reader: ChunkReader,
  bytes: Buffer,
  at: number,
  end: number,
  limits: BodyLimits,
): number {
  reader.section ??= Buffer.allocUnsafe(limits.trailers)
  if (reader.trailers === undefined) {
    reader.trailers = new Fields()
    beginFields(reader.trailers, 0)
  }
  const before = reader.held
  const held = before + bytes.copy(reader.section, before, at, end)
  const read = readFields(reader.trailers, reader.section, 0, held, limits.trailerFields)
  if (read < 0) return read
  if (read === 0) {
    reader.held = held
    return held === limits.trailers ? reject('trailers-too-large') : end
  }
  reader.trailers.text = reader.section.toString('latin1', 0, read)
  hideForbidden(reader.trailers)
  finish(reader)
  return at + read - before
}

function hideForbidden(trailers: Fields): void {
  for (let i = 0; i < trailers.count; i++) {
    if (isForbiddenTrailer(fieldName(trailers, i).toLowerCase())) trailers.kinds[i] = HIDDEN
  }
}

export const CHUNK_END = '\r\n'
export const LAST_CHUNK = '0\r\n\r\n'

/** The line before the data of a chunk, which must not be empty: an empty chunk is the last one. */
export function chunkHead(size: number): string {
  if (!Number.isSafeInteger(size) || size <= 0) throw new RangeError(`a chunk of ${size} bytes`)
  return `${size.toString(16)}\r\n`
}

const SHORT_CHUNK = 2_048
const CHUNK_END_BYTES = Buffer.from(CHUNK_END)

/**
 * Writes a chunk with its framing. Long data is not copied: copying would be cheap, but allocating
 * the memory for it would keep the garbage collector busy with large bodies.
 */
export function writeChunked(sink: Pick<BodySink, 'write'>, bytes: Buffer): boolean {
  if (bytes.length <= SHORT_CHUNK) return sink.write(chunkOf(bytes))
  const head = sink.write(Buffer.from(chunkHead(bytes.length), 'latin1'))
  const data = sink.write(bytes)
  return sink.write(CHUNK_END_BYTES) && data && head
}

/** The chunk in one buffer. */
function chunkOf(bytes: Buffer): Buffer {
  const head = chunkHead(bytes.length)
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + CHUNK_END.length)
  chunk.write(head, 0, 'latin1')
  bytes.copy(chunk, head.length)
  chunk.write(CHUNK_END, head.length + bytes.length, 'latin1')
  return chunk
}

/**
 * Copies a small chunk with its framing to `out`, to share a write with others. Returns the offset
 * after it, or 0 if there is not enough room.
 */
export function writeChunk(
  out: Buffer,
  at: number,
  data: Buffer,
  from: number,
  to: number,
): number {
  const head = chunkHead(to - from)
  if (out.length - at < head.length + (to - from) + 2) return 0
  let behind = at + out.write(head, at, 'latin1')
  behind += data.copy(out, behind, from, to)
  out[behind] = CR
  out[behind + 1] = LF
  return behind + 2
}

/** A trailer section without its hidden fields, with the empty line that ends the message. */
export function renderTrailers(trailers: Fields): string {
  let text = ''
  for (let i = 0; i < trailers.count; i++) {
    if (trailers.kinds[i] === HIDDEN) continue
    text += trailers.text.substring(lineOf(trailers, i), lineOf(trailers, i + 1))
  }
  return `${text}\r\n`
}
