import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inOrder, type Prioritized, setPriority } from './priority.ts'

function priorityOf(value: string): readonly [urgency: number, isIncremental: boolean] {
  const stream = { id: 1, urgency: 6, isIncremental: true, servedAt: 0 }
  setPriority(stream, value)
  return [stream.urgency, stream.isIncremental]
}

describe('the priority of a stream', () => {
  for (const [value, urgency, isIncremental] of [
    ['', 3, false],
    ['u=0', 0, false],
    ['u=7', 7, false],
    ['u=8', 3, false],
    ['u=-1', 3, false],
    ['u=10', 3, false],
    ['u=2.0', 3, false],
    ['xu=2', 3, false],
    ['U=2', 3, false],
    ['i', 3, true],
    ['i=?1', 3, true],
    ['i=?0', 3, false],
    ['i, i=?0', 3, false],
    ['i=1', 3, false],
    ['u=1,i', 1, true],
    [' u=1 , i ', 1, true],
    ['u=1;x=y, i;z', 1, true],
    ['u=1, u=5', 5, false],
    ['u=1, u=9', 1, false],
    ['x="u=5", u=4', 4, false],
    [`u=1${' '.repeat(253)}`, 1, false],
    [`u=1${' '.repeat(254)}`, 3, false],
  ] as const) {
    it(`is read from ${JSON.stringify(value.trimEnd())}, ${value.length} characters`, () => {
      assert.deepEqual(priorityOf(value), [urgency, isIncremental])
    })
  }
})

describe('streams that wait', () => {
  const stream: fc.Arbitrary<Prioritized> = fc.record({
    id: fc.nat(20),
    urgency: fc.nat(2),
    isIncremental: fc.boolean(),
    servedAt: fc.nat(20),
  })
  const waiting = fc.uniqueArray(stream, { maxLength: 8, selector: ({ id }) => id })

  it('are served by urgency, whole ones first, as they were opened, the others in turns', () => {
    fc.assert(
      fc.property(waiting, (all) => {
        const list = inOrder(new Set(all), false)
        assert.deepEqual(new Set(list), new Set(all))
        for (const [at, before] of list.entries()) {
          for (const after of list.slice(at + 1)) {
            assert.ok(before.urgency <= after.urgency)
            if (before.urgency < after.urgency) continue
            assert.ok(!before.isIncremental || after.isIncremental)
            if (before.isIncremental) assert.ok(before.servedAt <= after.servedAt)
            else if (!after.isIncremental) assert.ok(before.id < after.id)
          }
        }
      }),
      { numRuns: 200, seed: 26 },
    )
  })

  it('are served by how long they have waited if all must have their turn', () => {
    fc.assert(
      fc.property(waiting, (all) => {
        const times = inOrder(new Set(all), true).map(({ servedAt }) => servedAt)
        assert.deepEqual(
          times,
          all.map(({ servedAt }) => servedAt).sort((a, b) => a - b),
        )
      }),
      { numRuns: 100, seed: 26 },
    )
  })
})
