import { isPlainObject } from './kind.ts'
import { CelMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { Struct } from './struct.ts'
import { TypeValue } from './type-value.ts'
import type { Value } from './value.ts'
import { isWritten } from './written.ts'

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

/**
 * The JSON of any value, following protobuf's conversion to google.protobuf.Value: ints and uints
 * beyond 2^53 are strings, bytes are base64, timestamps, durations and addresses are their string
 * form, NaN and the infinities are their names. Optionals are what they contain, or null; map keys
 * become strings.
 */
export function toJson(value: Value): Json {
  return convert(value, 0)
}

// Deeper than readJson and expressions create: truncated to protect the stack.
const MAX_DEPTH = 500

function convert(value: Value, depth: number): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return number(value)
    case 'bigint':
      return String(value)
  }
  if (value === null || depth === MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map((element) => convert(element, depth + 1))
  if (isPlainObject(value)) return members(Object.keys(value), (key) => value[key], depth)
  if (value instanceof CelMap) return mapMembers(value, depth)
  if (value instanceof Struct) return members(value.fieldNames, (name) => field(value, name), depth)
  if (value instanceof Uint) return integer(value.value)
  if (value instanceof Double) return value.value
  if (value instanceof Uint8Array) return value.toBase64()
  if (value instanceof Optional) {
    return value.value === undefined ? null : convert(value.value, depth + 1)
  }
  if (value instanceof TypeValue) return value.name
  if (isWritten(value)) return value.text
  return null
}

function number(value: number): Json {
  return Number.isFinite(value) ? value : String(value)
}

function integer(value: bigint): Json {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : String(value)
}

/** Members that are not set are omitted. */
function members(
  names: Iterable<string>,
  read: (name: string) => Value | undefined,
  depth: number,
): Json {
  const entries: [string, Json][] = []
  for (const name of names) {
    const member = read(name)
    if (member !== undefined) entries.push([name, convert(member, depth + 1)])
  }
  // fromEntries defines properties, so a member named __proto__ stays a member.
  return Object.fromEntries(entries)
}

function mapMembers(map: CelMap, depth: number): Json {
  const entries: [string, Json][] = []
  for (const key of map.keys()) {
    const member = map.get(key)
    if (member === undefined) continue
    const name = key instanceof Uint ? key.value : key
    entries.push([String(name), convert(member, depth + 1)])
  }
  return Object.fromEntries(entries)
}

function field(struct: Struct, name: string): Value | undefined {
  return (struct as unknown as { readonly [name: string]: Value | undefined })[name]
}
