import { BUDGET, type BudgetStore, MemoryBudgets, readPeriodKey } from '../exchange/budget-store.ts'
import type { QuotaLimit, QuotaRequest } from '../exchange/quota.ts'
import {
  type Grant,
  machineTime,
  type QuotaAsk,
  type QuotaCharge,
  type QuotaOrder,
  type QuotaReport,
  type QuotaReturn,
} from './quota-messages.ts'

/** Milliseconds after which unused tokens are returned. */
const MAX_LEASE = 1_000
/** Max milliseconds that a worker may take to report what it has left. */
const MAX_RECALL = 1_000
/** A worker is lent 1/LENT of its share of what is left, so that the others find some, too. */
const LENT = 2
/**
 * Milliseconds; tokens that are refilled more often are not lent in advance: they would be late.
 */
const MIN_LENT = 250
/** Recalled tokens may be lent to others in the meantime. */
const MAX_RECALLS = 3

interface Quota {
  readonly limit: QuotaLimit
  readonly buckets: Map<string, Bucket>
}

interface Bucket {
  readonly quota: string
  readonly key: string
  readonly limit: QuotaLimit
  left: number
  /** When it was last filled, and how often. */
  filledAt: number
  epoch: number
  /** Of the tokens lent before the last fill, how many would have fit into the bucket then. */
  headroom: number
  /**
   * What workers may still have, by worker. A request uses its own token at once, which only counts
   * here if it is given back.
   */
  readonly lent: Map<number, number>
  recalling: Promise<void> | undefined
  /** Requests that wait for recalled tokens. */
  waiting: number
}

export interface OwnerOptions {
  /** The number of workers. */
  readonly workers: () => number
  /** Returns false if the worker is gone. */
  readonly send: (worker: number, order: QuotaOrder) => boolean
  readonly now?: () => number
  /** Knows the usage of budgets; by default this process does. */
  readonly budgets?: BudgetStore | undefined
}

/**
 * The only place that knows how much is left of limits for the whole gateway. Workers are lent
 * tokens in advance, and never more than there are: tokens are taken from the bucket before they
 * are lent. If none are left, unused tokens of other workers are recalled before a request is
 * rejected, so that neither more nor fewer are admitted than the limit allows.
 *
 * Tokens of a worker that died count as used, since they may have been; those of limits on
 * concurrency become free again, since everything that the worker had is gone with it.
 */
export class QuotaOwner {
  readonly #options: OwnerOptions
  readonly #budgets: BudgetStore
  readonly #now: () => number
  readonly #quotas = new Map<string, Quota>()
  readonly #recalls = new Map<number, { readonly worker: number; readonly done: () => void }>()
  #ids = 0

  constructor(options: OwnerOptions) {
    this.#options = options
    this.#budgets = options.budgets ?? new MemoryBudgets()
    this.#now = options.now ?? machineTime
  }

  /** The number of buckets. */
  get size(): number {
    let size = 0
    for (const { buckets } of this.#quotas.values()) size += buckets.size
    return size
  }

  report(worker: number, { asks, returns, charges = [], recalled }: QuotaReport): void {
    for (const one of returns) this.#returned(worker, one)
    for (const one of charges) this.#charge(one)
    for (const id of recalled) this.#recalls.get(id)?.done()
    for (const ask of asks) {
      if (ask.asked[0]?.quota.startsWith(BUDGET)) void this.#decideBudget(worker, ask)
      else void this.#decide(worker, ask)
    }
  }

  /** A bucket may be overdrawn: then it is empty until that much is refilled. */
  #charge({ quota, key, amount }: QuotaCharge): void {
    if (quota.startsWith(BUDGET)) {
      this.#budgets.charge({ budget: quota, ...readPeriodKey(key) }, amount)
      return
    }
    const bucket = this.#quotas.get(quota)?.buckets.get(key)
    if (bucket === undefined) return
    fill(bucket, this.#now())
    bucket.left = Math.min(bucket.limit.capacity, bucket.left - amount)
  }

  /** The worker is gone, with everything that it had. */
  ended(worker: number): void {
    for (const recall of [...this.#recalls.values()]) if (recall.worker === worker) recall.done()
    for (const { limit, buckets } of this.#quotas.values()) {
      for (const bucket of buckets.values()) {
        const lent = bucket.lent.get(worker)
        if (lent === undefined) continue
        bucket.lent.delete(worker)
        if (limit.refill === 0) bucket.left += lent
        this.#forgetFree(bucket)
      }
    }
  }

  /** Other quotas will not be requested again. */
  retain(quotas: ReadonlySet<string>): void {
    for (const [id, { limit }] of this.#quotas) {
      if (limit.refill > 0 && !quotas.has(id)) this.#quotas.delete(id)
    }
  }

  /** A budget is not lent in advance, and is requested separately. */
  async #decideBudget(worker: number, { id, asked }: QuotaAsk): Promise<void> {
    const [{ quota: budget, key, limit, amount = 1 }] = asked as readonly [QuotaRequest]
    const { capacity, maxKeys } = limit
    const place = { budget, ...readPeriodKey(key) }
    const shortage = await this.#budgets.take({ ...place, amount, capacity, maxKeys })
    const now = this.#now()
    if (shortage !== undefined) {
      const isAway = shortage === 'owner-away'
      const order = { kind: 'quota-rejected', id, asked: 0, wait: 0, until: now, isAway } as const
      this.#options.send(worker, order)
      return
    }
    const granted = [{ tokens: amount, epoch: 0, expires: now }]
    const isThere = this.#options.send(worker, { kind: 'quota-granted', id, granted })
    // The worker did not receive the grant, so no call is made for it.
    if (!isThere) this.#budgets.charge(place, -amount)
  }

  async #decide(worker: number, { id, asked }: QuotaAsk): Promise<void> {
    for (let recalls = 0; ; recalls++) {
      const now = this.#now()
      const buckets = asked.map((one) => this.#bucketAt(one, now))
      const short = buckets.filter(({ left }, i) => left < (asked[i]?.amount ?? 1))
      if (short.length === 0) {
        const granted = buckets.map((bucket, i) =>
          this.#lend(bucket, worker, now, asked[i]?.amount),
        )
        const isThere = this.#options.send(worker, { kind: 'quota-granted', id, granted })
        if (!isThere) {
          for (const [i, { tokens }] of granted.entries())
            this.#lost(buckets[i] as Bucket, worker, tokens)
        }
        return
      }
      const out = short.filter(({ lent }) => lent.size > 0)
      if (out.length === 0 || recalls === MAX_RECALLS) {
        // If nothing is lent, nothing can be returned before the next fill.
        const isSure = out.length === 0
        const until = short.map(({ filledAt, limit }) => filledAt + limit.interval)
        const latest = Math.max(...until)
        const place = buckets.indexOf(short[until.indexOf(latest)] as Bucket)
        const isFilled = latest < Number.POSITIVE_INFINITY
        const wait = isFilled ? latest - now : 0
        const order = { kind: 'quota-rejected', id, asked: place, wait } as const
        this.#options.send(worker, { ...order, until: isSure && isFilled ? latest : now })
        return
      }
      for (const bucket of out) bucket.waiting++
      await Promise.all(out.map((bucket) => this.#recall(bucket)))
      for (const bucket of out) bucket.waiting--
    }
  }

  #bucketAt({ quota, limit, key }: QuotaRequest, now: number): Bucket {
    let known = this.#quotas.get(quota)
    if (known === undefined) this.#quotas.set(quota, (known = { limit, buckets: new Map() }))
    const { buckets } = known
    const bucket = buckets.get(key)
    if (bucket !== undefined) {
      // A Map keeps the order of insertion: an entry that is inserted again moves to the end.
      buckets.delete(key)
      buckets.set(key, bucket)
      fill(bucket, now)
      return bucket
    }
    if (buckets.size >= limit.maxKeys) buckets.delete(buckets.keys().next().value as string)
    const made: Bucket = {
      quota,
      key,
      limit,
      left: limit.capacity,
      filledAt: now,
      epoch: 0,
      headroom: 0,
      lent: new Map(),
      recalling: undefined,
      waiting: 0,
    }
    buckets.set(key, made)
    return made
  }

  #lend(bucket: Bucket, worker: number, now: number, amount?: number): Grant {
    const { filledAt, limit, epoch, waiting } = bucket
    if (amount !== undefined) {
      bucket.left -= amount
      return { tokens: amount, epoch, expires: now }
    }
    const mayLend = waiting === 0 && limit.interval >= MIN_LENT
    const parts = LENT * Math.max(1, this.#options.workers())
    const tokens = 1 + (mayLend ? Math.floor((bucket.left - 1) / parts) : 0)
    bucket.left -= tokens
    const lent = limit.refill === 0 ? tokens : tokens - 1
    if (lent > 0) bucket.lent.set(worker, (bucket.lent.get(worker) ?? 0) + lent)
    return { tokens, epoch, expires: Math.min(now + MAX_LEASE, filledAt + limit.interval) }
  }

  #returned(worker: number, { quota, key, epoch, used, unused }: QuotaReturn): void {
    const bucket = this.#quotas.get(quota)?.buckets.get(key)
    if (bucket === undefined) return
    fill(bucket, this.#now())
    const lent = (bucket.lent.get(worker) ?? 0) - used - unused
    if (lent > 0) bucket.lent.set(worker, lent)
    else bucket.lent.delete(worker)
    // Tokens lent before a fill return only as far as it left room, up to the capacity.
    const age = bucket.epoch - epoch
    const back = age === 0 ? unused : age === 1 ? Math.min(unused, bucket.headroom) : 0
    if (age === 1) bucket.headroom -= back
    bucket.left = Math.min(bucket.limit.capacity, bucket.left + back)
    this.#forgetFree(bucket)
  }

  #lost(bucket: Bucket, worker: number, tokens: number): void {
    bucket.lent.delete(worker)
    if (bucket.limit.refill === 0) bucket.left += tokens
    this.#forgetFree(bucket)
  }

  /** A limit on concurrency has only as many keys as are in use. */
  #forgetFree({ quota, key, limit, left, lent }: Bucket): void {
    if (limit.refill > 0 || left < limit.capacity || lent.size > 0) return
    this.#quotas.get(quota)?.buckets.delete(key)
  }

  /** Makes all workers report what they used of a bucket, and return the rest. */
  #recall(bucket: Bucket): Promise<void> {
    const { quota, key, lent } = bucket
    bucket.recalling ??= Promise.all(
      [...lent.keys()].map(
        (worker) =>
          new Promise<void>((resolve) => {
            const recall = ++this.#ids
            const done = () => {
              clearTimeout(timer)
              this.#recalls.delete(recall)
              resolve()
            }
            // The worker is busy: what it has counts as used until it reports otherwise.
            const timer = setTimeout(() => {
              if (bucket.limit.refill > 0) lent.delete(worker)
              done()
            }, MAX_RECALL)
            this.#recalls.set(recall, { worker, done })
            const order = { kind: 'quota-recall', recall, quota, key } as const
            if (!this.#options.send(worker, order)) done()
          }),
      ),
    ).then(() => {
      bucket.recalling = undefined
    })
    return bucket.recalling
  }
}

function fill(bucket: Bucket, now: number): void {
  const { capacity, refill, interval } = bucket.limit
  const step = Math.max(1, interval)
  const fills = refill === 0 ? 0 : Math.floor((now - bucket.filledAt) / step)
  if (fills <= 0) return
  bucket.left = Math.min(capacity, bucket.left + fills * refill)
  bucket.filledAt += fills * step
  bucket.headroom = capacity - bucket.left
  bucket.epoch++
}
