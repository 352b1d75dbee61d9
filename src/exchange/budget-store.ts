/** Why nothing was taken from a budget. */
export type Shortage = 'used-up' | 'owner-away'

/** An amount to take from a budget in one period. */
export interface BudgetTake extends BudgetPlace {
  readonly amount: number
  readonly capacity: number
  /** The max number of key values to track. */
  readonly maxKeys: number
}

export interface BudgetPlace {
  /** The same in every process that uses the same budget, and unchanged if its amount is edited. */
  readonly budget: string
  readonly key: string
  /** End of the period, in milliseconds since 1970. */
  readonly ends: number
}

/** Usage of a budget in the periods that have not ended. */
export interface BudgetUse {
  /** Number of key values with any usage. */
  readonly callers: number
  /** The total of all callers, and the highest usage of a single one. */
  readonly used: number
  readonly maxUsed: number
}

/** Stores the usage of budgets. */
export interface BudgetStore {
  take(take: BudgetTake): Shortage | undefined | Promise<Shortage | undefined>
  /** Adds usage beyond what was taken; a negative amount returns some. */
  charge(place: BudgetPlace, amount: number): void
  use(budget: string, now: number): BudgetUse | Promise<BudgetUse>
  /** Flushes pending writes. */
  close?(): Promise<void>
}

/** Encodes a period and a key as one string. */
export function periodKey(ends: number, key: string): string {
  return `${ends} ${key}`
}

export function readPeriodKey(text: string): Pick<BudgetPlace, 'key' | 'ends'> {
  const space = text.indexOf(' ')
  return { ends: Number(text.slice(0, space)), key: text.slice(space + 1) }
}

/** Prefix of the names of limits that are budgets. */
export const BUDGET = 'budget '

/** Milliseconds between two sweeps for ended periods. */
const SWEEP = 60_000
/** Calls that started in a period are settled in it, no matter how long they take. */
const GRACE = 24 * 3_600_000

interface Account {
  readonly ends: number
  used: number
}

/** Budgets in the memory of this process. */
export class MemoryBudgets implements BudgetStore {
  readonly #budgets = new Map<string, Map<string, Account>>()
  readonly #now: () => number
  #sweptAt = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  take({ budget, key, ends, amount, capacity, maxKeys }: BudgetTake): Shortage | undefined {
    this.#sweep()
    const accounts = this.#accountsOf(budget)
    const id = periodKey(ends, key)
    const used = accounts.get(id)?.used ?? 0
    if (used + amount > capacity) return 'used-up'
    // A Map keeps insertion order: an entry that is set again moves to the end.
    accounts.delete(id)
    if (accounts.size >= maxKeys) accounts.delete(accounts.keys().next().value as string)
    accounts.set(id, { ends, used: used + amount })
    return undefined
  }

  charge({ budget, key, ends }: BudgetPlace, amount: number): void {
    const accounts = this.#accountsOf(budget)
    const id = periodKey(ends, key)
    const account = accounts.get(id)
    if (account !== undefined) account.used = Math.max(0, account.used + amount)
    else if (amount > 0) accounts.set(id, { ends, used: amount })
  }

  use(budget: string, now: number): BudgetUse {
    let [callers, used, maxUsed] = [0, 0, 0]
    for (const account of this.#budgets.get(budget)?.values() ?? []) {
      if (account.ends <= now || account.used === 0) continue
      callers++
      used += account.used
      maxUsed = Math.max(maxUsed, account.used)
    }
    return { callers, used, maxUsed }
  }

  /** All entries that have not expired. */
  *entries(): Generator<BudgetPlace & { readonly used: number }> {
    for (const [budget, accounts] of this.#budgets) {
      for (const [id, { used }] of accounts) yield { budget, ...readPeriodKey(id), used }
    }
  }

  #accountsOf(budget: string): Map<string, Account> {
    let accounts = this.#budgets.get(budget)
    if (accounts === undefined) this.#budgets.set(budget, (accounts = new Map()))
    return accounts
  }

  #sweep(): void {
    const now = this.#now()
    if (now < this.#sweptAt + SWEEP && now >= this.#sweptAt) return
    this.#sweptAt = now
    for (const [budget, accounts] of this.#budgets) {
      for (const [id, { ends }] of accounts) if (ends + GRACE < now) accounts.delete(id)
      if (accounts.size === 0) this.#budgets.delete(budget)
    }
  }
}
