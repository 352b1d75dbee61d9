import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { BudgetStore } from '../exchange/budget-store.ts'
import type { UserTokenStore } from '../exchange/user-token-store.ts'
import type { Settings } from '../model/settings.ts'
import type { Logger } from '../telemetry/log.ts'
import { openBudgets } from './budgets.ts'
import { openUserTokenStore } from './user-tokens.ts'

/** State that a gateway shares among all of its processes, and may keep across restarts. */
export interface Stores {
  readonly budgets: BudgetStore
  readonly userTokens: UserTokenStore
}

/** Returns a Diagnostic if a store cannot be used. */
export async function openStores(
  file: string,
  settings: Settings,
  log: Logger,
): Promise<Stores | Diagnostic> {
  const budgets = await openBudgets(file, settings, log)
  if ('code' in budgets) return budgets
  const userTokens = await openUserTokenStore(file, settings)
  if (!('code' in userTokens)) return { budgets, userTokens }
  await budgets.close?.()
  return userTokens
}
