import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { CONNECT_SECONDS } from './buckets.ts'
import { LISTENER, WIRE_PROTOCOL } from './labels.ts'

export const downstreamConnections = defineCounter({
  name: 'portcullis_downstream_connections_total',
  help: 'Accepted client connections.',
  labels: [LISTENER, WIRE_PROTOCOL],
})

export const downstreamConnectionsActive = defineGauge({
  name: 'portcullis_downstream_connections_active',
  help: 'Open client connections.',
  labels: [LISTENER, WIRE_PROTOCOL],
})

export const downstreamConnectionsClosed = defineCounter({
  name: 'portcullis_downstream_connections_closed_total',
  help: 'Closed client connections.',
  labels: [
    LISTENER,
    WIRE_PROTOCOL,
    label('reason', 'why it ended', [
      'client',
      'upstream',
      'finished',
      'idle',
      'timeout',
      'drain',
      'removed',
      'bad-request',
      'limit',
      'error',
    ]),
  ],
})

export const downstreamConnectionsRejected = defineCounter({
  name: 'portcullis_downstream_connections_rejected_total',
  help: 'Client connections that were closed before any data was read or proxied.',
  labels: [
    LISTENER,
    label('reason', 'why it was rejected', [
      'connections',
      'connections-per-address',
      'authorization',
      'proxy-protocol',
      'no-route',
      'draining',
    ]),
  ],
})

export const downstreamReceivedBytes = defineCounter({
  name: 'portcullis_downstream_received_bytes_total',
  help: 'Bytes received from clients, without TLS overhead.',
  labels: [LISTENER, WIRE_PROTOCOL],
  unit: 'bytes',
})

export const downstreamSentBytes = defineCounter({
  name: 'portcullis_downstream_sent_bytes_total',
  help: 'Bytes sent to clients, without TLS overhead.',
  labels: [LISTENER, WIRE_PROTOCOL],
  unit: 'bytes',
})

export const tlsHandshakes = defineCounter({
  name: 'portcullis_tls_handshakes_total',
  help: 'Completed TLS handshakes with clients.',
  labels: [
    LISTENER,
    label('version', 'the TLS version', ['TLSv1.2', 'TLSv1.3']),
    label('resumed', 'whether a session was resumed', ['true', 'false']),
  ],
})

export const tlsHandshakeFailures = defineCounter({
  name: 'portcullis_tls_handshake_failures_total',
  help: 'Failed TLS handshakes with clients.',
  labels: [
    LISTENER,
    label('reason', 'why it failed', [
      'version',
      'cipher',
      'unknown-name',
      'alpn',
      'client-certificate-missing',
      'client-certificate-invalid',
      'certificate-refused',
      'timeout',
      'reset',
      'malformed',
    ]),
  ],
})

export const tlsHandshakeDuration = defineHistogram({
  name: 'portcullis_tls_handshake_duration_seconds',
  help: 'Time from the first byte of a client to the end of the TLS handshake.',
  labels: [LISTENER],
  unit: 'seconds',
  bounds: CONNECT_SECONDS,
})

export const http2Resets = defineCounter({
  name: 'portcullis_http2_resets_total',
  help: 'HTTP/2 streams that were reset.',
  labels: [LISTENER, label('direction', 'by the client or by the gateway', ['received', 'sent'])],
})

export const http2ResetsSent = defineCounter({
  name: 'portcullis_http2_resets_sent_total',
  help: 'HTTP/2 streams that the gateway reset.',
  labels: [
    LISTENER,
    label(
      'reason',
      'the reason: too many streams, an interrupted exchange, a slow client, a malformed message, or a response that was complete before its request',
      ['refused', 'aborted', 'timeout', 'malformed', 'complete'],
    ),
  ],
})

export const http2Floods = defineCounter({
  name: 'portcullis_http2_floods_total',
  help: 'HTTP/2 connections that were closed because the client exceeded a limit or did not read.',
  labels: [
    LISTENER,
    label('kind', 'the limit that was exceeded', [
      'resets',
      'pings',
      'settings',
      'priorities',
      'empty-frames',
      'window-updates',
      'overhead',
      'header-frames',
      'unread',
    ]),
  ],
})

export const http2Errors = defineCounter({
  name: 'portcullis_http2_errors_total',
  help: 'HTTP/2 connections that were closed because the client violated the protocol.',
  labels: [
    LISTENER,
    label('code', 'the error code that was sent, as named in RFC 9113', [
      'protocol',
      'flow-control',
      'stream-closed',
      'frame-size',
      'compression',
    ]),
  ],
})

export const DOWNSTREAM: MetricGroup = {
  title: 'Client connections',
  metrics: [
    downstreamConnections,
    downstreamConnectionsActive,
    downstreamConnectionsClosed,
    downstreamConnectionsRejected,
    downstreamReceivedBytes,
    downstreamSentBytes,
    tlsHandshakes,
    tlsHandshakeFailures,
    tlsHandshakeDuration,
    http2Resets,
    http2ResetsSent,
    http2Floods,
    http2Errors,
  ],
}
