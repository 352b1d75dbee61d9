import type { Origin } from '../diagnostics/diagnostic.ts'
import { isDiagnostics, isOrigin } from './places.ts'

/** A key for the object, or the place in a file, that an origin is in. */
export function ownerOf(origin: Origin): string {
  if (origin.kind === 'object') return `object ${origin.object}`
  return `file ${origin.line}:${origin.column} ${origin.file}`
}

/** For two origins with the same owner: whether the first is at or below the second. */
export function isWithin(inner: Origin, outer: Origin): boolean {
  if (inner.kind === 'file' || outer.kind === 'file') return true
  if (!inner.field.startsWith(outer.field)) return false
  const next = inner.field.charAt(outer.field.length)
  return outer.field === '' || next === '' || next === '.' || next === '['
}

/** The origins of a thing in a Model and everything in it. */
export function* originsIn(value: unknown): Generator<Origin, void> {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (key === 'origin' && isOrigin(member)) yield member
    else if (key !== 'diagnostics' || !isDiagnostics(member)) yield* originsIn(member)
  }
}
