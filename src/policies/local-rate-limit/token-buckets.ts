import type { Quotas } from '../../exchange/quota.ts'
import type { Reply } from '../../exchange/reply.ts'
import type { UsageLimit } from '../../exchange/usage-limit.ts'
import type { PolicyPlace } from '../../model/policy.ts'
import type { Buckets } from './buckets.ts'
import { AWAY, tooMany } from './rejections.ts'
import type { RateLimit } from './schema.ts'

/*
 * Limits in model tokens. The usage of a call is unknown in advance, so an estimate is taken first
 * and the actual usage is settled after: concurrent calls cannot all take the same remainder. A
 * bucket may go negative, and is refilled from there.
 */

/** A call may need more than the capacity: it then takes a full bucket. */
function amountOf(estimate: number, { capacity }: RateLimit): number {
  return Math.min(Math.max(1, Math.ceil(estimate)), capacity)
}

/** For a process that serves alone. */
export function ownTokens(
  by: PolicyPlace,
  buckets: Buckets,
  key: string,
  now: () => number,
): UsageLimit {
  const { limit } = buckets
  let taken = 0
  return {
    measure: 'tokens',
    by,
    isFor: () => true,
    take(estimate) {
      const time = now()
      const bucket = buckets.at(key, time)
      const amount = amountOf(estimate, limit)
      if (bucket.left < amount) {
        return tooMany(limit, waitFor(limit, amount - bucket.left, bucket.filledAt, time))
      }
      bucket.left -= amount
      taken = amount
      return undefined
    },
    settle(used) {
      const bucket = buckets.at(key, now())
      bucket.left = Math.min(limit.capacity, bucket.left + taken - used)
      taken = used
    },
  }
}

/** Milliseconds until the missing amount is available. */
function waitFor(
  { refill, interval }: RateLimit,
  missing: number,
  filledAt: number,
  now: number,
): number {
  const fills = Math.max(1, Math.ceil(missing / refill))
  return Math.max(0, filledAt + fills * interval - now)
}

/** For one of several processes: the one that owns the buckets tracks the remainder. */
export function sharedTokens(
  by: PolicyPlace,
  limit: RateLimit,
  quota: string,
  key: string,
  quotas: Quotas,
): UsageLimit {
  let taken = 0
  return {
    measure: 'tokens',
    by,
    isFor: () => true,
    take(estimate) {
      const amount = amountOf(estimate, limit)
      const outcome = quotas.take([{ quota, limit, key, amount }])
      const settle = (rejection: Awaited<typeof outcome>): Reply | undefined => {
        if (rejection === undefined) taken = amount
        else return rejection.isAway ? AWAY : tooMany(limit, rejection.wait)
        return undefined
      }
      return outcome instanceof Promise ? outcome.then(settle) : settle(outcome)
    },
    settle(used) {
      if (used !== taken) quotas.charge(quota, key, used - taken)
      taken = used
    },
  }
}
