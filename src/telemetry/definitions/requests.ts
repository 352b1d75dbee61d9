import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { MANY_SERIES, OVERHEAD_SECONDS, REQUEST_SECONDS } from './buckets.ts'
import { LISTENER, METHOD, REASON, ROUTE, STATUS } from './labels.ts'

export const requests = defineCounter({
  name: 'portcullis_requests_total',
  help: 'Requests, counted when their response is complete.',
  labels: [LISTENER, ROUTE, METHOD, STATUS, REASON],
  takesCustomLabels: true,
})

export const requestsActive = defineGauge({
  name: 'portcullis_requests_active',
  help: 'Requests whose response is not complete, including open streams.',
  labels: [LISTENER],
})

export const requestsRejected = defineCounter({
  name: 'portcullis_requests_refused_total',
  help: 'Malformed or suspicious requests that were rejected before routing.',
  labels: [LISTENER, label('refusal', 'the problem, such as `both-lengths`')],
})

export const requestDuration = defineHistogram({
  name: 'portcullis_request_duration_seconds',
  help: 'Time from the first byte of a request to the last of its response.',
  labels: [LISTENER, ROUTE],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  maximum: MANY_SERIES,
  takesCustomLabels: true,
})

export const requestFirstByte = defineHistogram({
  name: 'portcullis_request_first_byte_seconds',
  help: 'Time from the first byte of a request to the first of its response.',
  labels: [LISTENER, ROUTE],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  maximum: MANY_SERIES,
})

export const requestOverhead = defineHistogram({
  name: 'portcullis_request_overhead_seconds',
  help: 'Processing time of the gateway: the duration without waiting for the client and the backend.',
  labels: [LISTENER, ROUTE],
  unit: 'seconds',
  bounds: OVERHEAD_SECONDS,
  maximum: MANY_SERIES,
})

export const requestBytes = defineCounter({
  name: 'portcullis_request_bytes_total',
  help: 'Bytes of request bodies.',
  labels: [LISTENER, ROUTE],
  unit: 'bytes',
  takesCustomLabels: true,
})

export const responseBytes = defineCounter({
  name: 'portcullis_response_bytes_total',
  help: 'Bytes of response bodies.',
  labels: [LISTENER, ROUTE],
  unit: 'bytes',
  takesCustomLabels: true,
})

export const headersUnwritten = defineCounter({
  name: 'portcullis_headers_unwritten_total',
  help: 'Headers that policies were to write, and that were removed, because the value cannot be sent.',
  labels: [LISTENER, ROUTE],
})

export const REQUESTS: MetricGroup = {
  title: 'Requests',
  metrics: [
    requests,
    requestsActive,
    requestsRejected,
    requestDuration,
    requestFirstByte,
    requestOverhead,
    requestBytes,
    responseBytes,
    headersUnwritten,
  ],
}
