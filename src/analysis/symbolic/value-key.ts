import { Cidr } from '../../cel/values/cidr.ts'
import { Duration } from '../../cel/values/duration.ts'
import { Ip } from '../../cel/values/ip.ts'
import { isMap } from '../../cel/values/kind.ts'
import { CelMap } from '../../cel/values/map.ts'
import { Double, Uint } from '../../cel/values/number.ts'
import { Optional } from '../../cel/values/optional.ts'
import { Quantity } from '../../cel/values/quantity.ts'
import { Semver } from '../../cel/values/semver.ts'
import { Timestamp } from '../../cel/values/timestamp.ts'
import { TypeValue } from '../../cel/values/type-value.ts'
import { Url } from '../../cel/values/url.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'

/**
 * A unique key for each constant: two different constants never share one, however long they are.
 * The form shown to readers is truncated, and so cannot distinguish constants.
 */
export function valueKey(value: Value): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? `${value}` : doubleKey(value)
    case 'boolean':
      return `${value}`
    case 'bigint':
      return `${value}`
  }
  if (value === null) return 'null'
  if (Array.isArray(value)) return `[${value.map(valueKey).join()}]`
  if (isMap(value)) return mapKey(value)
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Double) return doubleKey(value.value)
  if (value instanceof Uint8Array) return `bytes ${value.join()}`
  if (value instanceof Ip) return `ip ${value.text}`
  if (value instanceof Cidr) return `cidr ${value.text}`
  if (value instanceof Url) return `url ${JSON.stringify(value.text)}`
  if (value instanceof Semver) return `semver ${JSON.stringify(value.text)}`
  if (value instanceof Quantity) return `quantity ${JSON.stringify(value.text)}`
  if (value instanceof Timestamp) return `timestamp ${value.seconds} ${value.nanos}`
  if (value instanceof Duration) return `duration ${value.total}`
  if (value instanceof TypeValue) return `type ${JSON.stringify(value.name)}`
  if (value instanceof Optional) {
    return value.value === undefined ? 'none' : `some(${valueKey(value.value)})`
  }
  throw new Error('no constant is an object of the host')
}

function doubleKey(value: number): string {
  return Object.is(value, -0) ? 'double -0' : `double ${value}`
}

function mapKey(map: JsonObject | CelMap): string {
  const keys: readonly Value[] = map instanceof CelMap ? [...map.keys()] : Object.keys(map)
  const members = keys.map((key) => {
    const value = map instanceof CelMap ? map.get(key) : map[key as string]
    return `${valueKey(key)}:${value === undefined ? '' : valueKey(value)}`
  })
  return `{${members.join()}}`
}
