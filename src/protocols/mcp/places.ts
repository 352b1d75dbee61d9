import type { QuotaLimit, QuotaRejection, Quotas } from '../../exchange/quota.ts'

export interface PlaceLimits {
  readonly total: number
  readonly perCaller: number
}

/** Which limit is reached. */
export type Full = 'total' | 'caller'

/**
 * Limits how many of something exist at once, in total and for each caller, in all processes that
 * serve the gateway.
 */
export class Places {
  readonly #name: string
  readonly #limits: PlaceLimits
  readonly #quotas: Quotas | undefined
  readonly #byCaller = new Map<string, number>()
  #total = 0

  /** `name` is the same in every process. */
  constructor(name: string, limits: PlaceLimits, quotas: Quotas | undefined) {
    this.#name = name
    this.#limits = limits
    this.#quotas = quotas
  }

  /** How many this process has taken. */
  get taken(): number {
    return this.#total
  }

  /** Takes a place; asynchronous if other processes must be queried. */
  take(caller: string): Full | undefined | Promise<Full | undefined> {
    const { total, perCaller } = this.#limits
    const count = this.#byCaller.get(caller) ?? 0
    if (count >= perCaller) return 'caller'
    if (this.#total >= total) return 'total'
    this.#count(caller, 1)
    const taken = this.#quotas?.take([
      { quota: this.#name, limit: atOnce(total), key: '' },
      { quota: this.#each, limit: atOnce(perCaller), key: caller },
    ])
    const full = (rejection: QuotaRejection | undefined): Full | undefined => {
      if (rejection === undefined) return undefined
      this.#count(caller, -1)
      return rejection.asked === 1 ? 'caller' : 'total'
    }
    return taken instanceof Promise ? taken.then(full) : full(taken)
  }

  give(caller: string): void {
    this.#count(caller, -1)
    this.#quotas?.give(this.#name, '')
    this.#quotas?.give(this.#each, caller)
  }

  get #each(): string {
    return `${this.#name} by caller`
  }

  #count(caller: string, change: number): void {
    this.#total += change
    const count = (this.#byCaller.get(caller) ?? 0) + change
    if (count > 0) this.#byCaller.set(caller, count)
    else this.#byCaller.delete(caller)
  }
}

/** Taken tokens are given back: nothing is refilled, and there are as many keys as tokens. */
function atOnce(capacity: number): QuotaLimit {
  const never = Number.POSITIVE_INFINITY
  return { capacity, refill: 0, interval: never, maxKeys: never }
}
