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
