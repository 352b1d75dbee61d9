import type { Origin } from '../diagnostics/diagnostic.ts'
import { isDiagnostics, isOrigin } from './places.ts'

/** The object, or the place in a file, that an origin is in; as a key. */
export function ownerOf(origin: Origin): string {
  if (origin.kind === 'object') return `object ${origin.object}`
  return `file ${origin.line}:${origin.column} ${origin.file}`
}

/** Of two origins with the same owner: whether the first is at the second or below it. */
export function isWithin(inner: Origin, outer: Origin): boolean {
  if (inner.kind === 'file' || outer.kind === 'file') return true
  if (!inner.field.startsWith(outer.field)) return false
  const next = inner.field.charAt(outer.field.length)
  return outer.field === '' || next === '' || next === '.' || next === '['
}

/** Where a thing of the Model, and all that it holds, was written. */
export function* originsIn(value: unknown): Generator<Origin, void> {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (key === 'origin' && isOrigin(member)) yield member
    else if (key !== 'diagnostics' || !isDiagnostics(member)) yield* originsIn(member)
  }
}
