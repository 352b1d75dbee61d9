import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type BudgetPeriod, periodAt } from './period.ts'

const shown = (now: string, per: BudgetPeriod) => {
  const { start, end } = periodAt(Date.parse(now), per)
  return [start, end].map((time) => new Date(time).toISOString().slice(0, 16))
}

describe('budget periods', () => {
  for (const [now, per, start, end] of [
    ['2026-11-16T08:35:54Z', 'Minute', '2026-11-16T08:35', '2026-11-16T08:36'],
    ['2026-11-16T23:59:59.999Z', 'Hour', '2026-11-16T23:00', '2026-11-17T00:00'],
    ['2026-11-16T00:00:00Z', 'Day', '2026-11-16T00:00', '2026-11-17T00:00'],
    // A Monday, and the Sunday before it.
    ['2026-11-16T00:00:00Z', 'Week', '2026-11-16T00:00', '2026-11-23T00:00'],
    ['2026-11-15T23:59:59Z', 'Week', '2026-11-09T00:00', '2026-11-16T00:00'],
    ['2028-02-29T12:00:00Z', 'Month', '2028-02-01T00:00', '2028-03-01T00:00'],
    ['2026-12-31T23:59:59Z', 'Month', '2026-12-01T00:00', '2027-01-01T00:00'],
  ] as const) {
    it(`${per} of ${now}`, () => assert.deepEqual(shown(now, per), [start, end]))
  }

  it('cover every time exactly once, without gaps', () => {
    const pers = ['Minute', 'Hour', 'Day', 'Week', 'Month'] as const
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.constantFrom(...pers), (now, per) => {
        const { start, end } = periodAt(now, per)
        assert.ok(start <= now && now < end)
        assert.equal(periodAt(end, per).start, end)
        assert.deepEqual(periodAt(start, per), { start, end })
      }),
    )
  })
})
