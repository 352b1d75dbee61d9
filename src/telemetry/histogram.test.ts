import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Histogram, type HistogramKind } from './histogram.ts'

const BOUNDS = Float64Array.of(0.1, 1, 10)

function observe(kind: HistogramKind, values: readonly number[]): Histogram {
  const histogram = new Histogram([], 0, BOUNDS, kind)
  for (const value of values) histogram.observe(value)
  return histogram
}

describe('a histogram', () => {
  for (const [name, values, counts, sum] of [
    ['nothing', [], [0, 0, 0, 0], 0],
    ['a bound belongs to its bucket', [0.1, 1, 10], [1, 1, 1, 0], 11.1],
    ['between and beyond', [0.05, 0.5, 5, 50], [1, 1, 1, 1], 55.55],
    ['zero', [0, -0], [2, 0, 0, 0], 0],
    ['a clock that was set back', [-5], [1, 0, 0, 0], 0],
    ['no numbers', [Number.NaN, Number.POSITIVE_INFINITY], [0, 0, 0, 0], 0],
  ] as const) {
    it(name, () => {
      const histogram = observe('classic', values)
      assert.deepEqual([...histogram.counts], counts)
      assert.equal(histogram.sum, sum)
      assert.equal(
        histogram.count,
        counts.reduce<number>((a, b) => a + b, 0),
      )
    })
  }

  for (const [kind, classic, native] of [
    ['classic', 4, false],
    ['native', 0, true],
    ['both', 4, true],
  ] as const) {
    it(`${kind}: ${classic} classic buckets, ${native ? 'and' : 'no'} exponential ones`, () => {
      const histogram = observe(kind, [0.5])
      assert.equal(histogram.counts.length, classic)
      assert.equal(histogram.native !== undefined, native)
      assert.equal(histogram.count, 1)
    })
  }
})
