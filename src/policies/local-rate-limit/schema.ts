import * as z from 'zod'
import { conditionOf, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

/** A bucket with `capacity`, which gains `refill` every `interval` milliseconds. */
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
  requests: count().optional().describe('Max requests per `unit`.'),
  tokens: count()
    .optional()
    .describe(
      'Max tokens of model calls per `unit`, instead of `requests`. An estimate is deducted ' +
        'before each call and corrected by the usage that the provider reports. Other requests are not counted.',
    ),
  unit: choice('Seconds', 'Minutes', 'Hours', 'Days')
    .optional()
    .describe('The unit of time for `requests` or `tokens`.'),
  burst: count().optional().describe('The max burst. Defaults to the limit per unit.'),
  key: expression('any')
    .optional()
    .describe(
      'Counts separately for each value, such as `jwt.sub`. By default, all requests are counted together. Requests ' +
        'without a value, or for which the expression fails, are counted together.',
    ),
  maxKeys: z
    .int()
    .min(1)
    .max(10_000_000)
    .prefault(100_000)
    .describe(
      'Max number of distinct values to track. The least recently used one is evicted first.',
    ),
  maxTokens: count().optional().describe('Token bucket form: the capacity of the bucket.'),
  tokensPerFill: count()
    .optional()
    .describe('Token bucket form: the number of tokens added per interval. Default: `maxTokens`.'),
  fillInterval: duration().optional().describe('Token bucket form: the fill interval.'),
  type: choice('requests', 'tokens')
    .optional()
    .describe('Token bucket form: what is counted. Default: requests.'),
}

type Written = z.output<z.ZodObject<typeof SHAPE>>

function checkForm({ value, issues }: z.core.ParsePayload<Written>): void {
  const { requests, tokens, unit, maxTokens, fillInterval } = value
  const isBucket = maxTokens !== undefined || fillInterval !== undefined
  const reject = (message: string, hint: string, path: string[] = []) =>
    issues.push(
      issue(value, message, { rule: path.length === 0 ? 'missing' : 'excludes', hint }, path),
    )
  const form = 'set either `requests` and `unit`, or `maxTokens` and `fillInterval`'
  if (isBucket) {
    const other = (['requests', 'tokens', 'unit', 'burst'] as const).find(
      (key) => value[key] !== undefined,
    )
    if (other !== undefined)
      reject(`\`${other}\` cannot be used in the token bucket form`, form, [other])
    if (maxTokens === undefined) reject('`maxTokens` is missing', form)
    if (fillInterval === undefined) reject('`fillInterval` is missing', form)
  } else {
    if (requests === undefined && tokens === undefined) reject('`requests` is missing', form)
    else if (requests !== undefined && tokens !== undefined) {
      const hint = 'use two separate limits'
      reject('`requests` and `tokens` are mutually exclusive', hint, ['tokens'])
    }
    if (unit === undefined) reject('`unit` is missing', form)
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
    'Rejects requests over the limit with 429. The limit applies to the gateway as a whole, regardless of the number ' +
      'of workers. Counters are kept across reloads unless this policy changes. ' +
      'Quota reserved by a worker that crashes counts as used. If the counting process does not ' +
      'respond within 2 seconds, the request gets 503.',
  )

/** An entry of `conditional` applies unless its condition is false. */
export const localRateLimit = orConditional(plainRateLimit, entry)
