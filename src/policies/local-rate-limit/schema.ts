import * as z from 'zod'
import { conditionOf, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

/** A bucket of `capacity`, filled with `refill` every `interval` milliseconds. */
export interface RateLimit {
  readonly type: 'requests' | 'tokens'
  readonly key?: string
  readonly maxKeys: number
  readonly capacity: number
  readonly refill: number
  readonly interval: number
}

const UNITS = { Seconds: 1000, Minutes: 60_000, Hours: 3_600_000, Days: 86_400_000 } as const

const count = () => z.int().min(1).max(1_000_000_000)

const SHAPE = {
  requests: count().optional().describe('Requests in each `unit`.'),
  tokens: count()
    .optional()
    .describe(
      'Tokens of calls to models in each `unit`, instead of `requests`. An estimate is taken ' +
        'before a call, and corrected by what the provider says. Other requests count nothing.',
    ),
  unit: choice('Seconds', 'Minutes', 'Hours', 'Days')
    .optional()
    .describe('What `requests` or `tokens` are counted for.'),
  burst: count()
    .optional()
    .describe('How many are allowed at once; by default, as many as in a unit.'),
  key: expression('any')
    .optional()
    .describe(
      'Counts separately for each value, such as `jwt.sub`; else all together. Requests for which ' +
        'it has no value, or an error, are counted as one.',
    ),
  maxKeys: z
    .int()
    .min(1)
    .max(10_000_000)
    .prefault(100_000)
    .describe('How many values are remembered; the longest unused is forgotten first.'),
  maxTokens: count().optional().describe('The bucket form: how much the bucket holds.'),
  tokensPerFill: count().optional().describe('The bucket form: how much is added; `maxTokens`.'),
  fillInterval: duration().optional().describe('The bucket form: how often.'),
  type: choice('requests', 'tokens')
    .optional()
    .describe('The bucket form: what is counted, requests by default.'),
}

type Written = z.output<z.ZodObject<typeof SHAPE>>

function checkForm({ value, issues }: z.core.ParsePayload<Written>): void {
  const { requests, tokens, unit, maxTokens, fillInterval } = value
  const isBucket = maxTokens !== undefined || fillInterval !== undefined
  const refuse = (message: string, hint: string, path: string[] = []) =>
    issues.push(
      issue(value, message, { rule: path.length === 0 ? 'missing' : 'excludes', hint }, path),
    )
  const form = 'write `requests` and `unit`, or `maxTokens` and `fillInterval`'
  if (isBucket) {
    const other = (['requests', 'tokens', 'unit', 'burst'] as const).find(
      (key) => value[key] !== undefined,
    )
    if (other !== undefined) refuse(`\`${other}\` is not part of the bucket form`, form, [other])
    if (maxTokens === undefined) refuse('`maxTokens` is missing', form)
    if (fillInterval === undefined) refuse('`fillInterval` is missing', form)
  } else {
    if (requests === undefined && tokens === undefined) refuse('`requests` is missing', form)
    else if (requests !== undefined && tokens !== undefined) {
      const hint = 'make two limits of them'
      refuse('`requests` and `tokens` exclude each other', hint, ['tokens'])
    }
    if (unit === undefined) refuse('`unit` is missing', form)
  }
}

function toLimit(value: Written): RateLimit {
  const { requests, tokens, unit, burst, key, maxKeys, maxTokens, tokensPerFill } = value
  const keyed = key === undefined ? { maxKeys } : { key, maxKeys }
  if (maxTokens !== undefined) {
    return {
      ...keyed,
      type: value.type ?? 'requests',
      capacity: maxTokens,
      refill: tokensPerFill ?? maxTokens,
      interval: value.fillInterval as number,
    }
  }
  const refill = (requests ?? tokens) as number
  return {
    ...keyed,
    type: requests === undefined ? 'tokens' : 'requests',
    capacity: burst ?? refill,
    refill,
    interval: UNITS[unit as keyof typeof UNITS],
  }
}

const limit = z.strictObject(SHAPE).check(checkForm).transform(toLimit)

const entry = z
  .strictObject({ ...conditionOf(true), ...SHAPE })
  .check(checkForm as never)
  .transform(({ condition, ...value }) => toEntry(condition, [toLimit(value)]))

export const plainRateLimit = z
  .union([limit, z.array(limit).min(1).max(16)])
  .transform((value): readonly RateLimit[] => (Array.isArray(value) ? value : [value]))
  .describe(
    'Rejects requests over the limit with 429. The limit holds for the gateway, whatever the number ' +
      'of its workers; what was counted stays when the file changes and this policy does not. ' +
      'What was lent to a worker that crashes counts as used. If the process that counts does not ' +
      'respond within 2 seconds, the request gets 503.',
  )

/** An entry of `conditional` applies unless its condition is false. */
export const localRateLimit = orConditional(plainRateLimit, entry)
