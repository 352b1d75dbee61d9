import type { Type } from '../check/types.ts'
import { Cidr } from './cidr.ts'
import { Duration } from './duration.ts'
import { charge } from './fuel.ts'
import { Ip } from './ip.ts'
import { CelMap } from './map.ts'
import { Double, isDouble, isInt, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { Quantity } from './quantity.ts'
import { Semver } from './semver.ts'
import { Struct } from './struct.ts'
import { Timestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { Url } from './url.ts'
import type { JsonObject, Value } from './value.ts'

/** The name of the value's type in CEL, which `type(value)` denotes. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'number':
      return Number.isSafeInteger(value) ? 'int' : 'double'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
  }
  if (value === null) return 'null_type'
  if (Array.isArray(value)) return 'list'
  if (isPlainObject(value) || value instanceof CelMap) return 'map'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Struct) return value.structName
  if (value instanceof Uint) return 'uint'
  if (value instanceof Double) return 'double'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof Ip) return 'net.IP'
  if (value instanceof Cidr) return 'net.CIDR'
  if (value instanceof Url) return 'kubernetes.URL'
  if (value instanceof Semver) return 'kubernetes.Semver'
  if (value instanceof Quantity) return 'kubernetes.Quantity'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof TypeValue) return 'type'
  return 'dyn'
}

/** Whether an overload with this parameter accepts the value. Elements are not checked. */
export function accepts(type: Type, value: Value): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'json':
    case 'param':
      return true
    case 'string':
      return typeof value === 'string'
    case 'int':
      return isInt(value)
    case 'uint':
      return value instanceof Uint
    case 'double':
      return isDouble(value)
    case 'bool':
      return typeof value === 'boolean'
    case 'null':
      return value === null
    case 'bytes':
      return value instanceof Uint8Array
    case 'list':
      return Array.isArray(value)
    case 'map':
      return isMap(value)
    case 'timestamp':
      return value instanceof Timestamp
    case 'duration':
      return value instanceof Duration
    case 'ip':
      return value instanceof Ip
    case 'cidr':
      return value instanceof Cidr
    case 'url':
      return value instanceof Url
    case 'semver':
      return value instanceof Semver
    case 'quantity':
      return value instanceof Quantity
    case 'optional':
      return value instanceof Optional
    case 'type':
      return value instanceof TypeValue
    case 'struct':
      return value instanceof Struct && value.structName === type.name
  }
}

/** A map in either representation. */
export function isMap(value: Value): value is JsonObject | CelMap {
  return isPlainObject(value) || value instanceof CelMap
}

/** The member names of an object. If there are many, JavaScript collects them anew each time. */
export function keysOf(map: JsonObject): readonly string[] {
  const keys = Object.keys(map)
  if (keys.length > 64) charge(4 * keys.length)
  return keys
}

/** Objects from JSON, and objects created to look like them; never an instance of a class. */
export function isPlainObject(value: Value): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
