import { type ClosedLabel, OTHER } from './label.ts'

/** The series of a metric that share the values of the open labels. */
export interface Slice<S, V extends readonly string[]> {
  /** The series with these values for the closed labels, in order. Allocates only once. */
  readonly at: (...closed: V) => S
  /** The slice with these values, in order, for the labels that the configuration adds. */
  readonly with: (custom: readonly string[]) => Slice<S, V>
}

/** What a slice needs from its family. */
export interface SliceOwner<S> {
  readonly resolve: (
    open: readonly string[],
    closed: readonly string[],
    custom: readonly string[],
  ) => S
  readonly customise: (custom: readonly string[]) => SeriesSlice<S>
}

/**
 * Called at the end of every request (bench/telemetry.ts): takes a fixed number of arguments
 * instead of a list, and caches its last result, since most requests of a route end alike.
 */
export class SeriesSlice<S> {
  readonly open: readonly string[]
  readonly #custom: readonly string[]
  readonly #indexes: readonly Indexes[]
  readonly #closed: readonly ClosedLabel[]
  readonly #owner: SliceOwner<S>
  readonly #series = new Map<number, S>()
  #first: string | undefined
  #second: string | undefined
  #third: string | undefined
  #last: S | undefined

  constructor(
    open: readonly string[],
    custom: readonly string[],
    closed: readonly ClosedLabel[],
    owner: SliceOwner<S>,
  ) {
    if (closed.length > 3) throw new Error('a metric has at most three closed labels')
    this.open = open
    this.#custom = custom
    this.#closed = closed
    this.#indexes = closed.map(({ values }) => indexesOf(values))
    this.#owner = owner
  }

  at(first?: string, second?: string, third?: string): S {
    if (
      this.#last !== undefined &&
      first === this.#first &&
      second === this.#second &&
      third === this.#third
    ) {
      return this.#last
    }
    const series = this.#find(first, second, third)
    this.#first = first
    this.#second = second
    this.#third = third
    this.#last = series
    return series
  }

  with(custom: readonly string[]): SeriesSlice<S> {
    return this.#owner.customise(custom)
  }

  clear(): void {
    this.#series.clear()
    this.#last = undefined
  }

  #find(first: string | undefined, second: string | undefined, third: string | undefined): S {
    const indexes = this.#indexes
    let key = 0
    if (indexes.length > 0) key = indexIn(indexes[0] as Indexes, first)
    if (indexes.length > 1) key = combine(key, indexes[1] as Indexes, second)
    if (indexes.length > 2) key = combine(key, indexes[2] as Indexes, third)
    const found = this.#series.get(key)
    if (found !== undefined) return found
    const given = [first, second, third]
    const closed = this.#closed.map(({ values }, at) => {
      const value = given[at]
      return value !== undefined && values.includes(value) ? value : OTHER
    })
    const series = this.#owner.resolve(this.open, closed, this.#custom)
    this.#series.set(key, series)
    return series
  }
}

/** Indexes of the values of a label; shared by all slices. */
type Indexes = ReadonlyMap<string, number>

const shared = new WeakMap<readonly string[], Indexes>()

function indexesOf(values: readonly string[]): Indexes {
  const found = shared.get(values) ?? new Map(values.map((value, index) => [value, index]))
  shared.set(values, found)
  return found
}

function indexIn(indexes: Indexes, value: string | undefined): number {
  return indexes.get(value as string) ?? (indexes.get(OTHER) as number)
}

function combine(key: number, indexes: Indexes, value: string | undefined): number {
  return Math.imul(key, indexes.size) + indexIn(indexes, value)
}
