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
  // Created with the first connection: of thousands of backends most have none for a long time.
  let connections: ReturnType<typeof countConnections> | undefined
  const counted = () => (connections ??= countConnections(metrics, labels))
  return {
    opened: (milliseconds, protocol) => {
      const { opened, connect } = counted()
      opened.at(protocol ?? 'http1').inc()
      connect.at().observe(milliseconds / 1000)
    },
    closed: () => {},
    failed: (reason) => counted().failures.at(failureClass(reason)).inc(),
    offended: (reason) => {
      metrics.counter(upstreamHttp2Offences).of(labels).at(reason).inc()
      log.warn('http2', { backend, error: 'connection-ended', reason })
    },
    shed: () => {},
    ejected: (_, reason) => metrics.counter(upstreamEjections).of(labels).at(reason).inc(),
    restored: () => {},
    checked: (_, outcome) => metrics.counter(upstreamHealthChecks).of(labels).at(outcome).inc(),
    healthChanged: () => {},
  }
}

function countConnections(metrics: Metrics, labels: { readonly backend: string }) {
  return {
    opened: metrics.counter(upstreamConnections).of(labels),
    connect: metrics.histogram(upstreamConnectDuration).of(labels),
    failures: metrics.counter(upstreamConnectionFailures).of(labels),
  }
}

/** Records the current state of a backend; called when metrics are read. */
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
