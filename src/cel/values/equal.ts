import { Cidr } from './cidr.ts'
import { Duration } from './duration.ts'
import { afford } from './fuel.ts'
import { Ip, parseIp } from './ip.ts'
import { isMap } from './kind.ts'
import { CelMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { Quantity } from './quantity.ts'
import { Semver } from './semver.ts'
import { isSameText } from './text-search.ts'
import { Timestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { Url } from './url.ts'
import type { JsonObject, Value } from './value.ts'

/**
 * CEL's `==`, which is never an error. Values of different types differ, except for numbers, which
 * are equal if they are the same number (1, 1u and 1.0), and for an address and its string form.
 * NaN equals nothing; structs equal only themselves.
 */
export function equals(a: Value, b: Value): boolean {
  return equalsAt(a, b, 0)
}

// Deeper values are never legitimate (readJson rejects them): they are unequal.
const MAX_DEPTH = 500

function equalsAt(a: Value, b: Value, depth: number): boolean {
  switch (typeof a) {
    case 'string':
      return typeof b === 'string' ? isSameText(a, b) : b instanceof Ip && isTextOf(a, b)
    case 'number':
      return typeof b === 'number' ? a === b : isSameNumber(a, b)
    case 'boolean':
      return a === b
    case 'bigint':
      return isSameNumber(a, b)
  }
  if (a === null || b === null) return a === b
  if (Array.isArray(a)) return Array.isArray(b) && areSameLists(a, b, depth)
  if (isMap(a)) return isMap(b) && areSameMaps(a, b, depth)
  if (a instanceof Ip)
    return typeof b === 'string' ? isTextOf(b, a) : b instanceof Ip && a.equals(b)
  if (a instanceof Uint) return isSameNumber(a.value, b)
  if (a instanceof Double) return isSameNumber(a.value, b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && areSameBytes(a, b)
  if (a instanceof Timestamp) return b instanceof Timestamp && a.compare(b) === 0
  if (a instanceof Duration) return b instanceof Duration && a.compare(b) === 0
  if (a instanceof Cidr) return b instanceof Cidr && a.equals(b)
  if (a instanceof Quantity) return b instanceof Quantity && a.equals(b)
  if (a instanceof Semver) return b instanceof Semver && a.compare(b) === 0
  if (a instanceof Url) return b instanceof Url && isSameText(a.text, b.text)
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof Optional) return b instanceof Optional && areSameOptionals(a, b, depth)
  return a === b
}

function isTextOf(text: string, ip: Ip): boolean {
  if (text === ip.text) return true
  // Only IPv6 has other spellings of the same address.
  if (ip.family === 4) return false
  const parsed = parseIp(text)
  return parsed?.equals(ip) ?? false
}

function isSameNumber(a: number | bigint, b: Value): boolean {
  const other = b instanceof Uint || b instanceof Double ? b.value : b
  if (typeof other === typeof a) return a === other
  if (typeof a === 'number' && typeof other === 'bigint') return isInteger(a, other)
  if (typeof a === 'bigint' && typeof other === 'number') return isInteger(other, a)
  return false
}

function isInteger(value: number, integer: bigint): boolean {
  return Number.isInteger(value) && BigInt(value) === integer
}

function areSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  if (!afford(a.length >> 2)) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

function areSameLists(a: readonly Value[], b: readonly Value[], depth: number): boolean {
  if (a.length !== b.length || depth === MAX_DEPTH) return false
  if (!afford(2 + 5 * a.length)) return false
  for (let i = 0; i < a.length; i++) {
    if (!equalsAt(a[i] as Value, b[i] as Value, depth + 1)) return false
  }
  return true
}

function areSameOptionals(a: Optional, b: Optional, depth: number): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return depth !== MAX_DEPTH && equalsAt(a.value, b.value, depth + 1)
}

function areSameMaps(a: JsonObject | CelMap, b: JsonObject | CelMap, depth: number): boolean {
  const keys = keysOf(a)
  if (keys.length !== sizeOf(b) || depth === MAX_DEPTH) return false
  if (!afford(2 + (keys.length > 64 ? 16 : 5) * keys.length)) return false
  for (const key of keys) {
    const own = valueAt(a, key)
    const other = valueAt(b, key)
    if (own === undefined || other === undefined) return false
    if (!equalsAt(own, other, depth + 1)) return false
  }
  return true
}

function keysOf(map: JsonObject | CelMap): readonly Value[] {
  return map instanceof CelMap ? [...map.keys()] : Object.keys(map)
}

function sizeOf(map: JsonObject | CelMap): number {
  return map instanceof CelMap ? map.size : Object.keys(map).length
}

function valueAt(map: JsonObject | CelMap, key: Value): Value | undefined {
  if (map instanceof CelMap) return map.get(key)
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined
}
