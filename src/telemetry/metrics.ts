import { ALL_METRICS } from './catalogue.ts'
import { Counter, type CounterDefinition } from './counter.ts'
import type { MetricDefinition } from './definition.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import type { MetricView, SeriesView } from './exposition.ts'
import { Family, type Labelled } from './family.ts'
import { Gauge, type GaugeDefinition } from './gauge.ts'
import { Histogram, type HistogramDefinition, type HistogramKind } from './histogram.ts'
import type { ClosedLabel, Labels } from './label.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

export interface MetricsOptions {
  readonly histograms?: HistogramKind
  /** Default max series of a metric, and an upper limit for all metrics if it is lower. */
  readonly maximumSeries?: number
  /** Names of the labels that the configuration adds to request metrics. */
  readonly customLabels?: readonly string[]
  /** Names of metrics that are not exposed. */
  readonly remove?: readonly string[]
  readonly catalogue?: readonly MetricDefinition[]
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** All metrics of a process. */
export interface Metrics {
  readonly counter: <const L extends Labels>(d: CounterDefinition<L>) => Family<Counter, L>
  readonly gauge: <const L extends Labels>(d: GaugeDefinition<L>) => Family<Gauge, L>
  readonly histogram: <const L extends Labels>(d: HistogramDefinition<L>) => Family<Histogram, L>
  /** Live values, which may change while they are read; nothing is copied. */
  readonly read: () => Iterable<MetricView>
  /** A copy that can be sent to another process, for `merge`. */
  readonly snapshot: () => Snapshot
  /** Registers a callback that updates metrics on demand, before they are read. */
  readonly beforeRead: (collect: () => void) => void
  /**
   * Drops the series of something removed from the configuration, such as a route, to make room.
   */
  readonly forget: (label: string, value: string) => void
}

const MAXIMUM_SERIES = 2000

/** Metrics with only closed labels start at 0, so that the first event appears as an increase. */
const FEW = 32

export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { catalogue = ALL_METRICS, remove = [], customLabels = [] } = options
  const { histograms = 'classic', maximumSeries = MAXIMUM_SERIES, now = Date.now } = options
  const families = new Map<MetricDefinition, AnyFamily>()
  const collectors: (() => void)[] = []

  const makerOf = (definition: MetricDefinition): ((labels: readonly string[]) => AnySeries) => {
    if (definition.type === 'counter') return (labels) => new Counter(labels, now())
    if (definition.type !== 'histogram') return (labels) => new Gauge(labels, now())
    const bounds = Float64Array.from(definition.bounds)
    return (labels) => new Histogram(labels, now(), bounds, histograms)
  }

  for (const definition of catalogue) {
    const { name, takesCustomLabels, maximum = MAXIMUM_SERIES } = definition
    const isRemoved = remove.includes(name)
    const folded = definition === (seriesFolded as MetricDefinition) || isRemoved
    families.set(
      definition,
      new Family(definition, {
        makeSeries: makerOf(definition),
        maximum: isRemoved ? 0 : maximumFor(maximum, maximumSeries),
        weight: weightOf(definition, histograms),
        customLabels: takesCustomLabels === true ? customLabels : [],
        onFolded: folded ? () => {} : () => counter(seriesFolded).at({ metric: name }).inc(),
      }),
    )
  }

  // Metrics that are not in the catalogue would be missing from the documentation.
  const familyOf = (definition: MetricDefinition): AnyFamily => {
    const family = families.get(definition)
    if (family === undefined) throw new Error(`${definition.name} is not in the catalogue`)
    return family
  }

  const counter = <const L extends Labels>(definition: CounterDefinition<L>) =>
    familyOf(definition as CounterDefinition<Labels>) as unknown as Family<Counter, L>

  for (const definition of catalogue)
    if (definition.type === 'counter' && definition.isPlanned !== true)
      countFromZero(familyOf(definition))

  const read = () => {
    for (const collect of collectors) collect()
    return families.values().filter(({ definition }) => !remove.includes(definition.name))
  }

  return {
    counter,
    gauge: <const L extends Labels>(definition: GaugeDefinition<L>) =>
      familyOf(definition as GaugeDefinition<Labels>) as unknown as Family<Gauge, L>,
    histogram: <const L extends Labels>(definition: HistogramDefinition<L>) =>
      familyOf(definition as HistogramDefinition<Labels>) as unknown as Family<Histogram, L>,
    read,
    snapshot: () => takeSnapshot(read()),
    beforeRead: (collect) => collectors.push(collect),
    forget: (label, value) => {
      for (const family of families.values()) family.forget(label, value)
    },
  }
}

type AnySeries = SeriesView & Labelled
type AnyFamily = Family<AnySeries, Labels>

/** A lower limit of the user applies to all metrics; a higher one raises all defaults. */
function maximumFor(own: number, wanted: number): number {
  return wanted < MAXIMUM_SERIES ? Math.min(own, wanted) : Math.max(own, wanted)
}

/** Each classic bucket is a separate series, as are sum and count. */
function weightOf(definition: MetricDefinition, kind: HistogramKind): number {
  if (definition.type !== 'histogram' || kind === 'native') return 1
  return definition.bounds.length + 3
}

function countFromZero(family: AnyFamily): void {
  const { labels } = family.definition
  const isClosed = labels.every((label): label is ClosedLabel => label.values !== undefined)
  if (!isClosed || labels.reduce((all, { values }) => all * values.length, 1) > FEW) return
  const combinations = labels.reduce<readonly Record<string, string>[]>(
    (all, { name, values }) =>
      all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
  for (const values of combinations) family.at(values)
}
