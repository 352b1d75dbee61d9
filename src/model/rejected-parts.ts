import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Model } from './model.ts'

/** A named thing of a Model with errors; what these concern fails closed. */
export interface RejectedPart {
  readonly section: PartSection
  /** Of a section that is one part itself, empty. */
  readonly name: string
  /** Errors alone. */
  readonly diagnostics: readonly Diagnostic[]
}

export type PartSection = Exclude<keyof Model, 'settings'>

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
 * The parts that errors belong to: those that hold an invalid value, and those in which the place
 * of an error lies. A policy that several routes have is an error of each of them.
 */
export function rejectedParts(
  model: Model,
  diagnostics: readonly Diagnostic[],
): readonly RejectedPart[] {
  const errors = diagnostics.filter(isError)
  const objects = Map.groupBy(errors, ({ origin }) => ownerOf(origin))
  return (Object.keys(SECTIONS) as PartSection[]).flatMap((section) => {
    const own = model[section]
    if (own === undefined) return []
    const parts = section === 'frontend' || !Array.isArray(own) ? [own] : (own as readonly object[])
    return parts.flatMap((part) => {
      const found = new Set<Diagnostic>()
      collect(part, objects, found)
      const { name = '' } = part as { readonly name?: string }
      return found.size === 0 ? [] : [{ section, name, diagnostics: unique(found) }]
    })
  })
}

type Errors = ReadonlyMap<string, readonly Diagnostic[]>

function collect(value: unknown, errors: Errors, found: Set<Diagnostic>): void {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (key === 'origin' && isOrigin(member)) {
      const near = errors.get(ownerOf(member)) ?? []
      for (const one of near) if (isWithin(one.origin, member)) found.add(one)
    } else if (key === 'diagnostics' && Array.isArray(member)) {
      for (const one of member as readonly Diagnostic[]) if (isError(one)) found.add(one)
    } else collect(member, errors, found)
  }
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error'
}

function isOrigin(value: unknown): value is Origin {
  const { kind } = (value ?? {}) as { readonly kind?: unknown }
  return kind === 'file' || kind === 'object'
}

/** The object, or the place in a file, that an origin is in. */
function ownerOf(origin: Origin): string {
  if (origin.kind === 'object') return `object ${origin.object}`
  return `file ${origin.line}:${origin.column} ${origin.file}`
}

/** Of two origins with the same owner: whether the first is at the second or below it. */
function isWithin(inner: Origin, outer: Origin): boolean {
  if (inner.kind === 'file' || outer.kind === 'file') return true
  if (!inner.field.startsWith(outer.field)) return false
  const next = inner.field.charAt(outer.field.length)
  return outer.field === '' || next === '' || next === '.' || next === '['
}

/** What a part holds as a value is often reported, too. */
function unique(found: ReadonlySet<Diagnostic>): readonly Diagnostic[] {
  const seen = new Map<string, Diagnostic>()
  for (const one of found) {
    const { code, message, origin } = one
    seen.set(JSON.stringify([code, message, origin]), one)
  }
  return [...seen.values()]
}
