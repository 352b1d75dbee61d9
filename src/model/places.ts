import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'

/**
 * Whether a member of something in a Model is its origin or its diagnostics, rather than behavior;
 * `whole` for what users write, which has no places: they may call a header or a field of an API
 * key's metadata `origin`.
 */
export function isPlace(key: string, member: unknown): boolean | 'whole' {
  if (isUserData(key)) return 'whole'
  if (key === 'origin') return isOrigin(member)
  return key === 'diagnostics' && isDiagnostics(member)
}

/** The values of policies and the options of backends. */
export function isUserData(key: string): boolean {
  return key === 'value' || key === 'options'
}

export function isOrigin(value: unknown): value is Origin {
  if (typeof value !== 'object' || value === null) return false
  const { kind, file, part, object, field } = value as Fields
  if (typeof field !== 'string') return false
  if (kind === 'object') return typeof object === 'string'
  return kind === 'part' && typeof file === 'string' && typeof part === 'string'
}

export function isDiagnostics(value: unknown): value is readonly Diagnostic[] {
  return Array.isArray(value) && value.every(isDiagnostic)
}

export function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== 'object' || value === null) return false
  const { code, severity, message, origin } = value as Fields
  const isSaid = typeof code === 'string' && SEVERITIES.has(severity)
  return isSaid && typeof message === 'string' && isOrigin(origin)
}

const SEVERITIES: ReadonlySet<unknown> = new Set(['error', 'warning', 'info'])

type Fields = Readonly<Record<string, unknown>>
