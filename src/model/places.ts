import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'

/**
 * Whether a member of something in a Model is its origin or its diagnostics, rather than behavior.
 * This depends on the value and not only on the key: users choose the names of headers and of an
 * API key's metadata, and may call one `origin`.
 */
export function isPlace(key: string, member: unknown): boolean {
  if (key === 'origin') return isOrigin(member)
  return key === 'diagnostics' && isDiagnostics(member)
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
