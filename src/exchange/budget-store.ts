/** Why nothing was taken of a budget. */
export type Shortage = 'used-up' | 'owner-away'

/** What somebody wants of a budget, for one period of it. */
export interface BudgetTake extends BudgetPlace {
  readonly amount: number
  readonly capacity: number
  /** How many values of its key are remembered. */
  readonly maxKeys: number
}

export interface BudgetPlace {
  /** The same in every process that means the same budget, and after an edit of its amount. */
  readonly budget: string
  readonly key: string
  /** When the period ends, in milliseconds since 1970. */
  readonly ends: number
}

/** What was used of a budget in the periods that are not over. */
export interface BudgetUse {
  /** Values of its key for which anything was used. */
  readonly callers: number
  /** By all of them together, and by the one that used most. */
  readonly used: number
  readonly maxUsed: number
}

/** Who knows what was used of budgets. */
export interface BudgetStore {
  take(take: BudgetTake): Shortage | undefined | Promise<Shortage | undefined>
  /** So much more was used than was taken, or less if it is negative. */
  charge(place: BudgetPlace, amount: number): void
  use(budget: string, now: number): BudgetUse | Promise<BudgetUse>
  /** What is under way is written. */
  close?(): Promise<void>
}

/** How a period and a key travel as one. */
export function periodKey(ends: number, key: string): string {
  return `${ends} ${key}`
}

export function readPeriodKey(text: string): Pick<BudgetPlace, 'key' | 'ends'> {
  const space = text.indexOf(' ')
  return { ends: Number(text.slice(0, space)), key: text.slice(space + 1) }
}

/** Limits of this name are budgets. */
export const BUDGET = 'budget '

/** Milliseconds between two looks for periods that are over. */
const SWEEP = 60_000
/** Calls that began in a period are settled in it, however long they take. */
const GRACE = 24 * 3_600_000

interface Account {
  readonly ends: number
  used: number
}

/** In this process, for as long as it lives. */
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
    // A Map keeps the order of insertion: what is put in again goes to its end.
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

  /** All that is not over. */
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
