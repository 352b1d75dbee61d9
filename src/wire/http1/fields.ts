// HOT PATH: one pass over the field lines of a head, no allocation except the string.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-head.plain.ts on any input.
// Liberties: counted loops, a reused table of offsets, long values checked eight bytes at a time.

import { COLON, CR, IS_TEXT, IS_TOKEN, LF, NUL, SPACE, TAB } from './ascii.ts'
import { HIDDEN, isSameName, KINDS, kindOfName, PLAIN } from './field-names.ts'
import { type RejectionWord, reject } from './rejections.ts'

/**
 * Offsets of one field in the table: of its name, and of its value without surrounding whitespace.
 */
const NAME = 0
const NAME_END = 1
const VALUE = 2
const VALUE_END = 3
const STRIDE = 4

/** The states of the reader. */
const AT_LINE = 0
const IN_NAME = 1
const IN_VALUE = 2

/**
 * The fields of a head or trailer section, as offsets into its string. One object serves all
 * messages; it is valid until the next message is read into it, even if the bytes are overwritten.
 */
export class Fields {
  /** The whole head, one character for each byte; set when it is complete. */
  text = ''
  count = 0
  offsets: Int32Array
  /** The kind of each field, see ./field-names.ts. */
  kinds: Uint8Array
  /** One bit for each kind that is present, and for each that is repeated. */
  seen = 0
  repeated = 0
  /** The first field of each kind that is present. */
  readonly first: Int16Array = new Int16Array(KINDS)
  /** The position of the reader, relative to the start of the head. */
  at = 0
  phase: number = AT_LINE

  /** `room`: initial capacity in fields; it grows. Trailers are few, and small tables are cheap. */
  constructor(room = 32) {
    this.offsets = new Int32Array(room * STRIDE)
    this.kinds = new Uint8Array(room)
  }
}

/** Called before the first line is read, which begins `at` bytes after the start of the head. */
export function beginFields(fields: Fields, at: number): void {
  fields.count = 0
  fields.seen = 0
  fields.repeated = 0
  fields.at = at
  fields.phase = AT_LINE
}

/** The first field of a kind, or -1. */
export function firstOf(fields: Fields, kind: number): number {
  return (fields.seen & (1 << kind)) === 0 ? -1 : (fields.first[kind] as number)
}

export function isRepeated(fields: Fields, kind: number): boolean {
  return (fields.repeated & (1 << kind)) !== 0
}

/**
 * Reads field lines and the empty line after them. Returns the offset after it, 0 if more bytes are
 * needed, or a rejection. Bytes already read are not read again, even if they have moved.
 */
export function readFields(
  fields: Fields,
  bytes: Buffer,
  start: number,
  end: number,
  max: number,
): number {
  let at = start + fields.at
  if (fields.phase === IN_NAME) {
    at = readName(fields, bytes, start, at, end)
    if (at <= 0) return at
  }
  if (fields.phase === IN_VALUE) {
    at = readValue(fields, bytes, start, at, end)
    if (at <= 0) return at
  }
  for (;;) {
    if (at === end) return pause(fields, AT_LINE, at - start)
    const byte = bytes[at]
    if (byte === CR) {
      if (at + 1 === end) return pause(fields, AT_LINE, at - start)
      return bytes[at + 1] === LF ? at + 2 : reject('bare-cr')
    }
    if (byte === SPACE || byte === TAB) return reject('obs-fold')
    if (fields.count === max) return reject('too-many-headers')
    const slot = fields.count * STRIDE
    if (slot === fields.offsets.length) grow(fields)
    fields.offsets[slot + NAME] = at - start
    at = readName(fields, bytes, start, at, end)
    if (at > 0) at = readValue(fields, bytes, start, at, end)
    if (at <= 0) return at
  }
}

/** Reads up to and including the colon. */
function readName(fields: Fields, bytes: Buffer, start: number, from: number, end: number): number {
  const { offsets, count } = fields
  const slot = count * STRIDE
  let at = from
  while (at < end && IS_TOKEN[bytes[at] as number] === 1) at++
  if (at === end) return pause(fields, IN_NAME, at - start)
  const name = start + (offsets[slot + NAME] as number)
  if (bytes[at] !== COLON || at === name) return rejectName(bytes[at] as number, at === name)
  offsets[slot + NAME_END] = at - start
  fields.kinds[count] = kindOfName(bytes, name, at)
  fields.phase = IN_VALUE
  return at + 1
}

/** Reads up to and including the end of the line; then increments the field count. */
function readValue(
  fields: Fields,
  bytes: Buffer,
  start: number,
  from: number,
  end: number,
): number {
  const { offsets, count } = fields
  const slot = count * STRIDE
  const at = endOfText(bytes, from, end)
  if (at === end) return pause(fields, IN_VALUE, at - start)
  if (bytes[at] !== CR) return rejectText(bytes[at] as number, 'bad-header-value')
  if (at + 1 === end) return pause(fields, IN_VALUE, at - start)
  if (bytes[at + 1] !== LF) return reject('bare-cr')
  let value = start + (offsets[slot + NAME_END] as number) + 1
  let valueEnd = at
  while (value < valueEnd && isBlank(bytes[value] as number)) value++
  while (valueEnd > value && isBlank(bytes[valueEnd - 1] as number)) valueEnd--
  offsets[slot + VALUE] = value - start
  offsets[slot + VALUE_END] = valueEnd - start
  const kind = fields.kinds[count] as number
  if (kind !== PLAIN) note(fields, kind)
  fields.count = count + 1
  fields.phase = AT_LINE
  return at + 2
}

function pause(fields: Fields, phase: number, at: number): number {
  fields.phase = phase
  fields.at = at
  return 0
}

function note(fields: Fields, kind: number): void {
  const bit = 1 << kind
  if ((fields.seen & bit) !== 0) fields.repeated |= bit
  else {
    fields.seen |= bit
    fields.first[kind] = fields.count
  }
}

function grow(fields: Fields): void {
  const { offsets, kinds } = fields
  fields.offsets = new Int32Array(offsets.length * 2)
  fields.offsets.set(offsets)
  fields.kinds = new Uint8Array(kinds.length * 2)
  fields.kinds.set(kinds)
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB
}

/** The rejection for the byte that ended a name prematurely. */
function rejectName(byte: number, isEmpty: boolean): number {
  if (!isEmpty && isBlank(byte)) return reject('space-before-colon')
  return rejectText(byte, 'bad-header-name')
}

/** The rejection for a byte that is not allowed in text. */
export function rejectText(byte: number, otherwise: RejectionWord): number {
  if (byte === NUL) return reject('nul')
  return reject(byte === LF ? 'bare-lf' : otherwise)
}

/** Shorter values are not worth a view of their buffer. */
const SHORT = 32

/** Returns the offset of the first byte that is not text, or the end. */
export function endOfText(bytes: Buffer, from: number, end: number): number {
  const near = Math.min(end, from + SHORT)
  let at = from
  while (at < near && IS_TEXT[bytes[at] as number] === 1) at++
  return at < near || at === end ? at : endOfLongText(bytes, at, end)
}

// Reads of a socket may share one buffer, and a view of it costs as much as parsing a short head.
let viewed: ArrayBufferLike = new ArrayBuffer(0)
let view: DataView = new DataView(viewed)

function endOfLongText(bytes: Buffer, from: number, end: number): number {
  if (bytes.buffer !== viewed) {
    viewed = bytes.buffer
    view = new DataView(viewed)
  }
  const base = bytes.byteOffset
  let at = from
  for (;;) {
    // In seven bits plus one, controls are below 0x21 and DEL is 0. A borrow can cause false
    // positives, but only after a byte that is a true positive.
    for (const last = base + end - 8; base + at <= last; at += 8) {
      const a = view.getInt32(base + at, true)
      const b = view.getInt32(base + at + 4, true)
      const belowA = (((a & 0x7f7f7f7f) + 0x01010101) & 0x7f7f7f7f) - 0x21212121
      const belowB = (((b & 0x7f7f7f7f) + 0x01010101) & 0x7f7f7f7f) - 0x21212121
      if ((((belowA & ~a) | (belowB & ~b)) & 0x80808080) !== 0) break
    }
    const next = Math.min(end, at + 8)
    while (at < next && IS_TEXT[bytes[at] as number] === 1) at++
    // A tab ends the word loop, but not the text.
    if (at < next || at === end) return at
  }
}

export function fieldName(fields: Fields, index: number): string {
  const slot = index * STRIDE
  return fields.text.substring(
    fields.offsets[slot + NAME] as number,
    fields.offsets[slot + NAME_END] as number,
  )
}

export function fieldValue(fields: Fields, index: number): string {
  const slot = index * STRIDE
  return fields.text.substring(
    fields.offsets[slot + VALUE] as number,
    fields.offsets[slot + VALUE_END] as number,
  )
}

/** Whether the value of a field equals these bytes; `bytes` must still be those of its head. */
export function hasBytes(
  fields: Fields,
  index: number,
  bytes: Buffer,
  start: number,
  wanted: Uint8Array,
): boolean {
  const slot = index * STRIDE
  const from = fields.offsets[slot + VALUE] as number
  const to = fields.offsets[slot + VALUE_END] as number
  return areBytes(bytes, start + from, start + to, wanted)
}

/** Bytes are much cheaper to compare than characters of strings. */
export function areBytes(bytes: Buffer, from: number, to: number, wanted: Uint8Array): boolean {
  if (to - from !== wanted.length) return false
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false
  return true
}

/** Whether the value of a field equals `lower`, ignoring case. */
export function hasValue(fields: Fields, index: number, lower: string): boolean {
  const slot = index * STRIDE
  const from = fields.offsets[slot + VALUE] as number
  return isSameName(fields.text, from, fields.offsets[slot + VALUE_END] as number, lower)
}

/** The start of a field's line; for the index after the last field, the end of the lines. */
export function lineOf(fields: Fields, index: number): number {
  return index < fields.count
    ? (fields.offsets[index * STRIDE + NAME] as number)
    : fields.text.length - 2
}

export function nameOffset(fields: Fields, index: number): number {
  return fields.offsets[index * STRIDE + NAME] as number
}

export function nameLength(fields: Fields, index: number): number {
  const slot = index * STRIDE
  return (fields.offsets[slot + NAME_END] as number) - (fields.offsets[slot + NAME] as number)
}

/** Whether the name of a field equals `lower`, ignoring case. */
export function hasName(fields: Fields, index: number, lower: string): boolean {
  const slot = index * STRIDE
  const from = fields.offsets[slot + NAME] as number
  return isSameName(fields.text, from, fields.offsets[slot + NAME_END] as number, lower)
}

/** The next field of that name at or after `from`, or -1; hidden fields are skipped. */
export function findField(fields: Fields, lower: string, from = 0): number {
  for (let i = from; i < fields.count; i++) {
    if (fields.kinds[i] !== HIDDEN && hasName(fields, i, lower)) return i
  }
  return -1
}

/** Joins all values of that name: a repeated field never equals its single value. */
export function joinedValue(fields: Fields, lower: string): string | undefined {
  let at = findField(fields, lower)
  if (at < 0) return undefined
  let value = fieldValue(fields, at)
  const between = lower === 'cookie' ? '; ' : ', '
  while ((at = findField(fields, lower, at + 1)) >= 0) value += between + fieldValue(fields, at)
  return value
}
