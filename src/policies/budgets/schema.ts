import * as z from 'zod'
import { choice, expression, scalar } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import type { BudgetPeriod } from './period.ts'

/** What calls to models may use in each period of the calendar. */
export interface Budget {
  readonly measure: 'requests' | 'tokens' | 'usd'
  /** Of the measure; dollars with up to six decimals. */
  readonly amount: number
  readonly per: BudgetPeriod
  readonly key?: string
  /** Absent: all. */
  readonly models?: readonly string[]
  readonly maxKeys: number
}

const count = () => z.int().min(1).max(1_000_000_000_000)

const dollars = () =>
  scalar<number>({
    what: 'an amount of US dollars',
    hint: "write it as a string, as '5' or '0.25', with up to six decimals",
    pattern: /^(0|[1-9]\d{0,5})(\.\d{1,6})?$/,
    parse: (text) => (Number(text) > 0 ? Number(text) : undefined),
  })

const budget = oneOfKeys(
  z.strictObject({
    requests: count().optional().describe('Calls that a provider served.'),
    tokens: count().optional().describe('Tokens, as providers report them.'),
    usd: dollars()
      .optional()
      .describe(
        'US dollars by `config.modelCatalog`. Models without a price are denied with 403, since ' +
          'their cost cannot be counted.',
      ),
    per: choice('Minute', 'Hour', 'Day', 'Week', 'Month').describe(
      'The period, by the calendar in UTC; weeks start on Monday.',
    ),
    key: expression('any')
      .optional()
      .describe(
        'Counts separately for each value, such as `apiKey.key` or `jwt.sub`; else all together. ' +
          'Requests for which it has no value, or an error, are counted as one.',
      ),
    models: z
      .array(z.string().min(1).max(256))
      .min(1)
      .max(256)
      .optional()
      .describe('The models that it is for, with one `*` at an end at most; by default all.'),
    maxKeys: z
      .int()
      .min(1)
      .max(10_000_000)
      .prefault(100_000)
      .describe('How many values are remembered; the longest unused is forgotten first.'),
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
    'What calls to models may use. Before a call its estimate is reserved: the tokens of the ' +
      'request, and as many as the model may write. After it, the estimate is replaced by what ' +
      'the provider reports. Without room the response is 429 with `Retry-After`. Budgets of all ' +
      'levels hold together, for all workers of the gateway, and are kept across reloads; with ' +
      '`config.budgets.file` or `config.database` over restarts, too, and with the latter they ' +
      'hold for all replicas together. After an edit of the amount, what was used still counts.',
  )
