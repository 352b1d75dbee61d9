import { copyBytes, joinBytes } from './json.ts'

/** One message of AWS's binary event streams (`application/vnd.amazon.eventstream`). */
export interface EventStreamMessage {
  /** Only string headers; the others are not used here. */
  readonly headers: ReadonlyMap<string, string>
  /** A view: valid only until the bytes that it is part of are reused. */
  readonly payload: Uint8Array
}

/** Messages are pieces of text; a longer message is an error. */
const MAX_MESSAGE = 1024 * 1024
/** The total length, the length of the headers, and the checksum of both. */
const PRELUDE = 12
const CHECKSUM = 4
const ENCODER = new TextEncoder()
const DECODER = new TextDecoder('utf-8')

/** Reads messages from bytes that may be split anywhere. A wrong checksum or length ends it. */
export class EventStreamReader {
  problem: string | undefined
  #rest: Uint8Array = new Uint8Array(0)
  /** Pieces of an incomplete message, so that a long one is joined only once. */
  #pieces: Uint8Array[] = []
  #size = 0
  #wanted = PRELUDE

  get isInsideMessage(): boolean {
    return this.#size > 0
  }

  push(bytes: Uint8Array): readonly EventStreamMessage[] {
    const messages: EventStreamMessage[] = []
    if (this.problem !== undefined || bytes.length === 0) return messages
    this.#size += bytes.length
    if (this.#size < this.#wanted) {
      this.#pieces.push(copyBytes(bytes))
      return messages
    }
    this.#rest = joinBytes([...this.#pieces, bytes])
    let at = 0
    for (;;) {
      const left = this.#rest.subarray(at)
      const length = this.#lengthOf(left)
      if (length === undefined || left.length < length) {
        this.#wanted = length ?? PRELUDE
        break
      }
      const message = this.#read(left.subarray(0, length))
      if (message === undefined) break
      messages.push(message)
      at += length
    }
    this.#pieces = at < this.#rest.length ? [copyBytes(this.#rest.subarray(at))] : []
    this.#size = this.#rest.length - at
    this.#rest = new Uint8Array(0)
    return messages
  }

  /** Returns undefined while the prelude is incomplete, or if it is invalid. */
  #lengthOf(bytes: Uint8Array): number | undefined {
    if (bytes.length < PRELUDE || this.problem !== undefined) return undefined
    const view = viewOf(bytes)
    if (crc32(bytes.subarray(0, 8)) !== view.getUint32(8)) {
      this.problem = 'The provider sent a message with an invalid checksum.'
      return undefined
    }
    const length = view.getUint32(0)
    const headers = view.getUint32(4)
    if (length > MAX_MESSAGE || headers + PRELUDE + CHECKSUM > length) {
      this.problem = 'The provider sent a message with an invalid length.'
      return undefined
    }
    return length
  }

  #read(bytes: Uint8Array): EventStreamMessage | undefined {
    const view = viewOf(bytes)
    const end = bytes.length - CHECKSUM
    if (crc32(bytes.subarray(0, end)) !== view.getUint32(end)) {
      this.problem = 'The provider sent a message with an invalid checksum.'
      return undefined
    }
    const headersEnd = PRELUDE + view.getUint32(4)
    const headers = readHeaders(bytes.subarray(PRELUDE, headersEnd))
    if (headers === undefined) {
      this.problem = 'The provider sent a message with malformed headers.'
      return undefined
    }
    return { headers, payload: bytes.subarray(headersEnd, end) }
  }
}

/** Lengths of values by type: bool ×2, byte, short, int, long, (bytes, string), time, UUID. */
const LENGTHS: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]
const STRING = 7

function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>()
  const view = viewOf(bytes)
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] as number)
    if (nameEnd >= bytes.length) return undefined
    const name = DECODER.decode(bytes.subarray(at + 1, nameEnd))
    const type = bytes[nameEnd] as number
    at = nameEnd + 1
    let length = LENGTHS[type]
    if (length === undefined) return undefined
    if (length < 0) {
      if (at + 2 > bytes.length) return undefined
      length = view.getUint16(at)
      at += 2
    }
    if (at + length > bytes.length) return undefined
    if (type === STRING) headers.set(name, DECODER.decode(bytes.subarray(at, at + length)))
    at += length
  }
  return headers
}

/** Writes one message with string headers. */
export function writeEventStream({ headers, payload }: EventStreamMessage): Uint8Array {
  const fields: Uint8Array[] = []
  for (const [name, value] of headers) {
    const nameBytes = ENCODER.encode(name)
    const valueBytes = ENCODER.encode(value)
    const { length } = valueBytes
    fields.push(Uint8Array.of(nameBytes.length), nameBytes)
    fields.push(Uint8Array.of(STRING, length >> 8, length & 0xff), valueBytes)
  }
  const head = joinBytes(fields)
  const end = PRELUDE + head.length + payload.length
  const bytes = new Uint8Array(end + CHECKSUM)
  const view = viewOf(bytes)
  view.setUint32(0, bytes.length)
  view.setUint32(4, head.length)
  view.setUint32(8, crc32(bytes.subarray(0, 8)))
  bytes.set(head, PRELUDE)
  bytes.set(payload, PRELUDE + head.length)
  view.setUint32(end, crc32(bytes.subarray(0, end)))
  return bytes
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value >>> 0
})

/** CRC-32 as in zlib, which is not available in browsers. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (let at = 0; at < bytes.length; at++) {
    crc = (crc >>> 8) ^ (TABLE[(crc ^ (bytes[at] as number)) & 0xff] as number)
  }
  return (crc ^ 0xffffffff) >>> 0
}
