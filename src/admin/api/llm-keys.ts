import * as z from 'zod'
import type { Model } from '../../model/model.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { redact } from '../../model/redact.ts'
import { type Endpoint, ok } from './define.ts'
import type { ApiDeps } from './deps.ts'

const key = z.object({
  policy: z.string(),
  metadata: z.looseObject({}).describe('The value of `apiKey` in expressions.'),
  expires: z.string().nullable(),
  isExpired: z.boolean(),
  allowedModels: z.array(z.string()).nullable().describe('Null: all.'),
})

const budget = z.object({
  policy: z.string(),
  measure: z.string(),
  amount: z.number(),
  per: z.string(),
  key: z
    .string()
    .nullable()
    .describe(
      'Usage is counted separately for each value of this expression; null: for all callers together.',
    ),
  models: z.array(z.string()).nullable().describe('Null: all.'),
  use: z
    .object({
      callers: z.int().describe('The number of callers with any usage.'),
      used: z.number().describe('Total usage, in units of the budget.'),
      maxUsed: z.number().describe('The highest usage of one caller.'),
      ends: z.string().describe('The end of the period (RFC 3339).'),
    })
    .nullable()
    .describe(
      'Usage in the current period, including reservations for active calls; null: currently not known.',
    ),
})

const keysAndBudgets = z
  .object({ keys: z.array(key), budgets: z.array(budget) })
  .meta({ id: 'KeysAndBudgets' })

/** In the format of `policies/api-key`; neither keys nor their digests are shown. */
interface StoredKey {
  readonly metadata: z.output<typeof key>['metadata']
  readonly expires?: string
  readonly allowedModels?: readonly string[]
}

/** In the format of `policies/budgets`. */
interface StoredBudget {
  readonly measure: string
  readonly amount: number
  readonly per: string
  readonly key?: string
  readonly models?: readonly string[]
}

export const LLM_KEYS: Endpoint = {
  method: 'GET',
  path: '/api/llm/keys',
  summary: 'API keys (without the keys themselves) and budgets for model calls.',
  role: 'viewer',
  responses: { 200: { description: 'By policy.', schema: keysAndBudgets } },
  run: async (_, { status, secrets, budgetUse }) => {
    const found = await keysAndBudgetsOf(status().model, Date.now(), budgetUse)
    return ok(redact(found, { texts: secrets }))
  },
}

async function keysAndBudgetsOf(
  model: Model | undefined,
  now: number,
  budgetUse: ApiDeps['budgetUse'],
): Promise<z.output<typeof keysAndBudgets>> {
  const policies = [...policiesIn(model)]
  const of = (kind: string) => policies.filter((one) => one.kind === kind)
  const uses = await Promise.all(of('budgets').map((policy) => budgetUse(policy)))
  return {
    keys: of('apiKey').flatMap(({ policy, value }) =>
      (value as { readonly keys: readonly StoredKey[] }).keys.map(
        ({ metadata, expires = null, allowedModels = null }) => ({
          policy,
          metadata: { ...metadata },
          expires,
          isExpired: expires !== null && Date.parse(expires) <= now,
          allowedModels: allowedModels === null ? null : [...allowedModels],
        }),
      ),
    ),
    budgets: of('budgets').flatMap(({ policy, value }, at) =>
      (value as readonly StoredBudget[]).map(
        ({ measure, amount, per, key: by = null, models = null }, index) => ({
          policy,
          measure,
          amount,
          per,
          key: by,
          models: models === null ? null : [...models],
          use: uses[at]?.[index] ?? null,
        }),
      ),
    ),
  }
}

/** Every valid policy, wherever it is attached. */
function* policiesIn(value: unknown): Generator<ValidPolicy> {
  if (typeof value !== 'object' || value === null) return
  if ('state' in value && 'kind' in value && 'policy' in value) {
    if (value.state === 'valid') yield* withMembers(value as ValidPolicy)
    return
  }
  for (const member of Object.values(value)) yield* policiesIn(member)
}

/** Each of several authentication methods is shown as if it were the only one. */
function withMembers(policy: ValidPolicy): readonly ValidPolicy[] {
  if (policy.kind !== 'authentication') return [policy]
  const { anyOf } = policy.value as {
    readonly anyOf: readonly Pick<ValidPolicy, 'kind' | 'value'>[]
  }
  return anyOf.map(({ kind, value }) => ({ ...policy, kind, value }))
}
