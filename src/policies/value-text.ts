import type { Value } from '../cel/index.ts'
import { toJson } from '../cel/values/json-write.ts'
import { isHeaderValue } from '../exchange/header-value.ts'

/**
 * RFC 9110 §5.5: whether a value arrives as it is. It would lose spaces around it, and with them
 * the difference between two names.
 */
export function isFieldValue(text: string): boolean {
  return isHeaderValue(text) && !/^[\t ]|[\t ]$/.test(text)
}

/** The result of an expression as a string: strings unchanged, other values as JSON. */
export function textOf(value: Value | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  const json = toJson(value)
  return typeof json === 'string' ? json : JSON.stringify(json)
}
