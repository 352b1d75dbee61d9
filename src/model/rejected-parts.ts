import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from './model.ts'
import { isWithin, originsIn, ownerOf } from './origins.ts'
import { isDiagnostics, isUserData } from './places.ts'

/** A named part of a Model with errors; what they concern fails closed. */
export interface RejectedPart {
  readonly section: PartSection
  /** Empty if the section is itself one part. */
  readonly name: string
  /** Only errors. */
  readonly diagnostics: readonly Diagnostic[]
}

export type PartSection = keyof Model

const SECTIONS: Readonly<Record<PartSection, true>> = {
  gateways: true,
  routes: true,
  tcpRoutes: true,
  backends: true,
  frontend: true,
  llm: true,
  mcp: true,
  ui: true,
}

/**
 * The parts that errors belong to: those that hold an invalid value, and those that contain the
 * place of an error. An error in a policy of several routes belongs to each of them.
 */
export function rejectedParts(
  model: Model,
  diagnostics: readonly Diagnostic[],
): readonly RejectedPart[] {
  const errors = diagnostics.filter(isError)
  const objects = Map.groupBy(errors, ({ origin }) => ownerOf(origin))
  return (Object.keys(SECTIONS) as PartSection[]).flatMap((section) => {
    const value = model[section]
    if (value === undefined) return []
    const parts =
      section === 'frontend' || !Array.isArray(value) ? [value] : (value as readonly object[])
    return parts.flatMap((part) => {
      const own = heldIn(part)
      // True for nearly all parts, and there may be thousands.
      if (own === NONE && errors.length === 0) return NO_PARTS
      const found = new Set(own)
      if (errors.length > 0) collectAt(part, objects, found)
      const { name = '' } = part as { readonly name?: string }
      return found.size === 0 ? [] : [{ section, name, diagnostics: unique(found) }]
    })
  })
}

const NO_PARTS: readonly RejectedPart[] = []

type Errors = ReadonlyMap<string, readonly Diagnostic[]>

function collectAt(part: object, errors: Errors, found: Set<Diagnostic>): void {
  for (const origin of originsIn(part)) {
    for (const one of errors.get(ownerOf(origin)) ?? []) {
      if (isWithin(one.origin, origin)) found.add(one)
    }
  }
}

const held = new WeakMap<object, ReadonlySet<Diagnostic>>()

/** The diagnostics of invalid values; cached, since consecutive Models share most parts. */
function heldIn(part: object): ReadonlySet<Diagnostic> {
  const known = held.get(part)
  if (known !== undefined) return known
  const found = new Set<Diagnostic>()
  collectHeld(part, found)
  const kept = found.size === 0 ? NONE : found
  held.set(part, kept)
  return kept
}

const NONE: ReadonlySet<Diagnostic> = new Set()

function collectHeld(value: object, found: Set<Diagnostic>): void {
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (typeof member !== 'object' || member === null || isUserData(key)) continue
    if (key === 'diagnostics' && isDiagnostics(member)) {
      for (const one of member) if (isError(one)) found.add(one)
    } else collectHeld(member, found)
  }
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error'
}

/** Diagnostics that a part holds as a value are often reported, too. */
function unique(found: ReadonlySet<Diagnostic>): readonly Diagnostic[] {
  const seen = new Map<string, Diagnostic>()
  for (const one of found) {
    const { code, message, origin } = one
    seen.set(JSON.stringify([code, message, origin]), one)
  }
  return [...seen.values()]
}
