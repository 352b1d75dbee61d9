import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { label } from '../label.ts'

export const logDrops = defineCounter({
  name: 'portcullis_log_records_dropped_total',
  help: 'Log records that were dropped because the reader of the log was too slow.',
  labels: [],
})

export const traceSpansExported = defineCounter({
  name: 'portcullis_trace_spans_exported_total',
  help: 'Spans accepted by a collector.',
  labels: [],
})

export const traceSpansDropped = defineCounter({
  name: 'portcullis_trace_spans_dropped_total',
  help: 'Spans that no collector accepted.',
  labels: [label('reason', 'why', ['queue-full', 'refused', 'unavailable', 'stopped'])],
})

export const logsExported = defineCounter({
  name: 'portcullis_log_records_exported_total',
  help: 'Access log records accepted by a collector.',
  labels: [],
})

export const logsUnexported = defineCounter({
  name: 'portcullis_log_records_unexported_total',
  help: 'Access log records that no collector accepted.',
  labels: [label('reason', 'why', ['queue-full', 'refused', 'unavailable', 'stopped'])],
})

export const seriesFolded = defineCounter({
  name: 'portcullis_metrics_series_folded_total',
  help: 'Sets of label values that were counted as `other` because a metric had too many series.',
  labels: [label('metric', 'the metric')],
})

export const decisionDrops = defineCounter({
  name: 'portcullis_decision_records_dropped_total',
  help: 'Decision records that were dropped because the file or the database was too slow; the file also reports them.',
  labels: [],
})

export const TELEMETRY: MetricGroup = {
  title: 'Telemetry',
  metrics: [
    logDrops,
    logsExported,
    logsUnexported,
    traceSpansExported,
    traceSpansDropped,
    decisionDrops,
    seriesFolded,
  ],
}
