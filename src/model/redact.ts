/** What stands in place of what is not shown. */
const HIDDEN = '(secret)'

/** Headers, and parameters of a query, that carry credentials by what they are called. */
const CREDENTIAL = /auth|cookie|credential|key|passw|secret|session|signature|token/i

/** Mappings from the names of headers to their values. */
const HEADER_RECORDS: ReadonlySet<string> = new Set(['headers', 'addRequestHeaders'])

/**
 * A copy that may be shown to anyone: what a Secret holds is gone, where it came from stays. So are
 * digests of keys, values that headers of credentials get or are matched with, and lines of files.
 */
export function redact<T>(value: T, sensitiveHeaders: readonly string[] = []): T {
  const own = new Set(sensitiveHeaders.map((name) => name.toLowerCase()))
  const isCredential = (name: string) => CREDENTIAL.test(name) || own.has(name.toLowerCase())
  return shown(value, isCredential) as T
}

function shown(value: unknown, isCredential: (name: string) => boolean): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => shown(item, isCredential))
  const { name } = value as { readonly name?: unknown }
  const isNamed = typeof name === 'string' && isCredential(name)
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const isText = typeof member === 'string'
    if (key === 'excerpt') continue
    const isHidden = key === 'secret' || key === 'keyHash' || (key === 'value' && isNamed)
    if (isText && isHidden) copy[key] = HIDDEN
    else if (HEADER_RECORDS.has(key)) copy[key] = headersShown(member, isCredential)
    else copy[key] = shown(member, isCredential)
  }
  return copy
}

function headersShown(headers: unknown, isCredential: (name: string) => boolean): unknown {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return shown(headers, isCredential)
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    isCredential(name) ? HIDDEN : shown(value, isCredential),
  ])
  return Object.fromEntries(entries)
}
