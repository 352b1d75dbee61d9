/** What decided, as in a record. */
export interface DecidedBy {
  readonly kind: string
  readonly cause: string
  readonly reason?: string | undefined
  readonly rule?: { readonly action: string; readonly index: number } | undefined
}

const CAME_TO = { matched: 'matches', false: 'is false', error: 'is an error', unset: 'is unset' }

/**
 * A decision in short, as in `because` of a test case: `Require[0] is false`, `no Allow matches`,
 * `credentials: expired`, `rate-limit`.
 */
export function becauseOf({ kind, cause, reason, rule }: DecidedBy): string {
  if (kind === 'authentication') return `credentials: ${reason ?? ''}`
  if (kind === 'csrf') return 'another site sent it'
  if (kind === 'rejection') return cause
  if (cause === 'no-allow-match') return 'no Allow matches'
  if (cause === 'no-rules') return 'nothing stands against it'
  if (cause === 'invalid-policy') return 'a policy is invalid'
  const came = CAME_TO[cause as keyof typeof CAME_TO] ?? cause
  return rule === undefined ? came : `${rule.action}[${rule.index}] ${came}`
}
