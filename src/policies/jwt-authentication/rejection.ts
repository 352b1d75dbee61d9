import type { KeySource } from './keys.ts'

/** Why a token is rejected: a word for metrics and decision records, never for the client. */
export const TOKEN_FAULTS = [
  'missing',
  'repeated',
  'malformed',
  'too-large',
  'unsupported-alg',
  'unsupported-critical',
  'unsupported-type',
  'unsupported-header',
  'missing-kid',
  'unknown-kid',
  'alg-mismatch',
  'keys-unavailable',
  'bad-signature',
  'missing-claim',
  'bad-claim',
  'unsupported-cnf',
  'issuer-mismatch',
  'audience-mismatch',
  'expired',
  'not-yet-valid',
] as const

export type TokenFault = (typeof TOKEN_FAULTS)[number]

export interface Rejection {
  readonly fault: TokenFault
  /** For the log only: it may quote the token. */
  readonly detail: string
  /** Newer keys from it may change the verdict. */
  readonly source: KeySource | undefined
}

export function reject(fault: TokenFault, detail: string, source?: KeySource): Rejection {
  return { fault, detail, source }
}

/** Not for claims, whose names the issuer chooses. */
export function isRejection<T extends object>(value: T | Rejection): value is Rejection {
  return 'fault' in value
}

const MAX_QUOTE = 80

/**
 * Quotes a value from a token for a log line: short, and without characters that could break it.
 */
export function quote(value: unknown): string {
  const text = JSON.stringify(value, plain) ?? String(value)
  return text.length <= MAX_QUOTE ? text : `${text.slice(0, MAX_QUOTE)}…`
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
