import type { Diagnostic, FileOrigin, Origin } from '../diagnostics/diagnostic.ts'

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
  if (isFileOrigin(value)) return true
  const { kind, object, field } = value as Fields
  return kind === 'object' && typeof object === 'string' && typeof field === 'string'
}

export function isFileOrigin(value: object): value is FileOrigin {
  const { kind, file, line, column } = value as Fields
  if (kind !== 'file') return false
  return typeof file === 'string' && typeof line === 'number' && typeof column === 'number'
}

export function isDiagnostics(value: unknown): value is readonly Diagnostic[] {
  return Array.isArray(value) && value.every(isDiagnostic)
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== 'object' || value === null) return false
  const { code, severity, message, origin } = value as Fields
  const isSaid = typeof code === 'string' && typeof severity === 'string'
  return isSaid && typeof message === 'string' && isOrigin(origin)
}

type Fields = Readonly<Record<string, unknown>>
