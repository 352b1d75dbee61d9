import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { connectionLimits } from '../policies/connection-limits/schema.ts'
import { planOf } from './cluster-plan.ts'
import { shareOf } from './worker-share.ts'

const places = (count: number) => Array.from({ length: count }, (_, number) => ({ number, count }))

describe('the share of a worker in a limit', () => {
  it('is nearly equal for all, and adds up to the limit', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.integer({ min: 1, max: 64 }), (limit, count) => {
        const shares = places(count).map((place) => shareOf(limit, place))
        assert.equal(
          shares.reduce((sum, one) => sum + one, 0),
          limit,
        )
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1)
      }),
    )
  })

  it('is unlimited without a limit', () => {
    assert.equal(
      shareOf(Number.POSITIVE_INFINITY, { number: 1, count: 4 }),
      Number.POSITIVE_INFINITY,
    )
  })
})

describe('connection limits of a backend', () => {
  const settings = { connectTimeout: 1, idleTimeout: 1, maxAge: 1, keepalive: {} }
  const planned = (value: object, more: object, count: number) =>
    places(count).map((place) => {
      const policy = {
        kind: 'connectionLimits',
        section: 'backend',
        state: 'valid',
        level: 'backend',
      }
      const policies = value === NONE ? [] : [{ ...policy, value: connectionLimits.parse(value) }]
      const plan = planOf(policies as never, { ...settings, ...more } as never, place)
      assert.ok(plan !== 'invalid-policy')
      return [plan.pool.max, plan.pool.maxPending]
    })
  const NONE = {}

  it('are divided among the workers', () => {
    const own = { maxConnections: 10, maxPendingRequests: 5 }
    assert.deepEqual(planned(own, {}, 1), [[10, 5]])
    assert.deepEqual(planned(own, {}, 4), [
      [3, 2],
      [3, 1],
      [2, 1],
      [2, 1],
    ])
    assert.deepEqual(planned(NONE, { maxConnections: 3 }, 2), [
      [2, 1024],
      [1, 1024],
    ])
  })

  it('leave each worker at least one connection', () => {
    assert.deepEqual(planned({ maxConnections: 1, maxPendingRequests: 1 }, {}, 2), [
      [1, 1],
      [1, 0],
    ])
  })
})
