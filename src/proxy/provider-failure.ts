import { joinedValue } from '../wire/http1/fields.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { RetryReason } from './attempt-outcome.ts'
import type { Failover } from './request-state.ts'

/** Whether another provider may succeed. */
export function isFailure(status: number): boolean {
  return status === 429 || status >= 500
}

/** Max milliseconds for which a provider can request a pause; none requests more than an hour. */
const MAX_REST = 3_600_000

export function restAfter({ fields }: ResponseHead): number {
  const exact = Number.parseFloat(joinedValue(fields, 'retry-after-ms') ?? '')
  if (exact >= 0) return Math.min(exact, MAX_REST)
  const text = (joinedValue(fields, 'retry-after') ?? '').trim()
  // Some providers write fractions of seconds.
  const isSeconds = /^\d+(?:\.\d+)?$/.test(text)
  const wait = isSeconds ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return wait > 0 ? Math.min(wait, MAX_REST) : 0
}

/** Why another provider is tried. */
export function causeOf(reason: RetryReason): Failover['reason'] {
  return reason === 'condition' ? 'status' : reason
}

export function statusCause({ status }: ResponseHead): Failover['reason'] {
  return status === 429 ? 'rate-limited' : 'status'
}

/** Whether the connection or the stream broke; other reasons are invalid responses. */
export function isReset(reason: string): boolean {
  return RESETS.has(reason) || /^E[A-Z]+$/.test(reason)
}

const RESETS: ReadonlySet<string> = new Set(['closed', 'reset', 'goaway', 'refused-stream'])
