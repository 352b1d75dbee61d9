/** A copy that may be shown to anyone: what a Secret holds is gone, where it came from stays. */
export function redact<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(redact) as T
  const shown: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    shown[key] = key === 'secret' && typeof member === 'string' ? '(secret)' : redact(member)
  }
  return shown as T
}
