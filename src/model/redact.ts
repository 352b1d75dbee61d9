import { isSecretRef } from './secret.ts'

/** Replaces hidden values. */
export const HIDDEN = '(secret)'

/** Matches the names of headers and query parameters that carry credentials. */
const CREDENTIAL = /auth|cookie|credential|key|passw|secret|session|signature|token/i

/** Whether a header, parameter or variable carries a credential, judging by its name. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL.test(name)
}

/** Members that map header names to values. */
const HEADER_RECORDS: ReadonlySet<string> = new Set(['headers', 'addRequestHeaders'])

/** What to hide in addition to values that are secret by their place. */
export interface Hiding {
  /** Header names. */
  readonly headers?: readonly string[]
  /** Strings that are hidden wherever they occur. */
  readonly texts?: readonly string[]
}

/**
 * Returns a copy that may be shown to anyone: the content of a Secret is removed, its source stays.
 * Also removed are digests of secrets and keys, which would allow guesses to be checked, values
 * that are set or matched for credential headers, and lines of files.
 */
export function redact<T>(value: T, { headers = [], texts = [] }: Hiding = {}): T {
  const own = new Set(headers.map((name) => name.toLowerCase()))
  return shown(value, {
    isCredential: (name) => CREDENTIAL.test(name) || own.has(name.toLowerCase()),
    isSecret: (text) => texts.some((secret) => text.includes(secret)),
  }) as T
}

/** Shorter strings occur in ordinary words. */
const MIN_SECRET = 6

/** The values of environment variables that are credentials, judging by their names. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>) {
  return Object.entries(environment).flatMap(([name, value = '']) =>
    CREDENTIAL.test(name) && value.length >= MIN_SECRET ? [value] : [],
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
