import { equals } from '../values/equal.ts'
import { fail } from '../values/failure.ts'
import { charge } from '../values/fuel.ts'
import { isPlainObject, keysOf } from '../values/kind.ts'
import { CelMap } from '../values/map.ts'
import { Double, isInt, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { Struct } from '../values/struct.ts'
import { codePointLength } from '../values/text.ts'
import { holdsText, isAmong } from '../values/text-search.ts'
import type { Value } from '../values/value.ts'

// Member access. Plain objects expose only their own keys, and structs only their declared fields,
// so names that JavaScript defines everywhere (`constructor`, `__proto__`, `length`) mean nothing.

/** `value.field`. On an optional, returns an optional: none if the field is absent. */
export function select(value: Value, field: string): Value | undefined {
  if (isPlainObject(value)) {
    const member = Object.hasOwn(value, field) ? value[field] : undefined
    return member === undefined ? fail('no such key', field) : member
  }
  if (value instanceof CelMap) {
    const member = value.get(field)
    return member === undefined ? fail('no such key', field) : member
  }
  if (value instanceof Struct) {
    if (!value.fieldNames.has(field)) return fail('no such field', field)
    const attribute = attributeOf(value, field)
    return attribute === undefined ? fail('not set', field) : attribute
  }
  return value instanceof Optional ? optionalSelect(value, field) : fail('no such overload')
}

/** `has(value.field)`: an error if the type of the value has no fields. */
export function hasField(value: Value, field: string): boolean | undefined {
  if (isPlainObject(value)) return Object.hasOwn(value, field) && value[field] !== undefined
  if (value instanceof CelMap) return value.get(field) !== undefined
  if (value instanceof Struct) {
    return value.fieldNames.has(field)
      ? attributeOf(value, field) !== undefined
      : fail('no such field', field)
  }
  if (value instanceof Optional) return value.value !== undefined && hasField(value.value, field)
  return fail('no such overload')
}

/** `value.?field`: none if the field is absent. */
export function optionalSelect(value: Value, field: string): Optional | undefined {
  const owner = value instanceof Optional ? value.value : value
  if (owner === undefined) return Optional.none
  const present = hasField(owner, field)
  if (present === undefined) return undefined
  return present ? new Optional(select(owner, field)) : Optional.none
}

/** `value[key]`: lists are indexed by a whole number of any numeric type, maps by their keys. */
export function index(value: Value, key: Value): Value | undefined {
  if (Array.isArray(value)) {
    const at = positionOf(key)
    if (at === undefined) return fail('invalid index', key)
    const element = at >= 0 && at < value.length ? value[at] : undefined
    return element === undefined ? fail('index out of range', key) : element
  }
  if (isPlainObject(value)) {
    return typeof key === 'string' ? select(value, key) : fail('no such key', key)
  }
  if (value instanceof CelMap) {
    const member = value.get(key)
    return member === undefined ? fail('no such key', key) : member
  }
  return value instanceof Optional ? optionalIndex(value, key) : fail('no such overload')
}

/** `value[?key]`: none if the key is absent or the index is out of range. */
export function optionalIndex(value: Value, key: Value): Optional | undefined {
  const owner = value instanceof Optional ? value.value : value
  if (owner === undefined) return Optional.none
  if (Array.isArray(owner)) {
    const at = positionOf(key)
    if (at === undefined) return fail('invalid index', key)
    return at >= 0 && at < owner.length ? new Optional(owner[at]) : Optional.none
  }
  if (!isPlainObject(owner) && !(owner instanceof CelMap)) return fail('no such overload')
  const member = index(owner, key)
  return member === undefined ? Optional.none : new Optional(member)
}

/** `value in container`: an element of a list, a key of a map. */
export function isIn(value: Value, container: Value): boolean | undefined {
  if (Array.isArray(container)) return isElement(value, container)
  if (isPlainObject(container)) {
    return typeof value === 'string' && Object.hasOwn(container, value)
  }
  if (container instanceof CelMap) return container.get(value) !== undefined
  return fail('no such overload')
}

/** `value.contains(part)`: a substring of a string, an element of a list, or a key of a map. */
export function holds(value: Value, part: Value): boolean | undefined {
  if (typeof value !== 'string') return isIn(part, value)
  return typeof part === 'string' ? holdsText(value, part) : fail('no such overload')
}

/** `size(value)`: code points, bytes, elements or entries. */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === 'string') return sizeOfText(value)
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length
  if (isPlainObject(value)) return keysOf(value).length
  return value instanceof CelMap ? value.size : fail('no such overload')
}

export function sizeOfText(text: string): number {
  charge(text.length >> 5)
  return codePointLength(text)
}

function attributeOf(struct: Struct, field: string): Value | undefined {
  return (struct as unknown as { readonly [name: string]: Value | undefined })[field]
}

/** Charges fuel because loops can search the same lists again and again. */
function isElement(value: Value, list: readonly Value[]): boolean {
  charge(list.length >> 1)
  if (typeof value === 'string' && isAmong(value, list)) return true
  for (let i = 0; i < list.length; i++) {
    const element = list[i] as Value
    if (typeof element !== 'string' || typeof value !== 'string') {
      if (equals(value, element)) return true
    }
  }
  return false
}

/** The list index that a number denotes: 1, 1u and 1.0 are equivalent. */
function positionOf(key: Value): number | undefined {
  if (isInt(key)) return Number(key)
  if (key instanceof Uint) return Number(key.value)
  return key instanceof Double ? key.value : undefined
}
