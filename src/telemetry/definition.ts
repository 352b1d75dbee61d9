import type { CounterDefinition } from './counter.ts'
import type { GaugeDefinition } from './gauge.ts'
import type { HistogramDefinition } from './histogram.ts'
import type { Labels } from './label.ts'

export type MetricDefinition =
  | CounterDefinition<Labels>
  | GaugeDefinition<Labels>
  | HistogramDefinition<Labels>

/** A section of the catalogue and of its page. */
export interface MetricGroup {
  readonly title: string
  readonly metrics: readonly MetricDefinition[]
}
