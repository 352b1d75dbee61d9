import type { Quotas } from '../../exchange/quota.ts'
import { hashText } from '../../model/hash.ts'
import type { RateLimit } from './schema.ts'

/** Full at first; gains `refill` at the end of every `interval`, never above `capacity`. */
export interface Bucket {
  left: number
  /** When it was last refilled. */
  filledAt: number
}

/** The buckets of all limits of a policy. */
export class PolicyBuckets {
  readonly limits: readonly Buckets[]
  /** The name of each limit among all processes that share it. */
  readonly quotas: readonly string[]
  readonly #policy: string
  readonly #shared: Quotas | undefined

  /** `key`: of the policy, the same in every process. `shared`: then holds the buckets. */
  constructor(policy: string, limits: readonly RateLimit[], key = '', shared?: Quotas) {
    this.#policy = policy
    this.#shared = shared
    this.limits = limits.map((limit) => new Buckets(limit))
    const name = hashText(key)
    this.quotas = shared === undefined ? [] : limits.map((_, i) => `rate ${name} ${i}`)
  }

  /** The number of keys of the policy, for the gauge. */
  limitedKeys(): readonly [policy: string, count: number] {
    const shared = this.#shared
    const sizes = shared
      ? this.quotas.map((quota) => shared.keys(quota))
      : this.limits.map(({ size }) => size)
    return [this.#policy, sizes.reduce((sum, size) => sum + size, 0)]
  }
}

/** One bucket per key; evicts the least recently used, which is full when it returns. */
export class Buckets {
  readonly limit: RateLimit
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: RateLimit) {
    this.limit = limit
  }

  get size(): number {
    return this.#buckets.size
  }

  /** The bucket of the key, refilled up to now. */
  at(key: string, now: number): Bucket {
    const { capacity, refill, interval, maxKeys } = this.limit
    const buckets = this.#buckets
    const known = buckets.get(key)
    if (known === undefined) {
      if (buckets.size >= maxKeys) buckets.delete(buckets.keys().next().value as string)
      const bucket = { left: capacity, filledAt: now }
      buckets.set(key, bucket)
      return bucket
    }
    // A Map keeps insertion order: an entry that is set again moves to the end.
    if (buckets.size > 1) {
      buckets.delete(key)
      buckets.set(key, known)
    }
    const step = Math.max(1, interval)
    const fills = Math.floor((now - known.filledAt) / step)
    if (fills > 0) {
      known.left = Math.min(capacity, known.left + fills * refill)
      known.filledAt += fills * step
    }
    return known
  }
}
