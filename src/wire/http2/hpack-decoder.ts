// HOT PATH: decodes HPACK header blocks (RFC 7541) into HTTP/1.1 lines.
// Guarded by bench/proxy.ts. Liberties: the dynamic table is bytes and numbers, no object for each
// field; its fields were checked on insertion, and are only copied afterwards.

import { COLON, CR, IS_TEXT, IS_TOKEN, LF, SPACE, TAB } from '../http1/ascii.ts'
import { rejectText } from '../http1/fields.ts'
import { reject } from '../http1/rejections.ts'
import { beginBlock, type FieldBlock, makeRoom, noteField } from './field-block.ts'
import { FIELD_OVERHEAD, STATIC_FIELDS, staticName, staticValue } from './hpack-static.ts'
import { decodeHuffman } from './huffman.ts'

/** The initial size according to RFC 9113 §6.5.2; the gateway announces no other size. */
export const TABLE_SIZE = 4_096
/** The max number of entries: as many as fit if all are empty. */
const MAX_ENTRIES = TABLE_SIZE / FIELD_OVERHEAD
/** Bytes of a line besides its name and its value. */
const LINE_ENDS = 4
/** Of one entry: the start of its line in the arena, the lengths of name and value, its verdict. */
const STRIDE = 4

/** 1 for each character of a name: RFC 9113 §8.2.1 forbids upper case. */
const IS_NAME: Uint8Array = IS_TOKEN.map((member, byte) =>
  byte >= 0x41 && byte <= 0x5a ? 0 : member,
)

/** The lines of the static table, concatenated, and the start of each line. */
const STATIC_OFFSETS: number[] = [0]
const STATIC_LINES: Buffer = Buffer.concat(
  Array.from({ length: STATIC_FIELDS }, (_, i) => {
    const line = Buffer.from(`${staticName(i + 1)}: ${staticValue(i + 1)}\r\n`, 'latin1')
    STATIC_OFFSETS.push((STATIC_OFFSETS[i] as number) + line.length)
    return line
  }),
)
const STATIC_NAMES: Uint8Array = Uint8Array.from({ length: STATIC_FIELDS + 1 }, (_, i) =>
  i === 0 ? 0 : staticName(i).length,
)

const NO_BYTES = Buffer.alloc(0)

/** Decodes the header blocks of one direction of one connection, in order. */
export class HpackDecoder {
  readonly #maxSize: number
  /** Lines of the dynamic table; the oldest first. */
  #arena: Buffer = NO_BYTES
  #arenaEnd = 0
  #entries: Int32Array = NO_ENTRIES
  /** The slot after the newest entry, in a ring. */
  #next = 0
  #count = 0
  #size = 0
  #limit = TABLE_SIZE
  // The current block and the position in it.
  #bytes: Buffer = NO_BYTES
  #at = 0
  #end = 0

  /** Max bytes of fields per block, as HPACK counts them; further fields are omitted. */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  /**
   * Decodes a whole block. Returns false if it is malformed: then later blocks cannot be decoded
   * either, and RFC 9113 §4.3 requires the connection to end with COMPRESSION_ERROR.
   */
  read(bytes: Buffer, from: number, end: number, block: FieldBlock): boolean {
    beginBlock(block)
    this.#bytes = bytes
    this.#at = from
    this.#end = end
    let isFirst = true
    let isRead = true
    while (isRead && this.#at < end) {
      const byte = bytes[this.#at] as number
      if (byte >= 0x80) isRead = this.#indexed(block)
      else if (byte >= 0x40) isRead = this.#literal(block, 6, true)
      else if (byte >= 0x20) {
        isRead = isFirst && this.#resize()
        continue
      } else isRead = this.#literal(block, 4, false)
      isFirst = false
    }
    this.#bytes = NO_BYTES
    return isRead
  }

  /** An integer with a prefix of so many bits (§5.1), or -1. */
  #integer(bits: number): number {
    const bytes = this.#bytes
    const max = (1 << bits) - 1
    let value = (bytes[this.#at++] as number) & max
    if (value < max) return value
    // 21 bits are more than any valid value needs.
    for (let shift = 0; shift < 21; shift += 7) {
      if (this.#at >= this.#end) return -1
      const byte = bytes[this.#at++] as number
      value += (byte & 127) << shift
      if (byte < 128) return value
    }
    return -1
  }

  #resize(): boolean {
    const limit = this.#integer(5)
    if (limit < 0 || limit > TABLE_SIZE) return false
    this.#limit = limit
    this.#evict(limit)
    return true
  }

  #indexed(block: FieldBlock): boolean {
    const index = this.#integer(7)
    if (index <= 0) return false
    if (index <= STATIC_FIELDS) {
      const from = STATIC_OFFSETS[index - 1] as number
      const name = STATIC_NAMES[index] as number
      const value = (STATIC_OFFSETS[index] as number) - from - name - LINE_ENDS
      this.#copy(block, STATIC_LINES, from, name, value)
      return true
    }
    const slot = this.#slotOf(index)
    if (slot < 0) return false
    const entries = this.#entries
    const verdict = entries[slot + 3] as number
    if (verdict < 0 && block.verdict > 0) block.verdict = verdict
    const [from, name, value] = [entries[slot], entries[slot + 1], entries[slot + 2]]
    this.#copy(block, this.#arena, from as number, name as number, value as number)
    return true
  }

  #copy(block: FieldBlock, lines: Buffer, from: number, name: number, value: number): void {
    if (!this.#hasRoom(block, name, value)) return
    const length = name + value + LINE_ENDS
    makeRoom(block, length)
    const { bytes, length: to } = block
    if (length > 64) lines.copy(bytes, to, from, from + length)
    else for (let i = 0; i < length; i++) bytes[to + i] = lines[from + i] as number
    noteField(block, name, value)
  }

  /** Counts a field, and returns whether it is kept. */
  #hasRoom(block: FieldBlock, name: number, value: number): boolean {
    block.size += name + value + FIELD_OVERHEAD
    if (block.size > this.#maxSize) block.isTooLarge = true
    return !block.isTooLarge
  }

  /** A literal field, perhaps with an indexed name (§6.2). */
  #literal(block: FieldBlock, bits: number, isKept: boolean): boolean {
    const index = this.#integer(bits)
    if (index < 0) return false
    // Written after the other fields, and kept there if there is room.
    const start = block.length
    let verdict = 1
    let nameEnd = -1
    if (index === 0) {
      nameEnd = this.#text(block, start)
      if (nameEnd < 0) return false
      verdict = checkName(block.bytes, start, nameEnd)
    } else {
      nameEnd = this.#nameOf(block, index, start)
      if (nameEnd < 0) return false
    }
    const valueStart = nameEnd + 2
    const end = this.#text(block, valueStart)
    if (end < 0) return false
    const { bytes } = block
    if (verdict > 0) verdict = checkValue(bytes, valueStart, end)
    bytes[nameEnd] = COLON
    bytes[nameEnd + 1] = SPACE
    bytes[end] = CR
    bytes[end + 1] = LF
    if (isKept) this.#insert(bytes, start, nameEnd - start, end - valueStart, verdict)
    if (verdict < 0 && block.verdict > 0) block.verdict = verdict
    if (this.#hasRoom(block, nameEnd - start, end - valueStart))
      noteField(block, nameEnd - start, end - valueStart)
    return true
  }

  #nameOf(block: FieldBlock, index: number, to: number): number {
    let lines = STATIC_LINES
    let from = 0
    let length = 0
    if (index <= STATIC_FIELDS) {
      from = STATIC_OFFSETS[index - 1] as number
      length = STATIC_NAMES[index] as number
    } else {
      const slot = this.#slotOf(index)
      if (slot < 0) return -1
      lines = this.#arena
      from = this.#entries[slot] as number
      length = this.#entries[slot + 1] as number
      // The stored verdict of a field may be about its value, so the name is checked again.
      if ((this.#entries[slot + 3] as number) < 0) {
        const verdict = checkName(lines, from, from + length)
        if (verdict < 0 && block.verdict > 0) block.verdict = verdict
      }
    }
    makeRoom(block, length + 2)
    const { bytes } = block
    for (let i = 0; i < length; i++) bytes[to + i] = lines[from + i] as number
    return to + length
  }

  /** Writes a string (§5.2) to the block at `to`; returns its end, or -1. */
  #text(block: FieldBlock, to: number): number {
    if (this.#at >= this.#end) return -1
    const isCoded = (this.#bytes[this.#at] as number) >= 0x80
    const length = this.#integer(7)
    const from = this.#at
    if (length < 0 || length > this.#end - from) return -1
    this.#at = from + length
    // No code has fewer than five bits; and there is room for the ends of both strings.
    const max = isCoded ? ((length * 8) / 5 + 1) | 0 : length
    makeRoom(block, to - block.length + max + LINE_ENDS)
    const { bytes } = block
    if (isCoded) return decodeHuffman(this.#bytes, from, this.#at, bytes, to)
    const source = this.#bytes
    if (length > 64) source.copy(bytes, to, from, from + length)
    else for (let i = 0; i < length; i++) bytes[to + i] = source[from + i] as number
    return to + length
  }

  /** The slot of an index, or -1. */
  #slotOf(index: number): number {
    const age = index - STATIC_FIELDS
    if (age > this.#count) return -1
    return ((this.#next - age + MAX_ENTRIES) % MAX_ENTRIES) * STRIDE
  }

  /** §4.4: an entry larger than the whole table empties it, and is not an error. */
  #insert(bytes: Buffer, from: number, name: number, value: number, verdict: number): void {
    const size = name + value + FIELD_OVERHEAD
    this.#evict(Math.max(0, this.#limit - size))
    if (size > this.#limit) return
    if (this.#entries.length === 0) this.#entries = new Int32Array(MAX_ENTRIES * STRIDE)
    const length = name + value + LINE_ENDS
    this.#fit(length)
    bytes.copy(this.#arena, this.#arenaEnd, from, from + length)
    const slot = this.#next * STRIDE
    const entries = this.#entries
    entries[slot] = this.#arenaEnd
    entries[slot + 1] = name
    entries[slot + 2] = value
    entries[slot + 3] = verdict
    this.#arenaEnd += length
    this.#next = (this.#next + 1) % MAX_ENTRIES
    this.#count++
    this.#size += size
  }

  /** Evicts the oldest entries until at most `size` is left (§4.3). */
  #evict(size: number): void {
    while (this.#size > size) {
      const slot = this.#slotOf(STATIC_FIELDS + this.#count)
      const entries = this.#entries
      this.#size -= (entries[slot + 1] as number) + (entries[slot + 2] as number) + FIELD_OVERHEAD
      this.#count--
    }
    if (this.#count === 0) this.#arenaEnd = 0
  }

  /** Makes room for a line; live lines move to the front, and the arena gets twice their size. */
  #fit(length: number): void {
    if (this.#arenaEnd + length <= this.#arena.length) return
    const oldest = this.#count === 0 ? -1 : this.#slotOf(STATIC_FIELDS + this.#count)
    const from = oldest < 0 ? 0 : (this.#entries[oldest] as number)
    const live = oldest < 0 ? 0 : this.#arenaEnd - from
    const wanted = (live + length) * 2
    const arena =
      wanted <= this.#arena.length ? this.#arena : Buffer.allocUnsafeSlow(sizeFor(wanted))
    this.#arena.copy(arena, 0, from, from + live)
    for (let age = 1; age <= this.#count; age++) {
      const slot = this.#slotOf(STATIC_FIELDS + age)
      this.#entries[slot] = (this.#entries[slot] as number) - from
    }
    this.#arena = arena
    this.#arenaEnd = live
  }
}

const NO_ENTRIES = new Int32Array(0)

/** Starts small: most connections have a few short fields in their table. */
function sizeFor(byteCount: number): number {
  let size = 512
  while (size < byteCount) size *= 2
  return size
}

/** Returns 1, or the rejection for a name. Pseudo-headers begin with a colon. */
function checkName(bytes: Buffer, from: number, end: number): number {
  const first = bytes[from] === COLON ? from + 1 : from
  if (first === end) return reject('bad-header-name')
  for (let i = first; i < end; i++)
    if (IS_NAME[bytes[i] as number] !== 1) return rejectText(bytes[i] as number, 'bad-header-name')
  return 1
}

/** RFC 9113 §8.2.1: no leading or trailing space or tab. */
function checkValue(bytes: Buffer, from: number, end: number): number {
  if (from === end) return 1
  for (let i = from; i < end; i++) {
    const byte = bytes[i] as number
    if (IS_TEXT[byte] === 1) continue
    if (byte !== CR) return rejectText(byte, 'bad-header-value')
    return reject(i + 1 < end && bytes[i + 1] === LF ? 'bare-lf' : 'bare-cr')
  }
  const isPadded = isBlank(bytes[from] as number) || isBlank(bytes[end - 1] as number)
  return isPadded ? reject('bad-header-value') : 1
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB
}
