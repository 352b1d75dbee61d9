/** The memory of a process at one time. */
export interface Sample {
  readonly seconds: number
  readonly bytes: number
}

export interface Flatness {
  /** Bytes of growth from the first to the last sample, by the median slope. */
  readonly growth: number
  /** Bytes of growth between the base levels of the first and the second half. */
  readonly rise: number
  readonly median: number
  readonly isFlat: boolean
}

/** Growth below these limits may be uncollected garbage, or a heap that reached its size late. */
const SHARE = 0.1
const LEAST = 8 << 20

/**
 * Reports whether memory stays flat. The median of the slopes between all pairs (Theil–Sen) is
 * robust against single peaks, and the 5th percentile of a half is the level after garbage
 * collection. A leak moves both; a short load peak moves neither.
 */
export function flatnessOf(samples: readonly Sample[]): Flatness {
  const slopes: number[] = []
  for (const [i, one] of samples.entries()) {
    for (const other of samples.slice(i + 1)) {
      slopes.push((other.bytes - one.bytes) / (other.seconds - one.seconds))
    }
  }
  const [first, last] = [samples[0], samples.at(-1)]
  const seconds = first === undefined || last === undefined ? 0 : last.seconds - first.seconds
  const growth = quantile(slopes, 0.5) * seconds
  const half = Math.ceil(samples.length / 2)
  const level = (part: readonly Sample[]) =>
    quantile(
      part.map(({ bytes }) => bytes),
      0.05,
    )
  const rise = level(samples.slice(-half)) - level(samples.slice(0, half))
  const median = quantile(
    samples.map(({ bytes }) => bytes),
    0.5,
  )
  const allowed = Math.max(LEAST, median * SHARE)
  return { growth, rise, median, isFlat: Math.min(growth, rise) < allowed }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0
}
