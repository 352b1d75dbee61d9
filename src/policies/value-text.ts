import type { Value } from '../cel/index.ts'
import { toJson } from '../cel/values/json-write.ts'

/** What an expression came to, as text: strings as they are, all else as JSON. */
export function textOf(value: Value | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  const json = toJson(value)
  return typeof json === 'string' ? json : JSON.stringify(json)
}
