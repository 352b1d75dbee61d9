import type { Type } from '../../src/cel/check/types.ts'
import { Cidr } from '../../src/cel/values/cidr.ts'
import { Duration } from '../../src/cel/values/duration.ts'
import { Ip } from '../../src/cel/values/ip.ts'
import { CelMap } from '../../src/cel/values/map.ts'
import { Double, doubleValue, isDouble, Uint } from '../../src/cel/values/number.ts'
import { Optional } from '../../src/cel/values/optional.ts'
import { Quantity } from '../../src/cel/values/quantity.ts'
import { Semver } from '../../src/cel/values/semver.ts'
import { Struct } from '../../src/cel/values/struct.ts'
import { Timestamp } from '../../src/cel/values/timestamp.ts'
import { TypeValue } from '../../src/cel/values/type-value.ts'
import { Url } from '../../src/cel/values/url.ts'
import type { JsonObject, Value } from '../../src/cel/values/value.ts'

/**
 * Returns equal strings exactly for results that a test treats as equal: int, uint and double are
 * distinct, NaN equals NaN, -0.0 differs from 0.0, and maps are unordered. An error is `error`.
 * Values that violate the rules of values/value.ts (a bigint in the safe range, an int -0) are
 * marked so that they differ.
 */
export function canonical(value: Value | undefined): string {
  if (value === undefined) return 'error'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? `${value} (a bigint that is safe)` : `${value}`
  }
  if (isDouble(value)) return canonicalDouble(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0 (as an int)' : `${value}`
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) return `b'${Buffer.from(value).toString('hex')}'`
  if (value instanceof TypeValue) return `type ${value.name}`
  if (value instanceof Optional) {
    return value.value === undefined ? 'optional.none' : `optional(${canonical(value.value)})`
  }
  if (isList(value)) return `[${value.map(canonical).join(', ')}]`
  if (value instanceof CelMap) return canonicalMap([...value.keys()].map((k) => [k, value.get(k)]))
  if (value instanceof Struct) return `struct ${value.structName}`
  if (value instanceof Timestamp) return `timestamp ${value.seconds}s ${value.nanos}ns`
  if (value instanceof Duration) return `duration ${value.total}ns`
  if (value instanceof Ip) return `ip ${value.text}`
  if (value instanceof Cidr) return `cidr ${value.text}`
  if (value instanceof Url) return `url ${value.text}`
  if (value instanceof Semver) return `semver ${value.text}`
  if (value instanceof Quantity) return `quantity ${value.text}`
  return isPlain(value) ? canonicalMap(Object.entries(value)) : `no value of CEL: ${typeof value}`
}

/** The type as cel-go writes it, for comparison with the type that cel-go deduces. */
export function canonicalType(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${canonicalType(type.element)})`
    case 'map':
      return `map(${canonicalType(type.key)}, ${canonicalType(type.value)})`
    case 'optional':
      return `optional_type(${canonicalType(type.element)})`
    case 'type':
      return `type(${canonicalType(type.of)})`
    case 'param':
    case 'struct':
      return type.name
    default:
      return type.kind
  }
}

function canonicalDouble(value: number | Double): string {
  const number = doubleValue(value)
  if (value instanceof Double && !Number.isSafeInteger(number)) return `${number} (boxed)`
  if (Object.is(number, -0)) return '-0.0'
  return Number.isSafeInteger(number) ? `${number}.0` : `${number}`
}

function canonicalMap(entries: readonly (readonly [Value, Value | undefined])[]): string {
  const texts = entries.map(([key, value]) => `${canonical(key)}: ${canonical(value)}`)
  return `{${texts.sort().join(', ')}}`
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

function isPlain(value: Value): value is JsonObject {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
