import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { headersOf } from '../../../test/program/models.ts'
import type { QuotaRejection, QuotaRequest, Quotas } from '../../exchange/quota.ts'
import type { PolicyPlace } from '../../model/policy.ts'
import { Buckets } from './buckets.ts'
import type { RateLimit } from './schema.ts'
import { ownTokens, sharedTokens } from './token-buckets.ts'

const LIMIT = { capacity: 10, refill: 3, interval: 1_000, maxKeys: 9 } as RateLimit

/** Remembers every refill and amount, and adds them up again for each question. */
class SlowBucket {
  readonly #changes: { readonly at: number; readonly amount: number }[] = []
  readonly #begin: number

  constructor(begin: number) {
    this.#begin = begin
  }

  /** What is left at a time: events in order, refills at the end of each interval. */
  left(now: number): number {
    let left = LIMIT.capacity
    let refilled = this.#begin
    for (const { at, amount } of [...this.#changes, { at: now, amount: 0 }]) {
      for (; refilled + LIMIT.interval <= at; refilled += LIMIT.interval) {
        left = Math.min(LIMIT.capacity, left + LIMIT.refill)
      }
      left = Math.min(LIMIT.capacity, left - amount)
    }
    return left
  }

  /** Milliseconds until so much is available, by trying each. */
  wait(now: number, amount: number): number {
    let wait = 0
    while (this.left(now + wait) < amount) wait++
    return wait
  }

  charge(at: number, amount: number): void {
    this.#changes.push({ at, amount })
  }
}

const BY = { policy: 'route:a' } as PolicyPlace

describe('a limit in tokens of models', () => {
  it('admits calls while the estimate is left, and charges what they used', () => {
    const estimate = fc.constantFrom(-1, 0, 0.5, 1, 2.1, 9, 10, 11, 500)
    const used = fc.constantFrom(0, 1, 3, 10, 25)
    const pause = fc.constantFrom(0, 1, 999, 1_000, 1_001, 2_500, 9_000)
    fc.assert(
      fc.property(fc.array(fc.tuple(estimate, used, pause), { maxLength: 12 }), (calls) => {
        let now = 5_000
        const buckets = new Buckets(LIMIT)
        buckets.at('k', now)
        const slow = new SlowBucket(now)
        for (const [asked, spent, ms] of calls) {
          const limit = ownTokens(BY, buckets, 'k', () => now)
          const amount = Math.min(10, Math.max(1, Math.ceil(asked)))
          const rejection = limit.take(asked)
          assert.ok(!(rejection instanceof Promise))
          assert.equal(rejection === undefined, slow.left(now) >= amount)
          if (rejection === undefined) {
            slow.charge(now, amount)
            now += ms
            limit.settle(spent)
            slow.charge(now, spent - amount)
            // A later count replaces the first.
            limit.settle(spent + 1)
            slow.charge(now, 1)
          } else {
            const seconds = String(Math.max(1, Math.ceil(slow.wait(now, amount) / 1_000)))
            const headers = headersOf(rejection)
            assert.deepEqual(
              [rejection.status, headers['retry-after'], headers['ratelimit-limit']],
              [429, seconds, '10'],
            )
            now += ms
          }
          assert.equal(buckets.at('k', now).left, slow.left(now))
        }
      }),
      fuzz(1),
    )
  })

  it('charges a call without an estimate in full, and each key by itself', () => {
    const buckets = new Buckets(LIMIT)
    ownTokens(BY, buckets, 'a', () => 0).settle(7)
    assert.deepEqual([buckets.at('a', 0).left, buckets.at('b', 0).left], [3, 10])
  })
})

describe('a limit in tokens that processes share', () => {
  function shared(outcome: QuotaRejection | undefined, isLate = false) {
    const asked: QuotaRequest[] = []
    const charged: unknown[] = []
    const quotas = {
      take: (requests: readonly QuotaRequest[]) => {
        asked.push(...requests)
        return isLate ? Promise.resolve(outcome) : outcome
      },
      charge: (...all: unknown[]) => void charged.push(all),
    } as Partial<Quotas> as Quotas
    return { limit: sharedTokens(BY, LIMIT, 'q', 'k', quotas), asked, charged }
  }

  for (const isLate of [false, true]) {
    it(`takes the estimate and charges the difference${isLate ? ', once the owner responds' : ''}`, async () => {
      for (const [estimate, amount] of [
        [4.2, 5],
        [0, 1],
        [99, 10],
      ] as const) {
        const { limit, asked, charged } = shared(undefined, isLate)
        assert.equal(await limit.take(estimate), undefined)
        assert.deepEqual(asked, [{ quota: 'q', limit: LIMIT, key: 'k', amount }])
        limit.settle(amount)
        assert.deepEqual(charged, [], 'nothing to charge')
        limit.settle(amount + 3)
        limit.settle(amount + 1)
        assert.deepEqual(charged, [
          ['q', 'k', 3],
          ['q', 'k', -2],
        ])
      }
    })

    it(`rejects calls beyond it, and charges all that they used${isLate ? ', in time' : ''}`, async () => {
      for (const [isAway, status, retry] of [
        [false, 429, '3'],
        [true, 503, '1'],
      ] as const) {
        const { limit, charged } = shared({ asked: 0, wait: 2_001, isAway }, isLate)
        const rejection = (await limit.take(5)) ?? assert.fail()
        assert.deepEqual([rejection.status, headersOf(rejection)['retry-after']], [status, retry])
        assert.equal(rejection.detail, isAway ? 'owner-away' : undefined)
        limit.settle(2)
        assert.deepEqual(charged, [['q', 'k', 2]])
      }
    })
  }
})
