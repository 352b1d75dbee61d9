import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { label } from '../label.ts'

export const logDrops = defineCounter({
  name: 'portcullis_log_records_dropped_total',
  help: 'Records that were not written because the reader of the log was too slow.',
  labels: [],
})

export const traceSpansExported = defineCounter({
  name: 'portcullis_trace_spans_exported_total',
  help: 'Spans that a collector took.',
  labels: [],
})

export const traceSpansDropped = defineCounter({
  name: 'portcullis_trace_spans_dropped_total',
  help: 'Spans that no collector took.',
  labels: [label('reason', 'why', ['queue-full', 'refused', 'unavailable', 'stopped'])],
})

export const logsExported = defineCounter({
  name: 'portcullis_log_records_exported_total',
  help: 'Records of the access log that a collector took.',
  labels: [],
})

export const logsUnexported = defineCounter({
  name: 'portcullis_log_records_unexported_total',
  help: 'Records of the access log that no collector took.',
  labels: [label('reason', 'why', ['queue-full', 'refused', 'unavailable', 'stopped'])],
})

export const seriesFolded = defineCounter({
  name: 'portcullis_metrics_series_folded_total',
  help: 'Sets of label values that were counted as `other` because a metric had too many series.',
  labels: [label('metric', 'the metric')],
})

export const decisionDrops = defineCounter({
  name: 'portcullis_decision_records_dropped_total',
  help: 'Records of decisions that came faster than their file or the database takes them; the file says so, too.',
  labels: [],
})

export const TELEMETRY: MetricGroup = {
  title: 'Telemetry itself',
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
