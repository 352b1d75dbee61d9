import { isSecretRef } from './secret.ts'

/** What stands in place of what is not shown. */
export const HIDDEN = '(secret)'

/** Headers, and parameters of a query, that carry credentials by what they are called. */
const CREDENTIAL = /auth|cookie|credential|key|passw|secret|session|signature|token/i

/** Whether a header, a parameter or a variable carries a credential by what it is called. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL.test(name)
}

/** Mappings from the names of headers to their values. */
const HEADER_RECORDS: ReadonlySet<string> = new Set(['headers', 'addRequestHeaders'])

/** What else is not to be shown, beside what is a secret by its place. */
export interface Hiding {
  /** Names of headers. */
  readonly headers?: readonly string[]
  /** Texts that are hidden wherever they stand. */
  readonly texts?: readonly string[]
}

/**
 * A copy that may be shown to anyone: what a Secret holds is gone, where it came from stays. So are
 * digests of secrets and keys, by which guesses could be checked, values that headers of credentials get or are matched with, and lines of files.
 */
export function redact<T>(value: T, { headers = [], texts = [] }: Hiding = {}): T {
  const own = new Set(headers.map((name) => name.toLowerCase()))
  return shown(value, {
    isCredential: (name) => CREDENTIAL.test(name) || own.has(name.toLowerCase()),
    isSecret: (text) => texts.some((secret) => text.includes(secret)),
  }) as T
}

/** Shorter ones stand in ordinary words. */
const SHORTEST_SECRET = 6

/** Values of environment variables that are credentials by what they are called. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>) {
  return Object.entries(environment).flatMap(([name, value = '']) =>
    CREDENTIAL.test(name) && value.length >= SHORTEST_SECRET ? [value] : [],
  )
}

interface Rules {
  readonly isCredential: (name: string) => boolean
  readonly isSecret: (text: string) => boolean
}

function shown(value: unknown, rules: Rules): unknown {
  if (typeof value === 'string') return rules.isSecret(value) ? HIDDEN : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => shown(item, rules))
  const { name } = value as { readonly name?: unknown }
  const isNamed = typeof name === 'string' && rules.isCredential(name)
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const isText = typeof member === 'string'
    if (key === 'excerpt') continue
    const isHidden =
      key === 'secret' ||
      key === 'keyHash' ||
      (key === 'value' && isNamed) ||
      (key === 'version' && isSecretRef(value))
    if (isText && isHidden) copy[key] = HIDDEN
    else if (HEADER_RECORDS.has(key)) copy[key] = headersShown(member, rules)
    else copy[key] = shown(member, rules)
  }
  return copy
}

function headersShown(headers: unknown, rules: Rules): unknown {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return shown(headers, rules)
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    rules.isCredential(name) ? HIDDEN : shown(value, rules),
  ])
  return Object.fromEntries(entries)
}
