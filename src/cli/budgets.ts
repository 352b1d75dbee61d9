import { dirname, resolve } from 'node:path'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { BudgetStore } from '../exchange/budget-store.ts'
import type { Settings } from '../model/settings.ts'
import { BudgetFile } from '../proxy/budget-file.ts'
import type { Logger } from '../telemetry/log.ts'

/** Where it is kept what was used of budgets; undefined: in memory, as long as the process lives. */
export async function openBudgets(
  file: string,
  { budgets, database }: Settings,
  log: Logger,
): Promise<BudgetStore | Diagnostic | undefined> {
  const failed = (error: string) => log.error('budgets', { error })
  if (budgets.file !== undefined) {
    const path = resolve(dirname(file), budgets.file)
    try {
      return new BudgetFile({ path, failed })
    } catch (error) {
      return {
        code: 'PC0418',
        severity: 'error',
        message: `the file of budgets cannot be used: ${error instanceof Error ? error.message : error}`,
        origin: { kind: 'object', object: file, field: 'config.budgets.file' },
        hint: 'what was used of budgets would be lost; see to it that it can be read and written',
      }
    }
  }
  if (database === undefined) return undefined
  // Loaded for gateways that have a database, and for no other.
  const { DatabaseBudgets } = await import('./database-budgets.ts')
  const { url, maxConnections } = database
  return new DatabaseBudgets({ url: url.secret.trim(), maxConnections, failed })
}
