import { FieldWriter } from '../protobuf/field-writer.ts'
import type { MetricDefinition } from './definition.ts'
import { type ExponentialBuckets, ZERO_THRESHOLD } from './exponential.ts'
import type { HistogramView, MetricView, SeriesView } from './exposition.ts'

// Requests wait during a scrape, and there are many series, so they are written field by field:
// with the generated code and its objects, 2,000 counters take 2.4 times the CPU time (`npm run
// bench protobuf`).
// Field numbers of io.prometheus.client, github.com/prometheus/client_model.
const FAMILY = { name: 1, help: 2, type: 3, metric: 4, unit: 5 } as const
const TYPE = { counter: 0, gauge: 1, info: 1, histogram: 4 } as const
const METRIC = { label: 1, gauge: 2, counter: 3, histogram: 7 } as const
const LABEL = { name: 1, value: 2 } as const
const NUMBER = { value: 1, created: 3 } as const
const HISTOGRAM = {
  count: 1,
  sum: 2,
  bucket: 3,
  schema: 5,
  zeroThreshold: 6,
  zeroCount: 7,
  positiveSpan: 12,
  positiveDelta: 13,
  created: 15,
} as const
const BUCKET = { cumulativeCount: 1, upperBound: 2 } as const
const SPAN = { offset: 1, length: 2 } as const
const TIMESTAMP = { seconds: 1, nanos: 2 } as const

/** Up to this many empty buckets are written out: another span would take more bytes. */
const SHORT_GAP = 2

/** Writes a message for each metric with a length prefix, so each metric is buffered as a whole. */
export function* renderProtobuf(metrics: Iterable<MetricView>): Generator<Uint8Array> {
  const writer = new FieldWriter()
  for (const metric of metrics) {
    const { definition, labelNames } = metric
    let isBegun = false
    for (const series of metric.series) {
      if (!isBegun) beginFamily(writer, definition)
      isBegun = true
      writeSeries(writer, definition, labelNames, series)
    }
    if (!isBegun) continue
    writer.end()
    yield writer.take()
  }
}

function beginFamily(writer: FieldWriter, definition: MetricDefinition): void {
  const { name, help, type, unit } = definition
  writer.open()
  writer.string(FAMILY.name, name)
  writer.string(FAMILY.help, help)
  writer.uint(FAMILY.type, TYPE[type])
  if (unit !== undefined) writer.string(FAMILY.unit, unit)
}

function writeSeries(
  writer: FieldWriter,
  definition: MetricDefinition,
  labelNames: readonly string[],
  series: SeriesView,
): void {
  writer.begin(FAMILY.metric)
  for (let i = 0; i < labelNames.length; i++) {
    writer.begin(METRIC.label)
    writer.string(LABEL.name, labelNames[i] as string)
    writer.string(LABEL.value, series.labels[i] as string)
    writer.end()
  }
  if (!('value' in series)) writeHistogram(writer, definition, series)
  else {
    const isCounter = definition.type === 'counter'
    writer.begin(isCounter ? METRIC.counter : METRIC.gauge)
    writer.double(NUMBER.value, series.value)
    if (isCounter) writeTimestamp(writer, NUMBER.created, series.created)
    writer.end()
  }
  writer.end()
}

function writeHistogram(
  writer: FieldWriter,
  definition: MetricDefinition,
  { count, sum, counts, native, created }: HistogramView,
): void {
  const bounds = definition.type === 'histogram' ? definition.bounds : []
  writer.begin(METRIC.histogram)
  writer.uint(HISTOGRAM.count, count)
  writer.double(HISTOGRAM.sum, sum)
  let total = 0
  for (let i = 0; i < counts.length; i++) {
    total += counts[i] as number
    writer.begin(HISTOGRAM.bucket)
    writer.uint(BUCKET.cumulativeCount, total)
    writer.double(BUCKET.upperBound, bounds[i] ?? Number.POSITIVE_INFINITY)
    writer.end()
  }
  if (native !== undefined) writeNative(writer, native)
  writeTimestamp(writer, HISTOGRAM.created, created)
  writer.end()
}

function writeNative(writer: FieldWriter, { schema, zero, offset, counts }: ExponentialBuckets) {
  writer.sint(HISTOGRAM.schema, schema)
  writer.double(HISTOGRAM.zeroThreshold, ZERO_THRESHOLD)
  writer.uint(HISTOGRAM.zeroCount, zero)
  const spans = spansOf(counts)
  let end = -offset
  for (const { from, to } of spans) {
    writeSpan(writer, from - end, to - from)
    end = to
  }
  // Without a span, a histogram without observations would look like a classic one.
  if (spans.length === 0) writeSpan(writer, 0, 0)
  let previous = 0
  for (const { from, to } of spans) {
    for (let i = from; i < to; i++) {
      const count = counts[i] as number
      writer.sint(HISTOGRAM.positiveDelta, count - previous)
      previous = count
    }
  }
}

/** Runs of buckets that are not empty, except for short gaps; `to` is exclusive. */
function spansOf(counts: ArrayLike<number>): readonly { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = []
  for (let i = 0; i < counts.length; i++) {
    if (counts[i] === 0) continue
    const last = spans.at(-1)
    if (last !== undefined && i - last.to <= SHORT_GAP) last.to = i + 1
    else spans.push({ from: i, to: i + 1 })
  }
  return spans
}

/** The offset of the first span is an index, that of each other span the preceding gap. */
function writeSpan(writer: FieldWriter, offset: number, length: number): void {
  writer.begin(HISTOGRAM.positiveSpan)
  writer.sint(SPAN.offset, offset)
  writer.uint(SPAN.length, length)
  writer.end()
}

function writeTimestamp(writer: FieldWriter, field: number, milliseconds: number): void {
  writer.begin(field)
  writer.uint(TIMESTAMP.seconds, Math.floor(milliseconds / 1000))
  writer.uint(TIMESTAMP.nanos, Math.round((milliseconds % 1000) * 1_000_000))
  writer.end()
}
