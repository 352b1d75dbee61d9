import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { CONNECT_SECONDS, MANY_SERIES, REQUEST_SECONDS } from './buckets.ts'
import { BACKEND } from './labels.ts'

export const upstreamConnections = defineCounter({
  name: 'portcullis_upstream_connections_total',
  help: 'Connections opened to backends.',
  labels: [BACKEND, label('protocol', 'protocol of the connection', ['http1', 'http2', 'tcp'])],
})

export const upstreamConnectionsActive = defineGauge({
  name: 'portcullis_upstream_connections_active',
  help: 'Backend connections in use.',
  labels: [BACKEND],
})

export const upstreamConnectionsIdle = defineGauge({
  name: 'portcullis_upstream_connections_idle',
  help: 'Idle backend connections that are kept for the next request.',
  labels: [BACKEND],
})

export const upstreamConnectionFailures = defineCounter({
  name: 'portcullis_upstream_connection_failures_total',
  help: 'Backend connections that could not be opened.',
  labels: [
    BACKEND,
    label('reason', 'why', [
      'dns',
      'refused',
      'unreachable',
      'timeout',
      'tls',
      'reset',
      'descriptors',
    ]),
  ],
})

export const upstreamHttp2Offences = defineCounter({
  name: 'portcullis_upstream_http2_offences_total',
  help: 'HTTP/2 connections that were closed because of the behavior of the backend.',
  labels: [
    BACKEND,
    label('reason', 'the behavior', ['protocol', 'control-frames', 'overhead', 'ping-timeout']),
  ],
})

export const upstreamConnectDuration = defineHistogram({
  name: 'portcullis_upstream_connect_duration_seconds',
  help: 'Time to open a connection to a backend, including TLS.',
  labels: [BACKEND],
  unit: 'seconds',
  bounds: CONNECT_SECONDS,
  maximum: MANY_SERIES,
})

export const upstreamPending = defineGauge({
  name: 'portcullis_upstream_requests_pending',
  help: 'Requests that are waiting for a backend connection.',
  labels: [BACKEND],
})

export const upstreamRequests = defineCounter({
  name: 'portcullis_upstream_requests_total',
  help: 'Requests to backends, including retries and mirrored requests.',
  labels: [
    BACKEND,
    label('outcome', 'class of the status, or why there was none', [
      '1xx',
      '2xx',
      '3xx',
      '4xx',
      '5xx',
      'connect',
      'reset',
      'invalid',
      'timeout',
      'cancelled',
      'shed',
    ]),
    label('purpose', 'purpose of the request', ['proxy', 'retry', 'mirror', 'policy']),
  ],
})

export const upstreamDuration = defineHistogram({
  name: 'portcullis_upstream_request_duration_seconds',
  help: 'Time from sending a request to a backend to the first byte of its response.',
  labels: [BACKEND],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  maximum: MANY_SERIES,
})

export const upstreamRetries = defineCounter({
  name: 'portcullis_upstream_retries_total',
  help: 'Retries of requests to backends.',
  labels: [BACKEND, label('reason', 'why', ['status', 'condition', 'connect', 'reset', 'timeout'])],
})

export const upstreamEjections = defineCounter({
  name: 'portcullis_upstream_outlier_ejections_total',
  help: 'Endpoints that were ejected because they failed.',
  labels: [BACKEND, label('reason', 'the failure', ['status', 'connect', 'reset', 'timeout'])],
})

export const upstreamEndpoints = defineGauge({
  name: 'portcullis_upstream_endpoints',
  help: 'Endpoints of a backend; the highest count of any worker.',
  labels: [BACKEND, label('state', 'state of the endpoint', ['healthy', 'unhealthy', 'ejected'])],
  merge: 'max',
})

export const upstreamHealthChecks = defineCounter({
  name: 'portcullis_upstream_health_checks_total',
  help: 'Active health checks of endpoints.',
  labels: [BACKEND, label('outcome', 'result of the check', ['healthy', 'unhealthy', 'timeout'])],
})

export const dnsLookups = defineCounter({
  name: 'portcullis_dns_lookups_total',
  help: 'DNS lookups of backend names.',
  labels: [label('outcome', 'result of the lookup', ['found', 'empty', 'error', 'timeout'])],
})

export const UPSTREAM: MetricGroup = {
  title: 'Backends',
  metrics: [
    upstreamConnections,
    upstreamConnectionsActive,
    upstreamConnectionsIdle,
    upstreamConnectionFailures,
    upstreamHttp2Offences,
    upstreamConnectDuration,
    upstreamPending,
    upstreamRequests,
    upstreamDuration,
    upstreamRetries,
    upstreamEjections,
    upstreamEndpoints,
    upstreamHealthChecks,
    dnsLookups,
  ],
}
