import type {
  Diagnostic,
  Excerpt,
  ObjectOrigin,
  Origin,
  PartOrigin,
  Position,
} from './diagnostic.ts'
import { renderOrigin } from './render.ts'

/**
 * Where the parts of a configuration are in the text of their file. Only the source that has the
 * text knows, and finds it when something is shown.
 */
export interface Places {
  /** Undefined if there is no such part; if there is no such field, the nearest one around it. */
  find(origin: PartOrigin): Position | undefined
  /** The line at the position, with the word that begins there. */
  excerptAt(position: Position): Excerpt | undefined
}

/** Of configurations without files, and of processes that do not read them. */
export const NO_PLACES: Places = { find: () => undefined, excerptAt: () => undefined }

/** A place for users. A part that is not found is named, as an object is. */
export function locate(places: Places, origin: Origin | Position): Located {
  if (origin.kind !== 'part') return origin
  const { file, part, field } = origin
  return places.find(origin) ?? { kind: 'object', object: `${file}: ${part}`, field }
}

export type Located = Position | ObjectOrigin

export function positioned(places: Places, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, origin: locate(places, diagnostic.origin) }
}

/** Diagnostics with their positions, and with the lines that they refer to. */
export function locateAll(
  places: Places,
  diagnostics: readonly Diagnostic[],
): readonly Diagnostic[] {
  return diagnostics.map((diagnostic) => locateDiagnostic(places, diagnostic))
}

export function locateDiagnostic(places: Places, diagnostic: Diagnostic): Diagnostic {
  if (diagnostic.origin.kind !== 'part') return diagnostic
  const { origin, excerpt, ...rest } = positioned(places, diagnostic)
  const line = excerpt ?? (origin.kind === 'file' ? places.excerptAt(origin) : undefined)
  return line === undefined ? { ...rest, origin } : { ...rest, origin, excerpt: line }
}

/** The origin of a field below another one. */
export function originIn(origin: Origin, field: string): Origin {
  return { ...origin, field: joined(origin.field, field) }
}

function joined(outer: string, inner: string): string {
  const joint = inner === '' || inner.startsWith('[') || outer === '' ? '' : '.'
  return `${outer}${joint}${inner}`
}

/** As text that another process, which knows the places, reads with `readOrigin`. */
export function writeOrigin(origin: Origin): string {
  return origin.kind === 'part' ? JSON.stringify(origin) : renderOrigin(origin)
}

/** The origin for users, from the text of a process that does not know its place. */
export function readOrigin(places: Places, written: string): string {
  if (!written.startsWith(WRITTEN)) return written
  return renderOrigin(locate(places, JSON.parse(written) as PartOrigin))
}

const WRITTEN = '{"kind":"part",'
