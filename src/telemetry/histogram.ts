import type { Described } from './described.ts'
import { Exponential } from './exponential.ts'
import type { Labels } from './label.ts'

export interface HistogramDefinition<L extends Labels> extends Described<L> {
  readonly type: 'histogram'
  /** Upper bounds of the classic buckets, ascending, without +Inf. */
  readonly bounds: readonly number[]
}

export function defineHistogram<const L extends Labels>(
  described: Described<L> & { readonly bounds: readonly number[] },
): HistogramDefinition<L> {
  return { type: 'histogram', ...described }
}

/** Which buckets are filled: those of `bounds`, exponential ones, or both. */
export type HistogramKind = 'classic' | 'native' | 'both'

/** One series of nonnegative observations. */
export class Histogram {
  readonly labels: readonly string[]
  /** Milliseconds since 1970. */
  readonly created: number
  count = 0
  /** Counts of the classic buckets, not cumulative, +Inf last; empty if there are none. */
  readonly counts: Float64Array
  readonly native: Exponential | undefined
  readonly #bounds: Float64Array
  /** The sum, in an array because a fractional number would be allocated at each change. */
  readonly #sum = new Float64Array(1)

  constructor(
    labels: readonly string[],
    created: number,
    bounds: Float64Array,
    kind: HistogramKind,
  ) {
    this.labels = labels
    this.created = created
    this.counts = new Float64Array(kind === 'native' ? 0 : bounds.length + 1)
    this.native = kind === 'classic' ? undefined : new Exponential()
    this.#bounds = bounds
  }

  get sum(): number {
    return this.#sum[0] as number
  }

  /** NaN and infinite values are ignored; negative ones, caused by a clock change, count as 0. */
  observe(value: number): void {
    if (!(value < Number.POSITIVE_INFINITY)) return
    const observed = value > 0 ? value : 0
    this.#sum[0] = (this.#sum[0] as number) + observed
    this.count++
    if (this.counts.length > 0) this.#fill(observed)
    if (this.native !== undefined) this.native.observe(observed)
  }

  #fill(value: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > (bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
  }
}
