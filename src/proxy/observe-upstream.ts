import {
  upstreamConnectDuration,
  upstreamConnectionFailures,
  upstreamConnections,
  upstreamConnectionsActive,
  upstreamConnectionsIdle,
  upstreamEjections,
  upstreamEndpoints,
  upstreamHealthChecks,
  upstreamHttp2Offences,
  upstreamPending,
} from '../telemetry/definitions/upstream.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ClusterCounts, ClusterObserver } from '../upstream/clusters.ts'
import { failureClass } from '../upstream/connect-failure.ts'

/** Counts what happens between the gateway and one backend. */
export function upstreamObserver(metrics: Metrics, log: Logger, backend: string): ClusterObserver {
  const labels = { backend }
  const opened = metrics.counter(upstreamConnections).of(labels)
  const connect = metrics.histogram(upstreamConnectDuration).of(labels)
  const failures = metrics.counter(upstreamConnectionFailures).of(labels)
  const offences = metrics.counter(upstreamHttp2Offences).of(labels)
  const ejections = metrics.counter(upstreamEjections).of(labels)
  const checks = metrics.counter(upstreamHealthChecks).of(labels)
  return {
    opened: (milliseconds, protocol) => {
      opened.at(protocol ?? 'http1').inc()
      connect.at().observe(milliseconds / 1000)
    },
    closed: () => {},
    failed: (reason) => failures.at(failureClass(reason)).inc(),
    offended: (reason) => {
      offences.at(reason).inc()
      log.warn('http2', { backend, error: 'connection-ended', reason })
    },
    shed: () => {},
    ejected: (_, reason) => ejections.at(reason).inc(),
    restored: () => {},
    checked: (_, outcome) => checks.at(outcome).inc(),
    healthChanged: () => {},
  }
}

/** How things are with a backend now; asked when metrics are read. */
export function recordCounts(metrics: Metrics, backend: string, counts: ClusterCounts): void {
  const labels = { backend }
  metrics
    .gauge(upstreamConnectionsActive)
    .of(labels)
    .at()
    .set(counts.open - counts.idle)
  metrics.gauge(upstreamConnectionsIdle).of(labels).at().set(counts.idle)
  metrics.gauge(upstreamPending).of(labels).at().set(counts.waiting)
  const endpoints = metrics.gauge(upstreamEndpoints).of(labels)
  endpoints.at('healthy').set(counts.healthy)
  endpoints.at('unhealthy').set(counts.unhealthy)
  endpoints.at('ejected').set(counts.ejected)
}
