import { Cidr } from './cidr.ts'
import { Duration } from './duration.ts'
import { Ip } from './ip.ts'
import { isMap } from './kind.ts'
import { CelMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { Quantity } from './quantity.ts'
import { Semver } from './semver.ts'
import { Struct } from './struct.ts'
import { Timestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { Url } from './url.ts'
import type { JsonObject, Value } from './value.ts'

const MAX_TEXT = 80
const MAX_BYTES = 32
const MAX_MEMBERS = 8
const MAX_DEPTH = 3
const MAX_LENGTH = 400

/**
 * The value in CEL notation, for explanations. Long output is cut with `…`: values come from
 * requests, so what is shown of them is limited whatever their size.
 */
export function show(value: Value): string {
  const text = render(value, 0)
  return text.length > MAX_LENGTH ? `${cut(text, MAX_LENGTH)}…` : text
}

function render(value: Value, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      return Number.isSafeInteger(value) ? String(value) : renderDouble(value)
    case 'boolean':
    case 'bigint':
      return String(value)
  }
  if (value === null) return 'null'
  if (Array.isArray(value)) return renderList(value, depth)
  if (isMap(value)) return renderMap(value, depth)
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Double) return renderDouble(value.value)
  if (value instanceof Uint8Array) return renderBytes(value)
  if (value instanceof Ip) return `ip('${value.text}')`
  if (value instanceof Cidr) return `cidr('${value.text}')`
  if (value instanceof Url) return `url(${quote(value.text)})`
  if (value instanceof Semver) return `semver(${quote(value.text)})`
  if (value instanceof Quantity) return `quantity(${quote(value.text)})`
  if (value instanceof Timestamp) return `timestamp('${value.text}')`
  if (value instanceof Duration) return `duration('${value.text}')`
  if (value instanceof TypeValue) return value.name
  if (value instanceof Struct) return `${value.structName}{…}`
  if (value instanceof Optional) return renderOptional(value, depth)
  return '…'
}

function renderDouble(value: number): string {
  if (Number.isNaN(value)) return "double('NaN')"
  if (!Number.isFinite(value)) return value > 0 ? "double('Infinity')" : "double('-Infinity')"
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

// Control and format characters (including bidirectional marks) would affect the reader's screen.
const UNSEEN = /['\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

function quote(text: string): string {
  const long = text.length > MAX_TEXT
  const shown = (long ? cut(text, MAX_TEXT) : text).replace(UNSEEN, escaped)
  return `'${shown}${long ? '…' : ''}'`
}

function escaped(character: string): string {
  const known = ESCAPES.get(character)
  if (known !== undefined) return known
  const code = (character.codePointAt(0) as number).toString(16)
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`
}

/** Never cuts in the middle of a surrogate pair. */
function cut(text: string, length: number): string {
  const code = text.charCodeAt(length - 1)
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? length - 1 : length)
}

function renderBytes(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, MAX_BYTES), (byte) => {
    const plain = byte >= 32 && byte < 127 && byte !== 39 && byte !== 92
    return plain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
  })
  return `b'${shown.join('')}${bytes.length > MAX_BYTES ? '…' : ''}'`
}

function renderList(list: readonly Value[], depth: number): string {
  if (list.length > 0 && depth === MAX_DEPTH) return '[…]'
  const shown = list.slice(0, MAX_MEMBERS).map((element) => render(element, depth + 1))
  if (list.length > MAX_MEMBERS) shown.push('…')
  return `[${shown.join(', ')}]`
}

function renderMap(map: JsonObject | CelMap, depth: number): string {
  const shown: string[] = []
  for (const key of map instanceof CelMap ? map.keys() : Object.keys(map)) {
    if (depth === MAX_DEPTH || shown.length === MAX_MEMBERS) {
      shown.push('…')
      break
    }
    const value = map instanceof CelMap ? map.get(key) : map[key as string]
    shown.push(`${render(key, depth + 1)}: ${value === undefined ? '…' : render(value, depth + 1)}`)
  }
  return `{${shown.join(', ')}}`
}

function renderOptional({ value }: Optional, depth: number): string {
  if (value === undefined) return 'optional.none()'
  return `optional.of(${depth === MAX_DEPTH ? '…' : render(value, depth + 1)})`
}
