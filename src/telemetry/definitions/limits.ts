import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { label } from '../label.ts'
import { LISTENER, POLICY } from './labels.ts'

export const limitHits = defineCounter({
  name: 'portcullis_limit_hits_total',
  help: 'Times that a limit of the gateway was reached.',
  labels: [
    LISTENER,
    label('limit', 'the limit', [
      'connections',
      'connections-per-address',
      'head-size',
      'header-count',
      'body-size',
      'buffer',
      'header-timeout',
      'body-timeout',
      'idle-timeout',
      'request-timeout',
      'connect-timeout',
      'backend-timeout',
      'response-idle-timeout',
      'tunnel-idle-timeout',
      'http2-streams',
      'http2-resets',
      'http2-control-frames',
      'http2-overhead',
      'http2-header-frames',
      'http2-unread',
      'upstream-connections',
      'upstream-pending',
      'overload',
    ]),
  ],
})

export const rateLimitDecisions = defineCounter({
  name: 'portcullis_rate_limit_decisions_total',
  help: 'Requests checked against a rate limit.',
  labels: [POLICY, label('outcome', 'the result', ['allowed', 'limited', 'error'])],
})

export const rateLimitKeys = defineGauge({
  name: 'portcullis_rate_limit_keys',
  help: 'Rate limit buckets in memory, one for each key.',
  labels: [POLICY],
})

export const LIMITS: MetricGroup = {
  title: 'Limits',
  metrics: [limitHits, rateLimitDecisions, rateLimitKeys],
}
