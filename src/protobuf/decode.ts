import { isUtf8 } from 'node:buffer'
import {
  type DescField,
  type DescMessage,
  fromBinary,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'

/** Max depth of nested messages. */
const MAX_DEPTH = 100

/**
 * Decodes a message; `undefined` if the bytes are not one. Fields that the schema does not have are
 * skipped, so that newer peers are understood; everything else is read strictly. The library by
 * itself trusts the schema rather than the wire type of a field, lets a field extend beyond its
 * enclosing message, truncates numbers to the size of their field, and merges duplicates. In a
 * response that decides about a request, each of these is a second way to read the same bytes.
 */
export function decode<Schema extends DescMessage>(
  schema: Schema,
  bytes: Uint8Array,
): MessageShape<Schema> | undefined {
  if (!isMessage(rulesOf(schema), { bytes, at: 0 }, bytes.length, MAX_DEPTH)) return undefined
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false, recursionLimit: MAX_DEPTH })
  } catch {
    return undefined
  }
}

/** The required form of a field's bytes. */
interface FieldRule {
  /** `undefined` for messages. */
  readonly scalar: ScalarType | undefined
  /** The fields of a message. */
  readonly inner: (() => MessageRules) | undefined
  readonly isRepeated: boolean
  /** The field, or the oneof it belongs to, which may occur only once. */
  readonly single: object
}

type MessageRules = ReadonlyMap<number, FieldRule>

const compiled = new WeakMap<DescMessage, MessageRules>()

function rulesOf(schema: DescMessage): MessageRules {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const rules = new Map(schema.fields.map((field) => [field.number, ruleOf(field)]))
  compiled.set(schema, rules)
  return rules
}

function ruleOf(field: DescField): FieldRule {
  const single = field.oneof ?? field
  switch (field.fieldKind) {
    case 'scalar':
      return { scalar: field.scalar, inner: undefined, isRepeated: false, single }
    case 'enum':
      return { scalar: ScalarType.INT32, inner: undefined, isRepeated: false, single }
    case 'message':
      return { ...messageRule(field.message), isRepeated: false, single }
    case 'list':
      return { ...elementRule(field, field.listKind), isRepeated: true, single }
    case 'map': {
      const key = { scalar: field.mapKey, inner: undefined, isRepeated: false, single: {} }
      const value = { ...elementRule(field, field.mapKind), isRepeated: false, single: {} }
      const entry = new Map<number, FieldRule>([
        [1, key],
        [2, value],
      ])
      return { scalar: undefined, inner: () => entry, isRepeated: true, single }
    }
  }
}

function elementRule(
  field: DescField,
  kind: 'scalar' | 'enum' | 'message',
): Pick<FieldRule, 'scalar' | 'inner'> {
  if (kind === 'message' && field.message !== undefined) return messageRule(field.message)
  return { scalar: kind === 'enum' ? ScalarType.INT32 : field.scalar, inner: undefined }
}

/** Read when needed: messages may contain themselves. */
function messageRule(schema: DescMessage): Pick<FieldRule, 'scalar' | 'inner'> {
  return { scalar: undefined, inner: () => rulesOf(schema) }
}

interface Cursor {
  readonly bytes: Uint8Array
  at: number
}

function isMessage(rules: MessageRules, cursor: Cursor, end: number, depth: number): boolean {
  if (depth === 0) return false
  const seen: object[] = []
  while (cursor.at < end) {
    const tag = readVarint(cursor, end)
    // A tag of more than 32 bits, or field 0.
    if (tag === undefined || tag > 0xffffffff || tag < 8) return false
    const wireType = tag % 8
    const rule = rules.get(Math.floor(tag / 8))
    if (rule === undefined) {
      if (!skip(wireType, cursor, end)) return false
      continue
    }
    if (!rule.isRepeated) {
      if (seen.includes(rule.single)) return false
      seen.push(rule.single)
    }
    if (!isField(rule, wireType, cursor, end, depth)) return false
  }
  return true
}

function isField(
  rule: FieldRule,
  wireType: number,
  cursor: Cursor,
  end: number,
  depth: number,
): boolean {
  const { scalar, inner, isRepeated } = rule
  const expected = scalar === undefined ? WireType.LengthDelimited : wireTypeOf(scalar)
  if (wireType !== WireType.LengthDelimited) {
    return wireType === expected && isScalar(scalar as ScalarType, cursor, end)
  }
  const length = readVarint(cursor, end)
  if (length === undefined || length > end - cursor.at) return false
  const innerEnd = cursor.at + length
  if (inner !== undefined) return isMessage(inner(), cursor, innerEnd, depth - 1)
  if (expected !== WireType.LengthDelimited) {
    return isRepeated && isPacked(scalar as ScalarType, cursor, innerEnd)
  }
  const content = cursor.bytes.subarray(cursor.at, innerEnd)
  cursor.at = innerEnd
  return scalar !== ScalarType.STRING || isUtf8(content)
}

function isPacked(scalar: ScalarType, cursor: Cursor, end: number): boolean {
  while (cursor.at < end) if (!isScalar(scalar, cursor, end)) return false
  return true
}

function isScalar(scalar: ScalarType, cursor: Cursor, end: number): boolean {
  const wireType = wireTypeOf(scalar)
  if (wireType !== WireType.Varint) return skip(wireType, cursor, end)
  const value = readVarint(cursor, end)
  if (value === undefined) return false
  switch (scalar) {
    case ScalarType.BOOL:
      return value <= 1
    case ScalarType.UINT32:
    case ScalarType.SINT32:
      return value < 2 ** 32
    case ScalarType.INT32:
      // Negative numbers take all 64 bits. At that size, `value` is rounded to a multiple of 2 **
      // 11.
      return value < 2 ** 31 || value >= 2 ** 64 - 2 ** 31
    default:
      return true
  }
}

function skip(wireType: number, cursor: Cursor, end: number): boolean {
  switch (wireType) {
    case WireType.Varint:
      return readVarint(cursor, end) !== undefined
    case WireType.Bit64:
      return advance(8, cursor, end)
    case WireType.Bit32:
      return advance(4, cursor, end)
    case WireType.LengthDelimited:
      return advance(readVarint(cursor, end) ?? Number.POSITIVE_INFINITY, cursor, end)
    default:
      // Groups, which are obsolete.
      return false
  }
}

function advance(length: number, cursor: Cursor, end: number): boolean {
  if (length > end - cursor.at) return false
  cursor.at += length
  return true
}

/** Inexact beyond 2 ** 53, where only the size matters. `undefined` for more than 64 bits. */
function readVarint(cursor: Cursor, end: number): number | undefined {
  let value = 0
  let factor = 1
  for (let count = 1; cursor.at < end; count++) {
    const byte = cursor.bytes[cursor.at++] as number
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return count === 10 && byte > 1 ? undefined : value
    if (count === 10) return undefined
    factor *= 0x80
  }
  return undefined
}

function wireTypeOf(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}
