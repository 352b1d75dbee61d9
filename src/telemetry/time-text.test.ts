import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createTimestamps, Milliseconds } from './time-text.ts'

describe('timestamps', () => {
  for (const [microseconds, text] of [
    [0, '1970-01-01T00:00:00.000000Z'],
    [1, '1970-01-01T00:00:00.000001Z'],
    [999_999, '1970-01-01T00:00:00.999999Z'],
    [1_000_000, '1970-01-01T00:00:01.000000Z'],
    [1_770_091_506_123_456, '2026-02-03T04:05:06.123456Z'],
    [1_709_251_199_000_010, '2024-02-29T23:59:59.000010Z'],
  ] as const) {
    it(`${microseconds} is ${text}`, () => assert.equal(createTimestamps()(microseconds), text))
  }

  it('equal those of Date, in any order', () => {
    const timestamp = createTimestamps()
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e15 }), (microseconds) => {
        const milliseconds = new Date(Math.floor(microseconds / 1000)).toISOString().slice(0, -1)
        const rest = String(microseconds % 1000).padStart(3, '0')
        assert.equal(timestamp(microseconds), `${milliseconds}${rest}Z`)
      }),
    )
  })
})

describe('durations', () => {
  for (const [milliseconds, text] of [
    [0, '0.000ms'],
    [1.234, '1.234ms'],
    [0.0004, '0.000ms'],
    [0.0005, '0.001ms'],
    [0.9996, '1.000ms'],
    [59_999.5, '59999.500ms'],
    [86_400_000, '86400000.000ms'],
    [-3, '0.000ms'],
    [Number.NaN, '0.000ms'],
    [Number.POSITIVE_INFINITY, '0.000ms'],
  ] as const) {
    it(`${milliseconds} is ${text}, and that number in JSON`, () => {
      const own = new Milliseconds(milliseconds)
      assert.equal(String(own), text)
      assert.equal(JSON.stringify(own), String(Number.parseFloat(text)))
    })
  }
})
