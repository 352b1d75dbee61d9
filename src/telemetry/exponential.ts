/**
 * Exponential buckets as defined by Prometheus: at schema s, bucket i holds the values in
 * (b^(i-1), b^i] for b = 2^(2^-s), so that each power of two is divided into 2^s buckets.
 */
export interface ExponentialBuckets {
  readonly schema: number
  /** Observations up to `ZERO_THRESHOLD`. */
  readonly zero: number
  /** The index of the first of `counts`, which are not cumulative. */
  readonly offset: number
  readonly counts: ArrayLike<number>
}

/** 8 buckets for each power of two: the error of a quantile is at most 4.4 %. */
const FINEST_SCHEMA = 3
const COARSEST_SCHEMA = -4

/**
 * Max buckets between the lowest and the highest in use; beyond that, pairs of buckets are merged.
 */
const MAX_BUCKETS = 160

/** 2^-128, the customary width of the zero bucket. */
export const ZERO_THRESHOLD = 2 ** -128

export class Exponential implements ExponentialBuckets {
  schema = FINEST_SCHEMA
  zero = 0
  offset = 0
  counts: Float64Array = new Float64Array(0)

  observe(value: number): void {
    if (value <= ZERO_THRESHOLD) this.zero++
    else this.add(bucketOf(value, this.schema), 1)
  }

  /** Adds to the bucket of this index at the current schema. */
  add(index: number, count: number): void {
    const at = index - this.offset
    if (at >= 0 && at < this.counts.length) this.counts[at] = (this.counts[at] as number) + count
    else this.#widen(index, count)
  }

  /** Makes room for the index, at a coarser schema if necessary. */
  #widen(index: number, count: number): void {
    if (this.counts.length === 0) this.offset = index
    const low = Math.min(index, this.offset)
    const high = Math.max(index, this.offset + this.counts.length - 1)
    if (high - low >= MAX_BUCKETS && this.schema > COARSEST_SCHEMA) {
      this.coarsen()
      this.add(halve(index), count)
      return
    }
    const counts = new Float64Array(high - low + 1)
    counts.set(this.counts, this.offset - low)
    this.counts = counts
    this.offset = low
    this.add(index, count)
  }

  coarsen(): void {
    const { counts, offset } = this
    this.schema--
    if (counts.length === 0) return
    const low = halve(offset)
    const coarse = new Float64Array(halve(offset + counts.length - 1) - low + 1)
    for (let i = 0; i < counts.length; i++) {
      const at = halve(offset + i) - low
      coarse[at] = (coarse[at] as number) + (counts[i] as number)
    }
    this.counts = coarse
    this.offset = low
  }

  /** Adds all observations of another. */
  merge(other: ExponentialBuckets): void {
    while (this.schema > other.schema) this.coarsen()
    this.zero += other.zero
    if (other.counts.length === 0) return
    this.#include(other, 0)
    this.#include(other, other.counts.length - 1)
    for (let i = 0; i < other.counts.length; i++) {
      const count = other.counts[i] as number
      if (count === 0) continue
      this.add(this.#indexHere(other, i), count)
    }
  }

  /** Makes room for the lowest and the highest at once, which may need a coarser schema. */
  #include(other: ExponentialBuckets, at: number): void {
    this.add(this.#indexHere(other, at), 0)
  }

  #indexHere(other: ExponentialBuckets, at: number): number {
    let index = other.offset + at
    for (let schema = other.schema; schema > this.schema; schema--) index = halve(index)
    return index
  }
}

/** The index at the next coarser schema: buckets 2i-1 and 2i become i. */
function halve(index: number): number {
  return (index + 1) >> 1
}

const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
const HIGH_WORD = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0

/**
 * For each schema above 0: the upper bounds of its buckets in [0.5, 1), starting with 0.5 itself.
 */
const FRACTIONS: readonly Float64Array[] = Array.from({ length: FINEST_SCHEMA + 1 }, (_, schema) =>
  Float64Array.from({ length: 2 ** schema }, (_, i) => 2 ** (i / 2 ** schema - 1)),
)

/** The bucket of a value above the zero threshold, exact at every bound (no logarithm is used). */
export function bucketOf(value: number, schema: number): number {
  double[0] = value
  const high = words[HIGH_WORD] as number
  // value = fraction × 2^exponent, with the fraction in [0.5, 1)
  const exponent = ((high >>> 20) & 0x7ff) - 1022
  words[HIGH_WORD] = (high & 0x000fffff) | 0x3fe00000
  const fraction = double[0] as number
  if (schema > 0) {
    const bounds = FRACTIONS[schema] as Float64Array
    let at = 0
    while (at < bounds.length && fraction > (bounds[at] as number)) at++
    return (exponent - 1) * bounds.length + at
  }
  const index = fraction === 0.5 ? exponent - 1 : exponent
  return (index + (1 << -schema) - 1) >> -schema
}

/** The upper bound of a bucket. */
export function upperBound(index: number, schema: number): number {
  return 2 ** (index * 2 ** -schema)
}
