export interface Panel {
  readonly title: string
  readonly description: string
  readonly kind?: 'timeseries' | 'stat' | 'table'
  /** Grafana's name of the unit. */
  readonly unit?: string
  /** Columns of 24; a third of the width by default. */
  readonly width?: number
  /** Legend → query. The generator adds the selected gateways to each metric. */
  readonly queries: Readonly<Record<string, string>>
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

export const rate = (metric: string) => `rate(${metric}[$__rate_interval])`

export function quantile(share: number, histogram: string, by = ''): string {
  const grouping = by === '' ? 'le' : `le, ${by}`
  return `histogram_quantile(${share}, sum by (${grouping}) (${rate(`${histogram}_bucket`)}))`
}

/** Queries for the 50th, 95th and 99th percentiles. */
export function quantiles(histogram: string): Readonly<Record<string, string>> {
  return {
    p50: quantile(0.5, histogram),
    p95: quantile(0.95, histogram),
    p99: quantile(0.99, histogram),
  }
}
