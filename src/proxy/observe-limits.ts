import type { CompileDeps } from '../program/compile-deps.ts'
import { rateLimitDecisions } from '../telemetry/definitions/limits.ts'
import type { Metrics } from '../telemetry/metrics.ts'

type WatchStep = NonNullable<CompileDeps['watchStep']>

/** Counts the decisions of rate limits; other policies are not observed. */
export function rateLimitCounter(
  metrics: Metrics,
  { kind, policy }: Parameters<WatchStep>[0],
): ReturnType<WatchStep> {
  if (kind !== 'localRateLimit' && kind !== 'remoteRateLimit') return undefined
  const decisions = metrics.counter(rateLimitDecisions).of({ policy })
  return (outcome) => decisions.at(outcome === undefined ? 'allowed' : 'limited').inc()
}

/** Waits for a backend, by the detail of the requests that they ended. */
const BACKEND_WAITS = {
  'connect-timeout': 'connect-timeout',
  timeout: 'backend-timeout',
  'response-idle-timeout': 'response-idle-timeout',
  'tunnel-idle-timeout': 'tunnel-idle-timeout',
} as const

/** The limit that a request reached, if any. */
export function limitOf(reason: string, detail: string) {
  if (reason === 'request-timeout') return 'request-timeout'
  if (reason === 'too-large') return detail === 'buffer' ? 'buffer' : 'body-size'
  // It does not read the response.
  if (reason === 'client-gone' && detail === 'timeout') return 'body-timeout'
  if (detail === 'overloaded') return 'upstream-pending'
  if (detail === 'pending-timeout') return 'upstream-connections'
  if (reason === 'upstream-timeout' || reason === 'upstream-connect')
    return BACKEND_WAITS[detail as keyof typeof BACKEND_WAITS]
  return reason === 'body-timeout' || reason === 'overload' ? reason : undefined
}
