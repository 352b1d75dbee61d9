import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DecisionQuery, DecisionRing } from './decision-ring.ts'
import { recordOf } from './fixtures/decision-records.ts'

const RULE = {
  policy: 'team',
  section: 'traffic',
  level: 'route',
  kind: 'authorization',
  action: 'Require',
  index: 0,
  field: 'rules[0].require',
  expression: 'false',
  mode: 'Enforce',
  origin: 'a.yaml:1:1',
} as const

function ringOf(count: number, capacity = 10): DecisionRing {
  const ring = new DecisionRing(capacity)
  for (let i = 0; i < count; i++) {
    ring.add(recordOf({ id: String(i), time: new Date(1_000 * i).toISOString() }))
  }
  return ring
}

const ids = (ring: DecisionRing, query: Partial<DecisionQuery> = {}) =>
  ring.find({ limit: 100, ...query }).map(({ id }) => id)

describe('the decision ring', () => {
  for (const [count, expected] of [
    [0, []],
    [3, ['2', '1', '0']],
    [10, ['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']],
    [13, ['12', '11', '10', '9', '8', '7', '6', '5', '4', '3']],
  ] as const) {
    it(`of 10 has the newest of ${count} first`, () => {
      assert.deepEqual(ids(ringOf(count)), expected)
    })
  }

  it('keeps none if its size is 0', () => assert.deepEqual(ids(ringOf(5, 0)), []))

  it('finds by id, time and number', () => {
    const ring = ringOf(13)
    assert.deepEqual(ids(ring, { id: '7' }), ['7'])
    assert.deepEqual(ids(ring, { id: '1' }), [])
    assert.deepEqual(ids(ring, { limit: 2 }), ['12', '11'])
    assert.deepEqual(ids(ring, { since: '1970-01-01T00:00:11Z' }), ['12', '11'])
    assert.deepEqual(ids(ring, { since: '1970-01-01T01:00:11+01:00' }), ['12', '11'])
  })

  it('finds by verdict, stage and policy', () => {
    const ring = new DecisionRing(10)
    ring.add(recordOf({ id: 'denied', rule: RULE }))
    ring.add(recordOf({ id: 'would', enforced: false, stage: 'connection' }))
    ring.add(recordOf({ id: 'allowed', verdict: 'allowed', cause: 'matched' }))
    ring.add(recordOf({ id: 'skipped', skipped: true, rule: { ...RULE, policy: 'one' } }))
    ring.add(recordOf({ id: 'near', nearest: { ...RULE, misses: [] } }))
    assert.deepEqual(ids(ring, { verdict: ['denied'] }), ['near', 'denied'])
    assert.deepEqual(ids(ring, { verdict: ['would-deny'] }), ['would'])
    assert.deepEqual(ids(ring, { verdict: ['skipped'] }), ['skipped'])
    assert.deepEqual(ids(ring, { verdict: ['allowed'] }), ['allowed'])
    assert.deepEqual(ids(ring, { stage: 'connection' }), ['would'])
    assert.deepEqual(ids(ring, { policy: 'team' }), ['near', 'denied'])
  })
})
