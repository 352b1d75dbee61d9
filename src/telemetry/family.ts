import type { MetricDefinition } from './definition.ts'
import {
  type ClosedLabel,
  type ClosedValues,
  type Labels,
  type LabelValues,
  type OpenValues,
  OTHER,
} from './label.ts'
import { SeriesSlice, type Slice } from './slice.ts'

/** The common part of all series. */
export interface Labelled {
  readonly labels: readonly string[]
}

export interface FamilyOptions<S> {
  readonly makeSeries: (labels: readonly string[]) => S
  /** Max series, as a scraper counts them, before values of open labels become `other`. */
  readonly maximum: number
  /** How many series a scraper counts for each one: one, or one for each bucket and more. */
  readonly weight: number
  readonly customLabels: readonly string[]
  /** Called for each set of values that became `other`. */
  readonly onFolded: () => void
}

/** A metric and its series. */
export class Family<S extends Labelled, L extends Labels> {
  readonly definition: MetricDefinition
  readonly labelNames: readonly string[]
  readonly #options: FamilyOptions<S>
  readonly #openNames: readonly string[]
  readonly #closed: readonly ClosedLabel[]
  readonly #series = new Map<string, S>()
  readonly #slices = new Map<string, SeriesSlice<S>>()
  readonly #unknownCustom: string
  /** Series that are not folded: only these count toward the limit. */
  #ownSeries = 0

  constructor(definition: MetricDefinition, options: FamilyOptions<S>) {
    const { name, labels } = definition
    this.definition = definition
    this.#options = options
    this.#unknownCustom = keyOf(options.customLabels.map(() => UNKNOWN))
    this.#closed = labels.filter((label): label is ClosedLabel => label.values !== undefined)
    this.#openNames = labels.slice(0, labels.length - this.#closed.length).map(({ name }) => name)
    this.labelNames = [...labels.map(({ name }) => name), ...options.customLabels]
    const isOrdered = labels.every(
      ({ values }, at) => (values !== undefined) === at >= this.#openNames.length,
    )
    if (!isOrdered) throw new Error(`${name}: open labels come before closed ones`)
  }

  get series(): Iterable<S> {
    return this.#series.values()
  }

  /** The series with these values. Resolve it once for each configuration, not for each request. */
  at(values: LabelValues<L>): S {
    const byName = values as Readonly<Record<string, string>>
    const closed = this.#closed.map(({ name }) => byName[name] as string)
    return this.#sliceBy(byName).at(...closed)
  }

  /**
   * All series with these values, to be distinguished by the closed labels when a request has a
   * response: `requests.of({ listener, route })`, then `.at('GET', '2xx', 'upstream').inc()`.
   */
  of(values: OpenValues<L>): Slice<S, ClosedValues<L>> {
    return this.#sliceBy(values as Readonly<Record<string, string>>)
  }

  /** Removes series with this value, until a slice requests them again. */
  forget(label: string, value: string): void {
    const at = this.labelNames.indexOf(label)
    if (at === -1) return
    for (const [key, { labels }] of this.#series) {
      if (labels[at] !== value) continue
      this.#series.delete(key)
      if (!this.#isFolded(labels)) this.#ownSeries--
    }
    const open = this.#openNames.indexOf(label)
    for (const [key, slice] of this.#slices) {
      if (slice.open[open] === value) this.#slices.delete(key)
      // There may be room now for folded series; others are resolved again.
      slice.clear()
    }
  }

  clear(): void {
    this.#series.clear()
    this.#ownSeries = 0
    for (const slice of this.#slices.values()) slice.clear()
  }

  /** Callers without a slice find it with one lookup: known values are not sanitized again. */
  #sliceBy(byName: Readonly<Record<string, string>>): SeriesSlice<S> {
    let key = ''
    for (const name of this.#openNames) key += byName[name] + SEPARATOR
    const found = this.#slices.get(key + this.#unknownCustom)
    if (found !== undefined) return found
    const open = this.#openNames.map((name) => visible(byName[name] as string))
    return this.#sliceOf(
      open,
      this.#options.customLabels.map(() => UNKNOWN),
    )
  }

  #sliceOf(open: readonly string[], custom: readonly string[]): SeriesSlice<S> {
    const key = keyOf(open) + keyOf(custom)
    const found = this.#slices.get(key)
    if (found !== undefined) return found
    const slice: SeriesSlice<S> = new SeriesSlice(open, custom, this.#closed, {
      resolve: (open, closed, custom) => this.#resolve(open, closed, custom),
      customise: (custom) => this.#customSlice(open, custom),
    })
    this.#slices.set(key, slice)
    return slice
  }

  /** Values of custom labels come from requests: once the limit is reached, no more are kept. */
  #customSlice(open: readonly string[], custom: readonly string[]): SeriesSlice<S> {
    const clean = this.#options.customLabels.map((_, at) => visible(custom[at] ?? UNKNOWN))
    if (this.#hasRoom()) return this.#sliceOf(open, clean)
    return this.#slices.get(keyOf(open) + keyOf(clean)) ?? this.#folded()
  }

  #resolve(open: readonly string[], closed: readonly string[], custom: readonly string[]): S {
    const labels = [...open, ...closed, ...custom]
    const key = keyOf(labels)
    const found = this.#series.get(key)
    if (found !== undefined) return found
    if (!this.#isFolded(labels)) {
      if (!this.#hasRoom()) {
        this.#options.onFolded()
        return this.#folded().at(...closed)
      }
      this.#ownSeries++
    }
    const series = this.#options.makeSeries(labels)
    this.#series.set(key, series)
    return series
  }

  /** Closed labels keep their values, so that the number of failed requests is still exposed. */
  #folded(): SeriesSlice<S> {
    return this.#sliceOf(
      this.#openNames.map(() => OTHER),
      this.#options.customLabels.map(() => OTHER),
    )
  }

  /** Without open labels, there is nothing to fold: the closed ones are few. */
  #isFolded(labels: readonly string[]): boolean {
    const closedFrom = this.#openNames.length
    const closedTo = closedFrom + this.#closed.length
    return labels.every((value, at) => value === OTHER || (at >= closedFrom && at < closedTo))
  }

  #hasRoom(): boolean {
    return (this.#ownSeries + 1) * this.#options.weight <= this.#options.maximum
  }
}

const UNKNOWN = 'unknown'

/** Never occurs in a sanitized value; an unsanitized value with it cannot match a key. */
const SEPARATOR = '\0'

function keyOf(values: readonly string[]): string {
  let key = ''
  for (const value of values) key += value + SEPARATOR
  return key
}

/** The formats can escape newline, quote and backslash; other invisible characters are replaced. */
function visible(value: string): string {
  return value.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
}
