// HOT PATH: encodes HPACK header blocks (RFC 7541). Guarded by bench/proxy.ts.
// Liberties: a field that was sent before is found by its whole line, and one byte is written; a
// head that was sent before is found as a whole.

import { type NameSet, NO_NAMES } from '../http1/field-lines.ts'
import { unpadded } from '../http1/padding.ts'
import { TABLE_SIZE } from './hpack-decoder.ts'
import { FIELD_OVERHEAD, indexOfName, indexOfStatus, STATIC_FIELDS } from './hpack-static.ts'
import { encodeHuffman, huffmanLength } from './huffman.ts'

/** Secrets are never indexed, neither here nor by intermediaries (§7.1.3). */
const SECRET: ReadonlySet<string> = new Set([
  'api-key',
  'authorization',
  'cookie',
  'private-token',
  'proxy-authorization',
  'set-cookie',
  'x-access-token',
  'x-amz-security-token',
  'x-api-key',
  'x-auth-token',
  'x-csrf-token',
  'x-goog-api-key',
  'x-vault-token',
  'x-xsrf-token',
])

/** Different in every message: indexing these would only evict other fields. */
const UNLIKE: ReadonlySet<string> = new Set([
  ':path',
  'age',
  'content-length',
  'content-range',
  'etag',
  'expires',
  'grpc-timeout',
  'if-modified-since',
  'if-none-match',
  'last-modified',
  'location',
  'traceparent',
  'tracestate',
  'x-request-id',
])

/** Indices of the static table. */
const GET = 2
const POST = 3
const SLASH = 4
const HTTP = 6
const HTTPS = 7

/** Larger fields would evict too many others; larger blocks are not worth caching. */
const MAX_KEPT = TABLE_SIZE / 8

/** A block that inserted nothing into the table, and the input that it was encoded from. */
class KeptBlock {
  text = ''
  dropped: NameSet = NO_NAMES
  status = 0
  length = 0
  /** The value of `inserted` when the block was encoded. */
  inserted = 0
  size = 0
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(MAX_KEPT)
}

/** Encodes the header blocks of one direction of one connection, in order. */
export class HpackEncoder {
  /** The block, from 0 to `length`. It must be consumed before the next block begins. */
  bytes: Buffer = shared
  length = 0
  /**
   * The entries of the table by their lines; the number of a field counts all insertions before it.
   */
  readonly #places = new Map<string, number>()
  /** The lines of the table and their sizes; the oldest first, from `#oldest` on. */
  #lines: string[] = []
  #sizes: number[] = []
  #oldest = 0
  #inserted = 0
  #size = 0
  #limit = TABLE_SIZE
  /** The smallest limit not yet announced to the peer, or -1. */
  #pendingLimit = -1
  #lastPath = ''
  #kept: KeptBlock | undefined = undefined
  readonly #codes: boolean

  /** `codes`: whether strings are Huffman-coded, for peers where bytes cost more than CPU time. */
  constructor(codes = true) {
    this.#codes = codes
  }

  /** The number of fields ever inserted into the table. */
  get inserted(): number {
    return this.#inserted
  }

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE, up to the gateway's own limit. */
  limitTable(size: number): void {
    const limit = Math.min(size, TABLE_SIZE)
    if (limit === this.#limit) return
    this.#limit = limit
    this.#kept = undefined
    this.#pendingLimit = this.#pendingLimit < 0 ? limit : Math.min(this.#pendingLimit, limit)
    this.#evict(limit)
  }

  begin(): void {
    this.bytes = shared
    this.length = 0
    if (this.#pendingLimit < 0) return
    // §4.2: the smallest size first, since it is what emptied the table.
    if (this.#pendingLimit < this.#limit) this.#integer(0x20, 5, this.#pendingLimit)
    this.#integer(0x20, 5, this.#limit)
    this.#pendingLimit = -1
  }

  /**
   * Writes the cached block if it would be the same now, or else returns false and writes nothing.
   * The block depends on the head without the dropped names, the status and the length.
   */
  repeat(text: string, dropped: NameSet, status: number, length: number): boolean {
    const kept = this.#kept
    if (kept === undefined || kept.inserted !== this.#inserted) return false
    if (kept.status !== status || kept.length !== length) return false
    if (kept.dropped !== dropped || kept.text !== text) return false
    this.begin()
    const { bytes } = this
    for (let i = 0; i < kept.size; i++) bytes[i] = kept.bytes[i] as number
    this.length = kept.size
    return true
  }

  /**
   * Caches the current block. `inserted` is the value from its beginning: fields that the block
   * inserts into the table are encoded differently the next time.
   */
  keep(text: string, dropped: NameSet, status: number, length: number, inserted: number): void {
    if (inserted !== this.#inserted || this.length > MAX_KEPT) return
    this.#kept ??= new KeptBlock()
    const kept = this.#kept
    kept.text = text
    kept.dropped = dropped
    kept.status = status
    kept.length = length
    kept.inserted = inserted
    kept.size = this.length
    this.bytes.copy(kept.bytes, 0, 0, this.length)
  }

  status(status: number): void {
    const index = indexOfStatus(status)
    if (index > 0) this.#integer(0x80, 7, index)
    else this.field(':status', String(status))
  }

  /** The pseudo-headers of a request, except the authority. */
  request(method: string, scheme: 'http' | 'https', path: string): void {
    if (method === 'GET') this.#integer(0x80, 7, GET)
    else if (method === 'POST') this.#integer(0x80, 7, POST)
    else this.field(':method', method)
    this.#integer(0x80, 7, scheme === 'http' ? HTTP : HTTPS)
    if (path === '/') this.#integer(0x80, 7, SLASH)
    else this.#path(path)
  }

  /**
   * APIs have few endpoints that are requested repeatedly: a path that occurs twice in a row is
   * worth a place in the table. Queries vary, and may contain anything.
   */
  #path(path: string): void {
    const line = `:path: ${path}`
    const place = this.#places.get(line)
    if (place !== undefined) {
      this.#integer(0x80, 7, STATIC_FIELDS + this.#inserted - place)
      return
    }
    const isAgain = path === this.#lastPath && !path.includes('?')
    this.#lastPath = path
    this.#literal(line, ':path', path, isAgain)
  }

  /** Writes a field whose name is in lower case. */
  field(name: string, value: string): void {
    this.#write(`${name}: ${value}`, name, value)
  }

  /** Writes `Name: value` with any case of the name and any whitespace around the value. */
  line(line: string): void {
    const place = this.#places.get(line)
    if (place !== undefined) {
      this.#integer(0x80, 7, STATIC_FIELDS + this.#inserted - place)
      return
    }
    const colon = line.indexOf(':')
    this.#literal(line, line.slice(0, colon).toLowerCase(), unpadded(line.slice(colon + 1)))
  }

  #write(line: string, name: string, value: string): void {
    const place = this.#places.get(line)
    if (place === undefined) this.#literal(line, name, value)
    else this.#integer(0x80, 7, STATIC_FIELDS + this.#inserted - place)
  }

  #literal(line: string, name: string, value: string, isLike = !UNLIKE.has(name)): void {
    const size = name.length + value.length + FIELD_OVERHEAD
    const isKept = isLike && size <= Math.min(MAX_KEPT, this.#limit)
    const index = indexOfName(name)
    // Reserves room for the literal form, which is the longest.
    this.#reserve(name.length + value.length + 16)
    if (SECRET.has(name)) this.#integer(0x10, 4, index)
    else if (isKept) this.#integer(0x40, 6, index)
    else this.#integer(0, 4, index)
    if (index === 0) this.#text(name)
    this.#text(value)
    if (isKept && !SECRET.has(name)) this.#insert(line, size)
  }

  #insert(line: string, size: number): void {
    this.#evict(this.#limit - size)
    this.#places.set(line, this.#inserted++)
    this.#lines.push(line)
    this.#sizes.push(size)
    this.#size += size
  }

  #evict(size: number): void {
    while (this.#size > size) {
      const at = this.#oldest++
      const line = this.#lines[at] as string
      this.#size -= this.#sizes[at] as number
      const place = this.#inserted - (this.#lines.length - at)
      if (this.#places.get(line) === place) this.#places.delete(line)
    }
    if (this.#oldest < 128) return
    this.#lines = this.#lines.slice(this.#oldest)
    this.#sizes = this.#sizes.slice(this.#oldest)
    this.#oldest = 0
  }

  #text(text: string): void {
    const coded = this.#codes ? huffmanLength(text) : text.length
    if (coded < text.length) {
      this.#integer(0x80, 7, coded)
      this.length = encodeHuffman(text, this.bytes, this.length)
      return
    }
    this.#integer(0, 7, text.length)
    const { bytes, length } = this
    if (text.length > 32) bytes.write(text, length, 'latin1')
    else for (let i = 0; i < text.length; i++) bytes[length + i] = text.charCodeAt(i)
    this.length = length + text.length
  }

  #integer(flags: number, bits: number, value: number): void {
    this.#reserve(8)
    const { bytes } = this
    const max = (1 << bits) - 1
    if (value < max) {
      bytes[this.length++] = flags | value
      return
    }
    bytes[this.length++] = flags | max
    let rest = value - max
    for (; rest >= 128; rest >>>= 7) bytes[this.length++] = (rest & 127) | 128
    bytes[this.length++] = rest
  }

  #reserve(byteCount: number): void {
    if (this.length + byteCount <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.length + byteCount, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
    shared = larger
  }
}

/** Shared by all connections: a block is written and consumed before the next one begins. */
let shared: Buffer = Buffer.allocUnsafeSlow(4_096)
