import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { CONNECT_SECONDS, MANY_SERIES, REQUEST_SECONDS } from './buckets.ts'
import { BACKEND } from './labels.ts'

export const upstreamConnections = defineCounter({
  name: 'portcullis_upstream_connections_total',
  help: 'Connections that were opened to backends.',
  labels: [BACKEND, label('protocol', 'what is spoken on it', ['http1', 'http2', 'tcp'])],
})

export const upstreamConnectionsActive = defineGauge({
  name: 'portcullis_upstream_connections_active',
  help: 'Connections to backends that are in use.',
  labels: [BACKEND],
})

export const upstreamConnectionsIdle = defineGauge({
  name: 'portcullis_upstream_connections_idle',
  help: 'Connections to backends that are kept for the next request.',
  labels: [BACKEND],
})

export const upstreamConnectionFailures = defineCounter({
  name: 'portcullis_upstream_connection_failures_total',
  help: 'Connections to backends that could not be opened.',
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
  help: 'Connections of HTTP/2 that were ended for what the backend did on them.',
  labels: [
    BACKEND,
    label('reason', 'what it did, or did not', [
      'protocol',
      'control-frames',
      'overhead',
      'ping-timeout',
    ]),
  ],
})

export const upstreamConnectDuration = defineHistogram({
  name: 'portcullis_upstream_connect_duration_seconds',
  help: 'Time to open a connection to a backend, TLS included.',
  labels: [BACKEND],
  unit: 'seconds',
  bounds: CONNECT_SECONDS,
  maximum: MANY_SERIES,
})

export const upstreamPending = defineGauge({
  name: 'portcullis_upstream_requests_pending',
  help: 'Requests that wait for a connection to a backend.',
  labels: [BACKEND],
})

export const upstreamRequests = defineCounter({
  name: 'portcullis_upstream_requests_total',
  help: 'Requests to backends, every retry and every mirrored one included.',
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
    label('purpose', 'what for', ['proxy', 'retry', 'mirror', 'policy']),
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
  help: 'Requests that were sent to a backend once more.',
  labels: [BACKEND, label('reason', 'why', ['status', 'condition', 'connect', 'reset', 'timeout'])],
})

export const upstreamEjections = defineCounter({
  name: 'portcullis_upstream_outlier_ejections_total',
  help: 'Endpoints that were taken out of use because they failed.',
  labels: [BACKEND, label('reason', 'what they did', ['status', 'connect', 'reset', 'timeout'])],
})

export const upstreamEndpoints = defineGauge({
  name: 'portcullis_upstream_endpoints',
  help: 'Endpoints of a backend; of several workers the one that counts most.',
  labels: [BACKEND, label('state', 'of the endpoint', ['healthy', 'unhealthy', 'ejected'])],
  merge: 'max',
})

export const upstreamHealthChecks = defineCounter({
  name: 'portcullis_upstream_health_checks_total',
  help: 'Active health checks of endpoints.',
  labels: [BACKEND, label('outcome', 'of the check', ['healthy', 'unhealthy', 'timeout'])],
})

export const dnsLookups = defineCounter({
  name: 'portcullis_dns_lookups_total',
  help: 'Names of backends that were looked up.',
  labels: [label('outcome', 'of the lookup', ['found', 'empty', 'error', 'timeout'])],
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
