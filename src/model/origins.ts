import type { Origin, Position } from '../diagnostics/diagnostic.ts'
import { isDiagnostics, isOrigin, isUserData } from './places.ts'

/** A key for the object, or the part of a file, that an origin is in. */
export function ownerOf(origin: Origin | Position): string {
  if (origin.kind === 'object') return `object ${origin.object}`
  return origin.kind === 'part' ? `part ${origin.part} ${origin.file}` : `file ${origin.file}`
}

/** For two origins with the same owner: whether the first is at or below the second. */
export function isWithin(inner: Origin | Position, outer: Origin): boolean {
  if (inner.kind === 'file') return false
  if (!inner.field.startsWith(outer.field)) return false
  const next = inner.field.charAt(outer.field.length)
  return outer.field === '' || next === '' || next === '.' || next === '['
}

/** The origins of a thing in a Model and everything in it. */
export function* originsIn(value: unknown): Generator<Origin, void> {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    if (isUserData(key)) continue
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (key === 'origin' && isOrigin(member)) yield member
    else if (key !== 'diagnostics' || !isDiagnostics(member)) yield* originsIn(member)
  }
}
