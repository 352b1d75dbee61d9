// HOT PATH: one pass over the field lines of a head, no allocation but the text.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-head.plain.ts on any input.
// Liberties: counted loops, a reused table of offsets, long values looked at four octets at a time.

import { COLON, CR, DEL, IS_TOKEN, LF, NUL, SPACE, TAB } from './ascii.ts'
import { HIDDEN, isSameName, KINDS, kindOfName } from './field-names.ts'
import { type RefusalWord, refuse } from './refusals.ts'

/** Offsets of one field in the table: of its name, and of its value without the spaces around. */
const NAME = 0
const NAME_END = 1
const VALUE = 2
const VALUE_END = 3
const STRIDE = 4

/** Where the reader stands. */
const AT_LINE = 0
const IN_NAME = 1
const IN_VALUE = 2

/**
 * The fields of a head or trailer section, as offsets into its text. One object serves message
 * after message; it is valid until the next is read into it, whatever becomes of the bytes.
 */
export class Fields {
  /** The whole head, one character for each octet; set when it is complete. */
  text = ''
  count = 0
  offsets: Int32Array = new Int32Array(32 * STRIDE)
  /** What ./field-names.ts says that each field is. */
  kinds: Uint8Array = new Uint8Array(32)
  /** For each kind its first field, or -1. */
  readonly first: Int16Array = new Int16Array(KINDS).fill(-1)
  /** One bit for each kind that came more than once. */
  repeated = 0
  /** How far the reader has come, from the start of the head. */
  at = 0
  phase: number = AT_LINE
}

/** Before the first line is read, `at` octets behind the start of the head. */
export function beginFields(fields: Fields, at: number): void {
  fields.count = 0
  fields.repeated = 0
  fields.at = at
  fields.phase = AT_LINE
  fields.first.fill(-1)
}

/**
 * Reads field lines and the empty line behind them. Answers the offset behind it, 0 for more
 * bytes, or a refusal. What was read is not read again, even where the bytes have moved meanwhile.
 */
export function readFields(
  fields: Fields,
  bytes: Buffer,
  start: number,
  end: number,
  most: number,
): number {
  let at = start + fields.at
  let phase = fields.phase
  let slot = fields.count * STRIDE
  for (;;) {
    if (phase === AT_LINE) {
      if (at === end) return pause(fields, AT_LINE, at - start)
      const octet = bytes[at]
      if (octet === CR) {
        if (at + 1 === end) return pause(fields, AT_LINE, at - start)
        return bytes[at + 1] === LF ? at + 2 : refuse('bare-cr')
      }
      if (octet === SPACE || octet === TAB) return refuse('obs-fold')
      if (fields.count === most) return refuse('too-many-headers')
      if (slot === fields.offsets.length) grow(fields)
      fields.offsets[slot + NAME] = at - start
      phase = IN_NAME
    }
    const offsets = fields.offsets
    if (phase === IN_NAME) {
      while (at < end && IS_TOKEN[bytes[at] as number] === 1) at++
      if (at === end) return pause(fields, IN_NAME, at - start)
      const name = start + (offsets[slot + NAME] as number)
      if (bytes[at] !== COLON || at === name) return refuseName(bytes[at] as number, at === name)
      offsets[slot + NAME_END] = at - start
      fields.kinds[fields.count] = kindOfName(bytes, name, at)
      at++
      phase = IN_VALUE
    }
    at = endOfText(bytes, at, end)
    if (at === end) return pause(fields, IN_VALUE, at - start)
    if (bytes[at] !== CR) return refuseText(bytes[at] as number, 'bad-header-value')
    if (at + 1 === end) return pause(fields, IN_VALUE, at - start)
    if (bytes[at + 1] !== LF) return refuse('bare-cr')
    let from = start + (offsets[slot + NAME_END] as number) + 1
    let to = at
    while (from < to && isBlank(bytes[from] as number)) from++
    while (to > from && isBlank(bytes[to - 1] as number)) to--
    offsets[slot + VALUE] = from - start
    offsets[slot + VALUE_END] = to - start
    note(fields, fields.kinds[fields.count] as number)
    slot += STRIDE
    at += 2
    phase = AT_LINE
  }
}

function pause(fields: Fields, phase: number, at: number): number {
  fields.phase = phase
  fields.at = at
  return 0
}

function note(fields: Fields, kind: number): void {
  if (kind !== 0) {
    if ((fields.first[kind] as number) < 0) fields.first[kind] = fields.count
    else fields.repeated |= 1 << kind
  }
  fields.count++
}

function grow(fields: Fields): void {
  const { offsets, kinds } = fields
  fields.offsets = new Int32Array(offsets.length * 2)
  fields.offsets.set(offsets)
  fields.kinds = new Uint8Array(kinds.length * 2)
  fields.kinds.set(kinds)
}

function isBlank(octet: number): boolean {
  return octet === SPACE || octet === TAB
}

/** Which refusal the octet is that ended a name too early. */
function refuseName(octet: number, isEmpty: boolean): number {
  if (!isEmpty && isBlank(octet)) return refuse('space-before-colon')
  return refuseText(octet, 'bad-header-name')
}

/** Which refusal an octet is that no text may have. */
export function refuseText(octet: number, otherwise: RefusalWord): number {
  if (octet === NUL) return refuse('nul')
  return refuse(octet === LF ? 'bare-lf' : otherwise)
}

/** Values that are shorter are not worth a view of their buffer. */
const SHORT = 40

/** The first octet that is no `field-vchar`, space or tab (RFC 9110 §5.5), or the end. */
export function endOfText(bytes: Buffer, from: number, end: number): number {
  const near = Math.min(end, from + SHORT)
  let at = from
  for (; at < near; at++) {
    const octet = bytes[at] as number
    if (octet < SPACE ? octet !== TAB : octet === DEL) return at
  }
  return at === end ? at : endOfLongText(bytes, at, end)
}

// A socket's reads mostly share one buffer, and a view of it costs as much as a short head.
let viewed: ArrayBufferLike = new ArrayBuffer(0)
let view: DataView = new DataView(viewed)

function endOfLongText(bytes: Buffer, from: number, end: number): number {
  if (bytes.buffer !== viewed) {
    viewed = bytes.buffer
    view = new DataView(viewed)
  }
  const base = bytes.byteOffset
  const last = base + end - 4
  let at = base + from
  for (;;) {
    while (at <= last) {
      // Seven bits of each octet plus one: controls are below 0x21, and DEL has become 0.
      const word = view.getInt32(at, true)
      const moved = ((word & 0x7f7f7f7f) + 0x01010101) & 0x7f7f7f7f
      const found = (moved - 0x21212121) & ~word & 0x80808080
      if (found !== 0) {
        // A borrow can only spoil the octets behind the first one found.
        at += (31 - Math.clz32(found & -found)) >> 3
        break
      }
      at += 4
    }
    while (at < base + end) {
      const octet = bytes[at - base] as number
      if (octet < SPACE ? octet !== TAB : octet === DEL) return at - base
      at++
      // Past a tab, words are faster again; near the end they no longer fit.
      if (octet === TAB && at <= last) break
    }
    if (at >= base + end) return end
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

/** Where the line of a field begins; for the index behind the last one, where the lines end. */
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

/** Whether the name of a field is `lower` in any case. */
export function hasName(fields: Fields, index: number, lower: string): boolean {
  const slot = index * STRIDE
  const from = fields.offsets[slot + NAME] as number
  return isSameName(fields.text, from, fields.offsets[slot + NAME_END] as number, lower)
}

/** The next field of that name at or behind `from`, or -1; the hidden ones are not found. */
export function findField(fields: Fields, lower: string, from = 0): number {
  for (let i = from; i < fields.count; i++) {
    if (fields.kinds[i] !== HIDDEN && hasName(fields, i, lower)) return i
  }
  return -1
}

/** All values of that name as one: a repeated field never equals its single value. */
export function joinedValue(fields: Fields, lower: string): string | undefined {
  let at = findField(fields, lower)
  if (at < 0) return undefined
  let value = fieldValue(fields, at)
  const between = lower === 'cookie' ? '; ' : ', '
  while ((at = findField(fields, lower, at + 1)) >= 0) value += between + fieldValue(fields, at)
  return value
}
