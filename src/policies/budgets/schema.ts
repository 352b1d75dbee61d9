import * as z from 'zod'
import { choice, expression, scalar } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import type { BudgetPeriod } from './period.ts'

/** A usage limit for calls to models in each calendar period. */
export interface Budget {
  readonly measure: 'requests' | 'tokens' | 'usd'
  /** In units of the measure; dollars with up to six decimals. */
  readonly amount: number
  readonly per: BudgetPeriod
  readonly key?: string
  /** Absent: all models. */
  readonly models?: readonly string[]
  readonly maxKeys: number
}

const count = () => z.int().min(1).max(1_000_000_000_000)

const dollars = () =>
  scalar<number>({
    what: 'an amount in US dollars',
    hint: "use a string such as '5' or '0.25', with up to six decimals",
    pattern: /^(0|[1-9]\d{0,5})(\.\d{1,6})?$/,
    parse: (text) => (Number(text) > 0 ? Number(text) : undefined),
  })

const budget = oneOfKeys(
  z.strictObject({
    requests: count().optional().describe('The number of calls served by a provider.'),
    tokens: count().optional().describe('The number of tokens, as reported by providers.'),
    usd: dollars()
      .optional()
      .describe(
        'US dollars, based on `config.modelCatalog`. Calls to models without a price are denied with 403, because ' +
          'their cost is unknown.',
      ),
    per: choice('Minute', 'Hour', 'Day', 'Week', 'Month').describe(
      'The calendar period in UTC. Weeks start on Monday.',
    ),
    key: expression('any')
      .optional()
      .describe(
        'Counts separately for each value, such as `apiKey.key` or `jwt.sub`. By default, all calls are counted together. ' +
          'Requests without a value, or for which the expression fails, are counted together.',
      ),
    models: z
      .array(z.string().min(1).max(256))
      .min(1)
      .max(256)
      .optional()
      .describe(
        'The models that the budget applies to, each with at most one leading or trailing `*`. Default: all.',
      ),
    maxKeys: z
      .int()
      .min(1)
      .max(10_000_000)
      .prefault(100_000)
      .describe(
        'Max number of distinct values to track. The least recently used one is evicted first.',
      ),
  }),
  ['requests', 'tokens', 'usd'],
).transform(({ requests, tokens, usd, per, maxKeys, key, models }): Budget => {
  const measure = requests !== undefined ? 'requests' : tokens !== undefined ? 'tokens' : 'usd'
  const amount = (requests ?? tokens ?? usd) as number
  return {
    ...{ measure, amount, per, maxKeys },
    ...(key === undefined ? {} : { key }),
    ...(models === undefined ? {} : { models }),
  }
})

export const budgets = z
  .array(budget)
  .min(1)
  .max(16)
  .describe(
    'Limits the usage of models. Before each call, an estimate is reserved: the tokens of the ' +
      'request plus the max tokens of the response. After the call, the estimate is replaced by the usage ' +
      'that the provider reports. If the budget does not suffice, the response is 429 with `Retry-After`. Budgets of all ' +
      'levels apply. They are shared by all workers of the gateway and kept across reloads; with ' +
      '`config.budgets.file` or `config.database` also across restarts, and with the latter they ' +
      'are shared by all replicas. Changing an amount does not reset the usage.',
  )
