/**
 * Values as JSON and back, also those that JSON cannot say: `undefined`, NaN, -0, big integers,
 * bytes, maps. They become objects with the key `$`.
 */

export type Stored =
  | null
  | boolean
  | number
  | string
  | readonly Stored[]
  | { readonly [key: string]: Stored }

/** A value that only a seed can draw again: a function, an instance of a class, a cycle. */
export class NotStorable extends Error {}

const MAX_DEPTH = 200

const tagged = (kind: string, value: Stored): Stored => ({ $: kind, value })

export function toStored(value: unknown, depth = 0): Stored {
  if (depth > MAX_DEPTH) throw new NotStorable('nested too deeply')
  const inner = (item: unknown) => toStored(item, depth + 1)
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (value === undefined) return { $: 'undefined' }
  if (typeof value === 'bigint') return tagged('bigint', String(value))
  if (typeof value === 'number') {
    if (Number.isFinite(value) && !Object.is(value, -0)) return value
    return tagged('number', Object.is(value, -0) ? '-0' : String(value))
  }
  if (typeof value !== 'object') throw new NotStorable(`a ${typeof value}`)
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length) throw new NotStorable('an array with holes')
    return value.map(inner)
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Buffer.prototype || prototype === Uint8Array.prototype) {
    const kind = prototype === Buffer.prototype ? 'buffer' : 'bytes'
    return tagged(kind, Buffer.from(value as Uint8Array).toString('base64'))
  }
  if (prototype === Map.prototype)
    return tagged('map', inner([...(value as Map<unknown, unknown>)]))
  if (prototype === Set.prototype) return tagged('set', inner([...(value as Set<unknown>)]))
  if (prototype !== Object.prototype && prototype !== null) {
    throw new NotStorable(`an instance of ${(value as object).constructor?.name}`)
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw new NotStorable('a symbol as a key')
  const entries = Object.entries(value)
  const own = Object.fromEntries(entries.map(([key, item]) => [key, inner(item)]))
  if (prototype === null) return tagged('bare', own)
  return Object.hasOwn(value, '$') ? tagged('object', Object.entries(own)) : own
}

export function fromStored(stored: Stored): unknown {
  if (typeof stored !== 'object' || stored === null) return stored
  if (Array.isArray(stored)) return stored.map(fromStored)
  const { $: kind, value } = stored as { readonly $?: string; readonly value: never }
  switch (kind) {
    case undefined:
      return fields(stored as { readonly [key: string]: Stored })
    case 'undefined':
      return undefined
    case 'bigint':
      return BigInt(value)
    case 'number':
      return Number(value)
    case 'buffer':
      return Buffer.from(value, 'base64')
    case 'bytes':
      return Uint8Array.from(Buffer.from(value, 'base64'))
    case 'map':
      return new Map(fromStored(value) as [])
    case 'set':
      return new Set(fromStored(value) as [])
    case 'bare':
      return Object.setPrototypeOf(fields(value), null)
    case 'object':
      return fields(Object.fromEntries(value))
    default:
      throw new RangeError(`unknown kind of stored value: ${kind}`)
  }
}

function fields(stored: { readonly [key: string]: Stored }): object {
  return Object.fromEntries(Object.entries(stored).map(([key, item]) => [key, fromStored(item)]))
}
