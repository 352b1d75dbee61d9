import { BYTES, DYN, JSON_VALUE, STRING } from '../check/types.ts'
import { fail, failure } from '../values/failure.ts'
import { afford, charge, MAX_STRING, unreadable } from '../values/fuel.ts'
import { INVALID_JSON, readJson } from '../values/json-read.ts'
import { isPlainObject } from '../values/kind.ts'
import type { Document, Ledger } from '../values/ledger.ts'
import { CelMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { Struct } from '../values/struct.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { isWritten } from '../values/written.ts'
import { defineLibrary, fn, global } from './define.ts'
import { currentLedger, readText } from './read-text.ts'

const METERED = { metered: true } as const

export const JSON_LIBRARY = defineLibrary('json', [
  fn(
    'json',
    global([STRING], JSON_VALUE, read, METERED),
    global([BYTES], JSON_VALUE, readBytes, METERED),
  ),
  fn('toJson', global([DYN], STRING, write, METERED)),
  fn('to_json', global([DYN], STRING, write, METERED)),
])

/** Parses a string once for all rules of a request, whatever the result. */
function read(text: string): Value | undefined {
  const ledger = currentLedger()
  charge(1 + (text.length >> 8))
  return resultOf(ledger.document(text, () => readDocument(text, ledger)))
}

function readBytes(bytes: Uint8Array): Value | undefined {
  const ledger = currentLedger()
  charge(1)
  const document = ledger.document(bytes, () => {
    if (bytes.length > ledger.maxJsonSize) return failed('JSON is too long', bytes.length, true)
    const text = readText(bytes)
    return text === undefined
      ? failed(failure.reason, failure.detail, true)
      : readDocument(text, ledger)
  })
  return resultOf(document)
}

function readDocument(text: string, { reading, maxJsonSize }: Ledger): Document<Value> {
  if (text.length > maxJsonSize) return failed('JSON is too long', text.length, true)
  const value = readJson(text, { duplicates: 'reject', allowance: reading })
  if (value !== undefined) return { value, reason: '', detail: undefined, isOverBound: false }
  // Other parsers accept what this one rejects: duplicate names, and deep or long values.
  return failed(failure.reason, failure.detail, failure.reason !== INVALID_JSON)
}

function failed(reason: string, detail: unknown, isOverBound: boolean): Document<Value> {
  return { value: undefined, reason, detail, isOverBound }
}

function resultOf({ value, reason, detail, isOverBound }: Document<Value>): Value | undefined {
  if (value !== undefined) return value
  return isOverBound ? unreadable(reason, detail) : fail(reason, detail)
}

/**
 * Writes values as they were read: ints of any size as digits, unlike protobuf's JSON
 * (values/json-write.ts), since the text is for the party that sent the number.
 */
function write(value: Value): string | undefined {
  const writer: Writer = { text: '', reason: '' }
  append(writer, value, 0)
  charge(writer.text.length >> 2)
  return writer.reason === '' ? writer.text : fail(writer.reason)
}

interface Writer {
  text: string
  /** Why writing stopped early. */
  reason: string
}

/** The max depth that readJson reads and expressions build. */
const MAX_DEPTH = 200

function append(writer: Writer, value: Value, depth: number): void {
  if (depth > MAX_DEPTH) writer.reason = 'value is nested too deeply'
  if (writer.text.length > MAX_STRING) writer.reason = 'string too long'
  if (!afford(16)) writer.reason = 'value takes too long to encode'
  if (writer.reason !== '') return
  if (Array.isArray(value)) appendList(writer, value, depth)
  else if (isPlainObject(value)) appendMembers(writer, Object.entries(value), depth)
  else if (value instanceof CelMap) appendMembers(writer, entriesOf(value), depth)
  else if (value instanceof Struct) appendMembers(writer, attributesOf(value), depth)
  else if (value instanceof Optional) append(writer, value.value ?? null, depth + 1)
  else writer.text += scalar(value)
}

function appendList(writer: Writer, list: readonly Value[], depth: number): void {
  writer.text += '['
  for (let i = 0; i < list.length && writer.reason === ''; i++) {
    if (i > 0) writer.text += ','
    append(writer, list[i] as Value, depth + 1)
  }
  writer.text += ']'
}

function appendMembers(
  writer: Writer,
  members: Iterable<readonly [string, Value | undefined]>,
  depth: number,
): void {
  writer.text += '{'
  let separator = ''
  for (const [name, value] of members) {
    if (writer.reason !== '') return
    if (value === undefined) continue
    writer.text += `${separator}${JSON.stringify(name)}:`
    append(writer, value, depth + 1)
    separator = ','
  }
  writer.text += '}'
}

function* entriesOf(map: CelMap): Iterable<readonly [string, Value | undefined]> {
  for (const key of map.keys()) {
    yield [String(key instanceof Uint ? key.value : key), map.get(key)]
  }
}

function* attributesOf(struct: Struct): Iterable<readonly [string, Value | undefined]> {
  const attributes = struct as unknown as { readonly [name: string]: Value | undefined }
  for (const name of struct.fieldNames) yield [name, attributes[name]]
}

function scalar(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return number(value)
  if (value instanceof Double) return number(value.value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array) return `"${value.toBase64()}"`
  if (value instanceof TypeValue) return JSON.stringify(value.name)
  if (isWritten(value)) return JSON.stringify(value.text)
  return String(value)
}

/** JSON has no NaN and no infinities: as in protobuf, they are written as their names. */
function number(value: number): string {
  return Number.isFinite(value) ? JSON.stringify(value) : `"${value}"`
}
