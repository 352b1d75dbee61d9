import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bucketOf, Exponential, upperBound } from './exponential.ts'

describe('the bucket of a value', () => {
  for (const [value, schema, index] of [
    [1, 3, 0],
    [1.0001, 3, 1],
    [2, 3, 8],
    [2 ** (1 / 8), 3, 1],
    [0.5, 3, -8],
    [0.001, 3, -79],
    [1, 0, 0],
    [1.5, 0, 1],
    [2, 0, 1],
    [0.25, 0, -2],
    [0.3, 0, -1],
    [1, -4, 0],
    [1.5, -4, 1],
    [65_536, -4, 1],
    [65_537, -4, 2],
    [0.5, -4, 0],
    [2 ** -16, -4, -1],
    [2 ** -17, -4, -1],
    [Number.MAX_VALUE, -4, 64],
  ] as const) {
    it(`${value} at schema ${schema} is ${index}`, () =>
      assert.equal(bucketOf(value, schema), index))
  }

  it('ends at its bound, and begins above the one before', () => {
    const value = fc.double({ min: 1e-30, max: 1e300, noNaN: true })
    fc.assert(
      fc.property(value, fc.integer({ min: -4, max: 3 }), (value, schema) => {
        const index = bucketOf(value, schema)
        const slack = 1 + 1e-12
        assert.ok(value <= upperBound(index, schema) * slack)
        assert.ok(value > upperBound(index - 1, schema) / slack)
      }),
    )
  })

  it('is half of its index at the next coarser schema', () => {
    const value = fc.double({ min: 1e-30, max: 1e300, noNaN: true })
    fc.assert(
      fc.property(value, fc.integer({ min: -3, max: 3 }), (value, schema) => {
        assert.equal(bucketOf(value, schema - 1), Math.ceil(bucketOf(value, schema) / 2) + 0)
      }),
    )
  })
})

describe('exponential buckets', () => {
  it('count the values in each', () => {
    const buckets = observe([1, 1, 2, 0, 1.9])
    assert.deepEqual([...buckets.counts], [2, 0, 0, 0, 0, 0, 0, 0, 2])
    assert.deepEqual([buckets.offset, buckets.zero, buckets.schema], [0, 1, 3])
  })

  it('grow in both directions', () => {
    const buckets = observe([1, 1.2, 0.9])
    assert.deepEqual([...buckets.counts], [1, 1, 0, 0, 1])
    assert.equal(buckets.offset, -1)
  })

  it('become coarser beyond 160 buckets', () => {
    const buckets = observe([1e-6, 1, 3600])
    assert.equal(buckets.schema, 2)
    assert.ok(buckets.counts.length <= 160)
    assert.deepEqual(
      [...buckets.counts].filter((count) => count > 0),
      [1, 1, 1],
    )
  })

  const values = fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { maxLength: 40 })

  it('count every value in its bucket, in any order', () => {
    fc.assert(
      fc.property(values, (values) => {
        const buckets = observe(values)
        assert.deepEqual(reported(buckets), plainly(values, buckets.schema))
        assert.ok(buckets.counts.length <= 160)
      }),
    )
  })

  it('merge to those of all values', () => {
    fc.assert(
      fc.property(values, values, (some, others) => {
        const merged = observe(some)
        merged.merge(observe(others))
        assert.deepEqual(reported(merged), plainly([...some, ...others], merged.schema))
        assert.equal(merged.schema, observe([...some, ...others]).schema)
      }),
    )
  })
})

function observe(values: readonly number[]): Exponential {
  const buckets = new Exponential()
  for (const value of values) buckets.observe(value)
  return buckets
}

function reported({ counts, offset, zero }: Exponential): Map<number | 'zero', number> {
  const map = new Map<number | 'zero', number>(zero === 0 ? [] : [['zero', zero]])
  for (const [i, count] of counts.entries()) if (count > 0) map.set(offset + i, count)
  return map
}

function plainly(values: readonly number[], schema: number): Map<number | 'zero', number> {
  const map = new Map<number | 'zero', number>()
  for (const value of values) {
    const key = value <= 2 ** -128 ? 'zero' : bucketOf(value, schema)
    map.set(key, (map.get(key) ?? 0) + 1)
  }
  return map
}
