import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClock } from './clock.ts'

describe('the clock', () => {
  it('returns microseconds of the wall clock', () => {
    const now = createClock()() / 1000
    assert.ok(Math.abs(now - Date.now()) < 50)
  })

  for (const [name, steps, expected] of [
    ['fine between the ticks of the coarse one', [[1.25, 1000]], [1_001_250]],
    [
      'never goes back while both agree',
      [
        [1.9, 1001],
        [2.1, 1002],
        [3.05, 1002],
      ],
      [1_001_900, 1_002_100, 1_003_050],
    ],
    [
      'follows when the wall clock is set',
      [
        [1, 1001],
        [2, 90_000],
        [3, 90_001],
      ],
      [1_001_000, 90_000_000, 90_001_000],
    ],
    ['follows when it is set back', [[5, 400]], [400_000]],
  ] as const) {
    it(name, () => {
      let fine = 0
      let coarse = 1000
      const clock = createClock(
        () => fine,
        () => coarse,
      )
      const reported = steps.map(([f, c]) => {
        fine = f
        coarse = c
        return clock()
      })
      assert.deepEqual(reported, expected)
    })
  }
})
