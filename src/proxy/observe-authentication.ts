import type { Exchange } from '../exchange/exchange.ts'
import type { CompileDeps } from '../program/compile-deps.ts'
import { keptFigures } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import {
  authenticationFailures,
  jwksAge,
  jwksRefreshes,
  tokenCacheEntries,
  tokenCacheLookups,
} from '../telemetry/definitions/authorization.ts'
import { rateLimitKeys } from '../telemetry/definitions/limits.ts'
import { mcpProcesses } from '../telemetry/definitions/mcp.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** Reports on the keys and tokens of authentication. */
export function authenticationDeps(
  metrics: Metrics,
  log: Logger,
): NonNullable<CompileDeps['policyDeps']> {
  const lookups = metrics.counter(tokenCacheLookups).of({})
  const hit = lookups.at('hit')
  const miss = lookups.at('miss')
  const refreshes = metrics.counter(jwksRefreshes)
  return {
    tokenLookedUp: (isKnown) => (isKnown ? hit : miss).inc(),
    refreshed: (provider, { outcome, trigger, detail }) => {
      refreshes.of({ provider }).at(outcome, trigger).inc()
      if (outcome === 'changed' || outcome === 'unchanged') return
      // Earlier keys stay in use: operators should look into it, but nothing is broken.
      log.warn('keys', { provider, error: outcome, detail })
    },
  }
}

/** Called before metrics are read. */
export function countKept(metrics: Metrics, program: Program | undefined): void {
  const { remembered, ages, keys, processes } = keptFigures(program)
  metrics.gauge(tokenCacheEntries).of({}).at().set(remembered)
  const limited = metrics.gauge(rateLimitKeys)
  limited.clear()
  for (const [policy, count] of keys) limited.of({ policy }).at().set(count)
  const running = metrics.gauge(mcpProcesses)
  running.clear()
  for (const [target, count] of processes) running.of({ target }).at().set(count)
  for (const [provider, seconds] of ages) metrics.gauge(jwksAge).of({ provider }).at().set(seconds)
}

/** Counts a request that failed authentication. */
export function countRejection(metrics: Metrics, { rejection }: Exchange): void {
  if (rejection === undefined || rejection.method === 'csrf') return
  const { by, method, fault } = rejection
  metrics
    .counter(authenticationFailures)
    .of({ policy: by.policy })
    .at(method, fault as 'missing')
    .inc()
}
