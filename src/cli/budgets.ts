import { dirname, resolve } from 'node:path'
import type { UsedBudget } from '../admin/api/deps.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type BudgetStore, MemoryBudgets } from '../exchange/budget-store.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Settings } from '../model/settings.ts'
import { budgetNames, unitsOf } from '../policies/budgets/ledger.ts'
import { periodAt } from '../policies/budgets/period.ts'
import type { Budget } from '../policies/budgets/schema.ts'
import { BudgetFile } from '../proxy/budget-file.ts'
import type { Logger } from '../telemetry/log.ts'

/** Opens the store for budget usage. */
export async function openBudgets(
  file: string,
  { budgets, database }: Settings,
  log: Logger,
): Promise<BudgetStore | Diagnostic> {
  const failed = (error: string) => log.error('budgets', { error })
  if (budgets.file !== undefined) {
    const path = resolve(dirname(file), budgets.file)
    try {
      return new BudgetFile({ path, failed })
    } catch (error) {
      return {
        code: 'PC0418',
        severity: 'error',
        message: `cannot use the budget file: ${error instanceof Error ? error.message : error}`,
        origin: { kind: 'object', object: file, field: 'config.budgets.file' },
        hint: 'budget usage would be lost; make sure that the gateway can read and write the file',
      }
    }
  }
  if (database === undefined) return new MemoryBudgets()
  // Loaded only if a database is configured.
  const { DatabaseBudgets } = await import('./database-budgets.ts')
  const { url, maxConnections } = database
  return new DatabaseBudgets({ url: url.secret.trim(), maxConnections, failed })
}

/** Returns the usage of each budget of a policy, in the units of the budget. */
export async function useOfBudgets(
  { budgets: store }: { readonly budgets: BudgetStore },
  policy: ValidPolicy,
  now: number,
): Promise<readonly UsedBudget[]> {
  const own = policy as ValidPolicy<readonly Budget[]>
  const names = budgetNames(own)
  return Promise.all(
    own.value.map(async (budget, index) => {
      const { callers, used, maxUsed } = await store.use(names[index] as string, now)
      const unit = unitsOf({ ...budget, amount: 1 })
      const ends = new Date(periodAt(now, budget.per).end).toISOString()
      return { callers, used: used / unit, maxUsed: maxUsed / unit, ends }
    }),
  )
}
