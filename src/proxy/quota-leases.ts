import type { QuotaLimit, QuotaRejection, QuotaRequest, Quotas } from '../exchange/quota.ts'
import {
  type Grant,
  machineTime,
  type QuotaAsk,
  type QuotaCharge,
  type QuotaOrder,
  type QuotaReport,
  type QuotaReturn,
} from './quota-messages.ts'

/** Milliseconds between two checks for tokens that were lent and not used in time. */
const PERIOD = 250
/** Milliseconds after which a request that waits for the owner is rejected. */
const MAX_WAIT = 2_000

/** This process's share of one key. */
interface Lease {
  readonly limit: QuotaLimit
  tokens: number
  /** Tokens lent in advance and used since the last report. */
  used: number
  epoch: number
  expires: number
  /** Until then no tokens are available anywhere. */
  emptyUntil: number
}

interface Waiting {
  settle(order: QuotaOrder | undefined): void
}

export interface LeasesOptions {
  readonly send: (report: QuotaReport) => void
  readonly now?: () => number
}

/**
 * A worker's part of limits for the whole gateway. As long as there are tokens that the owner lent
 * it, or it is known that there are none, it sends no message and does not wait.
 */
export class QuotaLeases implements Quotas {
  readonly #send: LeasesOptions['send']
  readonly #now: () => number
  readonly #quotas = new Map<string, Map<string, Lease>>()
  readonly #waiting = new Map<number, Waiting>()
  #asks: QuotaAsk[] = []
  #returns: QuotaReturn[] = []
  #charges: QuotaCharge[] = []
  #recalled: number[] = []
  #isSending = false
  #ids = 0
  #timer: NodeJS.Timeout | undefined

  constructor({ send, now = machineTime }: LeasesOptions) {
    this.#send = send
    this.#now = now
  }

  keys(quota: string): number {
    return this.#quotas.get(quota)?.size ?? 0
  }

  take(
    asked: readonly QuotaRequest[],
  ): QuotaRejection | undefined | Promise<QuotaRejection | undefined> {
    const now = this.#now()
    const leases = asked.map((one) => this.#leaseOf(one))
    const empty = emptiest(leases, now)
    if (empty !== undefined) return empty
    const isHeld = (lease: Lease, at: number) =>
      asked[at]?.amount === undefined && lease.tokens > 0 && now < lease.expires
    const held = leases.filter(isHeld)
    for (const lease of held) spend(lease, 1)
    if (held.length === leases.length) return undefined
    const missing = asked.filter((_, i) => !held.includes(leases[i] as Lease))
    return this.#ask(asked, missing, held)
  }

  give(quota: string, key: string): void {
    const lease = this.#quotas.get(quota)?.get(key)
    if (lease === undefined) return
    spend(lease, -1)
    // Others may be waiting for it: it is kept only for a moment, for the next request.
    lease.expires = Math.max(lease.expires, this.#now() + PERIOD)
    this.#watch()
  }

  charge(quota: string, key: string, amount: number): void {
    this.#charges.push({ quota, key, amount })
    this.#sendSoon()
  }

  receive(order: QuotaOrder): void {
    if (order.kind === 'quota-recall') this.#recall(order.recall, order.quota, order.key)
    else this.#waiting.get(order.id)?.settle(order)
  }

  /** No more responses will arrive. */
  close(): void {
    clearInterval(this.#timer)
    for (const { settle } of [...this.#waiting.values()]) settle(undefined)
  }

  #ask(
    asked: readonly QuotaRequest[],
    missing: readonly QuotaRequest[],
    held: readonly Lease[],
  ): Promise<QuotaRejection | undefined> {
    const id = ++this.#ids
    return new Promise((resolve) => {
      let isLate = false
      const giveUp = () => {
        isLate = true
        for (const lease of held) spend(lease, -1)
        resolve({ asked: asked.indexOf(missing[0] as QuotaRequest), wait: 0, isAway: true })
      }
      const timer = setTimeout(giveUp, MAX_WAIT)
      const settle = (order: QuotaOrder | undefined) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        if (order === undefined) {
          if (!isLate) giveUp()
          return
        }
        if (order.kind === 'quota-granted') {
          // A grant that is too late for its request is used for the next one.
          const own = isLate ? 0 : 1
          for (const [i, grant] of order.granted.entries())
            this.#granted(missing[i] as QuotaRequest, grant, own)
          if (!isLate) resolve(undefined)
        } else if (order.kind === 'quota-rejected') {
          const rejected = missing[order.asked] as QuotaRequest
          // That there are fewer than requested does not mean that there are none.
          if (rejected.amount === undefined) this.#leaseOf(rejected).emptyUntil = order.until
          this.#watch()
          if (isLate) return
          for (const lease of held) spend(lease, -1)
          const { wait, isAway = false } = order
          resolve({ asked: asked.indexOf(rejected), wait, isAway })
        }
      }
      this.#waiting.set(id, { settle })
      this.#asks.push({ id, asked: missing })
      this.#sendSoon()
    })
  }

  #granted(asked: QuotaRequest, { tokens, epoch, expires }: Grant, own: number): void {
    // An amount taken at once is used up, and is given back by `charge` if it was not used.
    if (asked.amount !== undefined) {
      if (own === 0) this.charge(asked.quota, asked.key, -tokens)
      return
    }
    const lease = this.#leaseOf(asked)
    if (lease.epoch !== epoch) this.#return(asked.quota, asked.key, lease)
    lease.epoch = epoch
    lease.expires = expires
    lease.emptyUntil = 0
    lease.tokens += tokens
    // The owner has already counted the request's own token; only tokens in use are tracked here.
    if (asked.limit.refill === 0) spend(lease, own)
    else lease.tokens -= own
    this.#watch()
  }

  #leaseOf({ quota, key, limit }: QuotaRequest): Lease {
    let leases = this.#quotas.get(quota)
    if (leases === undefined) this.#quotas.set(quota, (leases = new Map()))
    const known = leases.get(key)
    if (known !== undefined) return known
    if (leases.size >= limit.maxKeys) {
      const [oldest] = leases as Iterable<[string, Lease]>
      if (oldest !== undefined) this.#return(quota, ...oldest)
      if (oldest !== undefined) leases.delete(oldest[0])
    }
    const made = { limit, tokens: 0, used: 0, epoch: 0, expires: 0, emptyUntil: 0 }
    leases.set(key, made)
    return made
  }

  #recall(id: number, quota: string, key: string): void {
    const lease = this.#quotas.get(quota)?.get(key)
    if (lease !== undefined) this.#return(quota, key, lease)
    this.#recalled.push(id)
    this.#sendSoon()
  }

  #return(quota: string, key: string, lease: Lease): void {
    const { tokens, epoch, limit } = lease
    // Tokens in use of a limit without a refill are not used up.
    const used = limit.refill === 0 ? 0 : lease.used
    if (tokens <= 0 && used <= 0) return
    this.#returns.push({ quota, key, epoch, used, unused: tokens })
    lease.tokens = 0
    if (limit.refill > 0) lease.used = 0
    this.#sendSoon()
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#sweep(), PERIOD).unref()
  }

  #sweep(): void {
    const now = this.#now()
    let isAny = false
    for (const [quota, leases] of this.#quotas) {
      for (const [key, lease] of leases) {
        if (lease.expires <= now) {
          this.#return(quota, key, lease)
          const isInUse = lease.limit.refill === 0 && lease.used > 0
          if (!isInUse && lease.emptyUntil <= now) leases.delete(key)
        }
        isAny = true
      }
      if (leases.size === 0) this.#quotas.delete(quota)
    }
    if (isAny) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Everything from one turn of the event loop is sent as one message. */
  #sendSoon(): void {
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => {
      this.#isSending = false
      const report = {
        asks: this.#asks,
        returns: this.#returns,
        charges: this.#charges,
        recalled: this.#recalled,
      }
      this.#asks = []
      this.#charges = []
      this.#returns = []
      this.#recalled = []
      this.#send({ kind: 'quota', ...report })
    })
  }
}

function spend(lease: Lease, tokens: number): void {
  lease.tokens -= tokens
  lease.used += tokens
}

/** Of those known to be empty, the one that stays empty the longest. */
function emptiest(leases: readonly Lease[], now: number): QuotaRejection | undefined {
  let longest = now
  let asked = -1
  for (const [i, { emptyUntil }] of leases.entries()) {
    if (emptyUntil <= longest) continue
    longest = emptyUntil
    asked = i
  }
  return asked < 0 ? undefined : { asked, wait: longest - now, isAway: false }
}
