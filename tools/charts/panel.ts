export interface Panel {
  readonly title: string
  readonly description: string
  readonly kind?: 'timeseries' | 'stat' | 'table'
  /** Grafana's name of it. */
  readonly unit?: string
  /** Of 24; a third by default. */
  readonly width?: number
  /** What the legend says → the query. Which gateways it asks for is added to each metric. */
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

/** 50, 95 and 99 of 100 are below. */
export function quantiles(histogram: string): Readonly<Record<string, string>> {
  return {
    p50: quantile(0.5, histogram),
    p95: quantile(0.95, histogram),
    p99: quantile(0.99, histogram),
  }
}
