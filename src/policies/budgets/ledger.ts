import {
  BUDGET,
  type BudgetStore,
  MemoryBudgets,
  periodKey,
  type Shortage,
} from '../../exchange/budget-store.ts'
import type { QuotaLimit, Quotas } from '../../exchange/quota.ts'
import { hashOf } from '../../model/hash.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { Budget } from './schema.ts'

/** For a limit that is never refilled: the next period has its own key. */
const NEVER_FILLED = 40 * 86_400_000

/** The remainder of one budget, for each key and period. */
export interface Ledger {
  take(
    ends: number,
    key: string,
    amount: number,
  ): Shortage | undefined | Promise<Shortage | undefined>
  /** Charges usage beyond what was taken; a negative amount returns some. */
  charge(ends: number, key: string, amount: number): void
}

interface LedgerDeps {
  /** Set in one of several processes. */
  readonly quotas?: Quotas | undefined
  /** Set in a process that serves alone. */
  readonly store?: BudgetStore | undefined
}

/** The ledgers of all budgets of a policy; they survive reloads. */
export class Ledgers {
  readonly ledgers: readonly Ledger[]
  /** Their names among the processes that share them. */
  readonly quotas: readonly string[]

  constructor(policy: ValidPolicy<readonly Budget[]>, { quotas, store }: LedgerDeps) {
    const names = budgetNames(policy)
    this.quotas = quotas === undefined ? [] : names
    this.ledgers = policy.value.map((budget, index) => {
      const name = names[index] as string
      return quotas === undefined
        ? ownLedger(budget, name, store ?? OWN)
        : sharedLedger(budget, name, quotas)
    })
  }
}

/** For a process without a configured store. */
const OWN = new MemoryBudgets()

/**
 * The name of each budget wherever it is counted. It is stable across restarts and edits of the
 * amount: raising a budget keeps its usage.
 */
export function budgetNames({
  level,
  policy,
  value,
}: Pick<ValidPolicy<readonly Budget[]>, 'level' | 'policy' | 'value'>): readonly string[] {
  const seen = new Map<string, number>()
  return value.map(({ measure, per, key = '', models = [] }) => {
    const name = hashOf([level, policy, measure, per, key, models])
    const nth = seen.get(name) ?? 0
    seen.set(name, nth + 1)
    return `${BUDGET}${name} ${nth}`
  })
}

/**
 * Dollars are counted in billionths, which a double represents exactly up to nine million dollars.
 */
const UNITS_PER_DOLLAR = 1e9

export function unitsOf({ measure, amount }: Budget): number {
  return measure === 'usd' ? Math.round(amount * UNITS_PER_DOLLAR) : amount
}

function ownLedger(budget: Budget, name: string, store: BudgetStore): Ledger {
  const capacity = unitsOf(budget)
  const { maxKeys } = budget
  return {
    take: (ends, key, amount) => store.take({ budget: name, key, ends, amount, capacity, maxKeys }),
    charge: (ends, key, amount) => store.charge({ budget: name, key, ends }, amount),
  }
}

/** The process that owns the quotas tracks the remainder. */
function sharedLedger(budget: Budget, quota: string, quotas: Quotas): Ledger {
  const capacity = unitsOf(budget)
  const limit: QuotaLimit = {
    capacity,
    refill: capacity,
    interval: NEVER_FILLED,
    maxKeys: budget.maxKeys,
  }
  return {
    take(ends, key, amount) {
      const outcome = quotas.take([{ quota, limit, key: periodKey(ends, key), amount }])
      const settle = (rejection: Awaited<typeof outcome>): Shortage | undefined =>
        rejection === undefined ? undefined : rejection.isAway ? 'owner-away' : 'used-up'
      return outcome instanceof Promise ? outcome.then(settle) : settle(outcome)
    },
    charge: (ends, key, amount) => quotas.charge(quota, periodKey(ends, key), amount),
  }
}
