import { isPlainObject } from './kind.ts'
import { Double, Uint } from './number.ts'
import type { Value } from './value.ts'

const { rawJSON: raw } = JSON as unknown as { rawJSON: (text: string) => unknown }

/**
 * Writes the JSON of a value that `readJson` read or an example holds: every number as exactly the
 * number that it is.
 */
export function exactJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_, member: unknown) => exactNumber(member), indent)
}

/** The same for equal values, in whatever order their members were written. */
export function canonicalExactJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isPlainObject(member as Value) ? sorted(member as object) : exactNumber(member),
  )
}

function sorted(members: object): object {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function exactNumber(member: unknown): unknown {
  if (typeof member === 'bigint') return raw(String(member))
  if (member instanceof Uint) return raw(String(member.value))
  if (member instanceof Double) return exactNumber(member.value)
  // Without a fraction, it would be parsed as an integer, which compares differently.
  if (typeof member === 'number' && isLargeDouble(member)) return raw(`${member}.0`)
  if (member === Infinity || member === -Infinity) return raw(member > 0 ? '1e999' : '-1e999')
  return member
}

function isLargeDouble(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21
}
