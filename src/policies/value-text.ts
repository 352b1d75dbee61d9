import type { Value } from '../cel/index.ts'
import { toJson } from '../cel/values/json-write.ts'

/** RFC 9110 §5.5; rejects values that could inject into a message. */
export function isFieldValue(text: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(text) && text.trim() === text
}

/** The result of an expression as a string: strings unchanged, other values as JSON. */
export function textOf(value: Value | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  const json = toJson(value)
  return typeof json === 'string' ? json : JSON.stringify(json)
}
