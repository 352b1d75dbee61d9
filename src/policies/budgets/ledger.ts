import type { QuotaLimit, Quotas } from '../../exchange/quota.ts'
import { hashText } from '../../model/hash.ts'
import type { Budget } from './schema.ts'

/** Longer than any period: what was used of one is never filled again, since the next has a key of its own. */
const NEVER_FILLED = 40 * 86_400_000

/** Why nothing was taken. */
export type Shortage = 'used-up' | 'owner-away'

/** What is left of one budget, for each key. The key names the period, so that each has its own. */
export interface Ledger {
  take(key: string, amount: number): Shortage | undefined | Promise<Shortage | undefined>
  /** So much more was used than was taken, or less if it is negative. */
  charge(key: string, amount: number): void
}

/** The ledgers of all budgets of a policy, which live on across reloads. */
export class Ledgers {
  readonly ledgers: readonly Ledger[]
  /** What each is called among the processes that share it. */
  readonly quotas: readonly string[]

  /** `key`: of the policy, the same in every process. */
  constructor(budgets: readonly Budget[], key: string, shared: Quotas | undefined) {
    const name = hashText(key)
    const quotas = budgets.map((_, index) => `budget ${name} ${index}`)
    this.quotas = shared === undefined ? [] : quotas
    this.ledgers = budgets.map((budget, index) =>
      shared === undefined
        ? new OwnLedger(unitsOf(budget), budget.maxKeys)
        : sharedLedger(budget, quotas[index] as string, shared),
    )
  }
}

/** Dollars are counted in billionths, which a double holds exactly up to nine million dollars. */
const UNITS_PER_DOLLAR = 1e9

export function unitsOf({ measure, amount }: Budget): number {
  return measure === 'usd' ? Math.round(amount * UNITS_PER_DOLLAR) : amount
}

/** Of a process that serves alone. */
class OwnLedger implements Ledger {
  readonly #capacity: number
  readonly #maxKeys: number
  readonly #used = new Map<string, number>()

  constructor(capacity: number, maxKeys: number) {
    this.#capacity = capacity
    this.#maxKeys = maxKeys
  }

  take(key: string, amount: number): Shortage | undefined {
    const used = this.#used.get(key) ?? 0
    if (used + amount > this.#capacity) return 'used-up'
    this.#set(key, used + amount)
    return undefined
  }

  charge(key: string, amount: number): void {
    this.#set(key, Math.max(0, (this.#used.get(key) ?? 0) + amount))
  }

  /** A Map keeps the order of insertion: what is put in again goes to its end. */
  #set(key: string, used: number): void {
    this.#used.delete(key)
    if (this.#used.size >= this.#maxKeys) {
      this.#used.delete(this.#used.keys().next().value as string)
    }
    this.#used.set(key, used)
  }
}

/** Of one among several: the process that owns the quotas knows what is left. */
function sharedLedger(budget: Budget, quota: string, quotas: Quotas): Ledger {
  const capacity = unitsOf(budget)
  const limit: QuotaLimit = {
    capacity,
    refill: capacity,
    interval: NEVER_FILLED,
    maxKeys: budget.maxKeys,
  }
  return {
    take(key, amount) {
      const outcome = quotas.take([{ quota, limit, key, amount }])
      const settle = (refusal: Awaited<typeof outcome>): Shortage | undefined =>
        refusal === undefined ? undefined : refusal.isAway ? 'owner-away' : 'used-up'
      return outcome instanceof Promise ? outcome.then(settle) : settle(outcome)
    },
    charge: (key, amount) => quotas.charge(quota, key, amount),
  }
}
