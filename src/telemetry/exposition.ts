import type { MetricDefinition } from './definition.ts'
import type { ExponentialBuckets } from './exponential.ts'
import { renderOpenMetrics, renderPrometheus } from './exposition-text.ts'

/** A metric to expose: from this process, or merged from several workers. */
export interface MetricView {
  readonly definition: MetricDefinition
  readonly labelNames: readonly string[]
  readonly series: Iterable<SeriesView>
}

export type SeriesView = NumberView | HistogramView

export interface NumberView {
  /** A value for each of the metric's label names. */
  readonly labels: readonly string[]
  /** Milliseconds since 1970. */
  readonly created: number
  readonly value: number
}

export interface HistogramView {
  readonly labels: readonly string[]
  readonly created: number
  readonly sum: number
  readonly count: number
  /** Counts of the classic buckets, not cumulative, +Inf last; empty if there are none. */
  readonly counts: ArrayLike<number>
  readonly native?: ExponentialBuckets | undefined
}

/**
 * Prometheus text 0.0.4, OpenMetrics 1.0, or length-delimited io.prometheus.client.MetricFamily.
 */
export type ExpositionFormat = 'prometheus' | 'openmetrics' | 'protobuf'

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  protobuf:
    'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
}

/** Pieces of about 32 KiB, made on demand: the caller may wait between writes. */
export type MetricRenderer = (metrics: Iterable<MetricView>) => Iterable<string | Uint8Array>

/** The protobuf encoder is loaded with the first scrape that requests it. */
export async function rendererOf(format: ExpositionFormat): Promise<MetricRenderer> {
  if (format === 'protobuf') return (await import('./exposition-protobuf.ts')).renderProtobuf
  return format === 'openmetrics' ? renderOpenMetrics : renderPrometheus
}

/**
 * The available format that the scraper prefers. If it accepts none of them, it gets plain text, as
 * browsers do.
 */
export function chooseFormat(accept: string | undefined): ExpositionFormat {
  let best: ExpositionFormat = 'prometheus'
  let bestQuality = 0
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const values = new Map(
      parameters.map((parameter) => {
        const [name = '', value = ''] = parameter.split('=', 2)
        return [name.trim(), value.trim().replaceAll('"', '')]
      }),
    )
    const format = formatOf(type, values)
    const quality = qualityOf(values.get('q'))
    if (format === undefined || quality <= bestQuality) continue
    best = format
    bestQuality = quality
  }
  return best
}

function formatOf(type: string, values: ReadonlyMap<string, string>): ExpositionFormat | undefined {
  const version = values.get('version')
  switch (type) {
    case 'application/vnd.google.protobuf':
      return values.get('proto') === 'io.prometheus.client.metricfamily' &&
        values.get('encoding') === 'delimited'
        ? 'protobuf'
        : undefined
    case 'application/openmetrics-text':
      return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined
    case 'text/plain':
      return version === undefined || version === '0.0.4' ? 'prometheus' : undefined
    case 'text/*':
    case '*/*':
      return 'prometheus'
    default:
      return undefined
  }
}

/** RFC 9110 §12.4.2: 0 to 1; 1 if absent. A malformed value counts as 0. */
function qualityOf(text: string | undefined): number {
  if (text === undefined) return 1
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
