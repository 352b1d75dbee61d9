import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { UsageLimit } from '../../exchange/usage-limit.ts'
import { matchesModel } from '../../model/model-names.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { compileLimitKey, type KeyOf } from '../limit-key.ts'
import { metered } from '../metered.ts'
import { type Ledger, Ledgers, unitsOf } from './ledger.ts'
import { periodAt } from './period.ts'
import type { Budget } from './schema.ts'

interface Compiled {
  readonly policy: ValidPolicy
  readonly budget: Budget
  readonly ledger: Ledger
  readonly keyOf: KeyOf
}

/** The code that makes the call takes from the budgets: the model is not known yet. */
export function compileBudgets(
  policies: Attachments<readonly Budget[]>,
  context: CompileContext,
): Part {
  const { quotas, budgets: store, date = Date.now } = context.policyDeps
  const all = policies.flatMap((policy): readonly Compiled[] => {
    const { ledgers } = context.kept(policy, () => new Ledgers(policy, { quotas, store }))
    return policy.value.map((budget, index) => ({
      policy,
      budget,
      ledger: ledgers[index] as Ledger,
      keyOf: compileLimitKey(budget.key, `[${index}].key`, policy, context),
    }))
  })
  return metered((exchange) => {
    const variables = variablesOf(exchange)
    return all.map((one) => limitOf(one, one.keyOf(variables), date))
  })
}

function limitOf(
  { policy, budget, ledger }: Compiled,
  key: string,
  date: () => number,
): UsageLimit {
  const { measure, models, per } = budget
  const capacity = unitsOf(budget)
  let taken = 0
  let ends = 0
  return {
    measure,
    budget: policy.policy,
    by: policy,
    isFor: (model) => models === undefined || models.some((one) => matchesModel(one, model)),
    take(estimate) {
      const now = date()
      const { end } = periodAt(now, per)
      // A call that may use more than the capacity needs all of it.
      const amount = Math.min(Math.max(1, Math.ceil(estimate)), capacity)
      const settle = (shortage: Awaited<ReturnType<Ledger['take']>>): Reply | undefined => {
        if (shortage === 'owner-away') return AWAY
        if (shortage !== undefined) return usedUp(end - now)
        taken = amount
        return undefined
      }
      // Usage counts for the period in which the call started.
      ends = end
      const outcome = ledger.take(ends, key, amount)
      return outcome instanceof Promise ? outcome.then(settle) : settle(outcome)
    },
    settle(used) {
      const exact = Math.ceil(used)
      if (exact !== taken) ledger.charge(ends, key, exact - taken)
      taken = exact
    },
  }
}

const AWAY: Reply = {
  ...reply(503, 'rate-limit', '', headerEdit({ set: [{ name: 'retry-after', value: '1' }] })),
  detail: 'owner-away',
}

/** SDKs that retry automatically wait for seconds, not until tomorrow. */
const WORTH_WAITING = 60_000

function usedUp(wait: number): Reply {
  const seconds = String(Math.max(1, Math.ceil(wait / 1000)))
  const set = [{ name: 'retry-after', value: seconds }]
  return {
    ...reply(429, 'rate-limit', '', headerEdit({ set })),
    detail: 'budget',
    message: 'The budget for model calls is exhausted.',
    code: 'budget_exhausted',
    ...(wait > WORTH_WAITING ? { isFinal: true } : {}),
  }
}
