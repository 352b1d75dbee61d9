import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DecisionRing } from './decision-ring.ts'
import { recordOf } from './fixtures/decision-records.ts'

describe('a search for decisions', () => {
  const at = (second: number) => new Date(Date.UTC(2026, 1, 3) + second * 1_000).toISOString()
  const ring = new DecisionRing(10_000)
  for (let i = 0; i < 10_000; i++) {
    const path = i % 5_000 === 3 ? '/svc/1234/x' : `/other/${i}`
    ring.add(recordOf({ id: `id-${i}`, time: at(i), path, source: '203.0.113.9:1' }))
  }
  const ids = (query: object) => ring.find({ limit: 200, ...query }).map(({ id }) => id)

  it('finds a text in everything that is kept, however old, in any case', () => {
    assert.deepEqual(ids({ text: '/SVC/1234/' }), ['id-5003', 'id-3'])
    assert.deepEqual(ids({ text: '/svc/12345' }), [])
    assert.deepEqual(ids({ text: '203.0.113.9', limit: 1 }), ['id-9999'])
  })

  it('covers a span of time, both ends included', () => {
    assert.deepEqual(ids({ since: at(4), until: at(6) }), ['id-6', 'id-5', 'id-4'])
    assert.deepEqual(ids({ text: '/svc/', until: at(5_002) }), ['id-3'])
  })

  it('begins with the oldest if it is asked to', () => {
    assert.deepEqual(ids({ limit: 1, order: 'oldest-first' }), ['id-0'])
  })

  it('finds reasons, policies and shown values, but nothing that is redacted', () => {
    const own = new DecisionRing(2)
    own.add(
      recordOf({
        ...{ kind: 'rejection', verdict: 'rejected', cause: 'rate-limit', detail: 'budget' },
        by: { policy: 'team-a', section: 'traffic', level: 'route', kind: 'budgets', origin: '' },
        attributes: [
          { name: 'jwt.sub', state: 'shown', value: 'alice' },
          { name: 'jwt.email', state: 'redacted' },
        ],
      }),
    )
    const counts = ['budget', 'Team-A', 'alice', 'rate-limit', 'bob'].map(
      (text) => own.find({ text, limit: 10 }).length,
    )
    assert.deepEqual(counts, [1, 1, 1, 1, 0])
  })
})
