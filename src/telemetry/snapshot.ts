import { ALL_METRICS } from './catalogue.ts'
import type { MetricDefinition } from './definition.ts'
import { Exponential, type ExponentialBuckets } from './exponential.ts'
import type { HistogramView, MetricView, NumberView, SeriesView } from './exposition.ts'

/** The metrics of a process at one moment, as JSON for the process that is scraped. */
export type Snapshot = readonly MetricSnapshot[]

export interface MetricSnapshot {
  readonly name: string
  readonly labelNames: readonly string[]
  readonly series: readonly SeriesView[]
}

export function takeSnapshot(metrics: Iterable<MetricView>): Snapshot {
  return Array.from(metrics, ({ definition, labelNames, series }) => ({
    name: definition.name,
    labelNames,
    series: Array.from(series, copy),
  })).filter(({ series }) => series.length > 0)
}

/** Merges the metrics of all workers: counters and histograms are added, gauges as each defines. */
export function merge(
  snapshots: readonly Snapshot[],
  catalogue: readonly MetricDefinition[] = ALL_METRICS,
): readonly MetricView[] {
  const byName = new Map<string, MetricSnapshot[]>()
  for (const metric of snapshots.flat()) {
    const found = byName.get(metric.name)
    if (found === undefined) byName.set(metric.name, [metric])
    else found.push(metric)
  }
  return catalogue.flatMap((definition) => {
    const parts = byName.get(definition.name) ?? []
    const [first] = parts
    if (first === undefined) return []
    const series = mergeSeries(parts, mergerOf(definition))
    return [{ definition, labelNames: first.labelNames, series }]
  })
}

function copy(series: SeriesView): SeriesView {
  const { labels, created } = series
  if ('value' in series) return { labels, created, value: series.value }
  const { sum, count, counts, native } = series
  const buckets = native === undefined ? {} : { native: copyNative(native) }
  return { labels, created, sum, count, counts: Array.from(counts), ...buckets }
}

function copyNative({ schema, zero, offset, counts }: ExponentialBuckets): ExponentialBuckets {
  return { schema, zero, offset, counts: Array.from(counts) }
}

/** Labels contain no NUL: it was replaced when the series was created. */
function mergeSeries(
  parts: readonly MetricSnapshot[],
  mergeTwo: (a: SeriesView, b: SeriesView) => SeriesView,
): readonly SeriesView[] {
  const byLabels = new Map<string, SeriesView>()
  for (const series of parts.flatMap((part) => part.series)) {
    const key = series.labels.join('\0')
    const found = byLabels.get(key)
    byLabels.set(key, found === undefined ? series : mergeTwo(found, series))
  }
  return [...byLabels.values()]
}

function mergerOf(definition: MetricDefinition): (a: SeriesView, b: SeriesView) => SeriesView {
  if (definition.type === 'histogram') {
    return (a, b) => mergeHistograms(a as HistogramView, b as HistogramView)
  }
  const combine = definition.type === 'counter' ? COMBINE.sum : COMBINE[definition.merge]
  return (a, b) => ({
    labels: a.labels,
    created: Math.min(a.created, b.created),
    value: combine((a as NumberView).value, (b as NumberView).value),
  })
}

const COMBINE = {
  sum: (a: number, b: number) => a + b,
  min: Math.min,
  max: Math.max,
} as const

function mergeHistograms(a: HistogramView, b: HistogramView): HistogramView {
  const native = mergeNative(a.native, b.native)
  return {
    labels: a.labels,
    created: Math.min(a.created, b.created),
    sum: a.sum + b.sum,
    count: a.count + b.count,
    counts: Array.from(a.counts, (count, i) => count + (b.counts[i] ?? 0)),
    ...(native === undefined ? {} : { native }),
  }
}

function mergeNative(
  a: ExponentialBuckets | undefined,
  b: ExponentialBuckets | undefined,
): ExponentialBuckets | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const merged = new Exponential()
  merged.merge(a)
  merged.merge(b)
  return merged
}
