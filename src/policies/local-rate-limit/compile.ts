import { createHash } from 'node:crypto'
import type { Variables } from '../../cel/index.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import type { QuotaRefusal, Quotas } from '../../exchange/quota.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { textOf } from '../value-text.ts'
import { type Bucket, type Buckets, PolicyBuckets } from './buckets.ts'
import type { RateLimit } from './schema.ts'

type Limits = readonly RateLimit[]

const RETRY_SOON = { name: 'retry-after', value: '1' }

export function compileLocalRateLimit(
  [policy]: Attachments<Limits>,
  context: CompileContext,
): Part {
  const { quotas } = context.world
  const all = context.kept(
    policy,
    (key) => new PolicyBuckets(policy.policy, policy.value, key, quotas),
  )
  const counted = all.limits.flatMap((buckets, index) => {
    const { key, type } = buckets.limit
    const field = `[${index}].key`
    const keyOf = key === undefined ? allTogether : compileKey(key, field, policy, context)
    // Tokens are counted by who reads the model's answer; a request as such costs none.
    return [{ buckets, keyOf, cost: type === 'requests' ? 1 : 0 }]
  })
  if (quotas !== undefined) return { step: sharedStep(all, counted, quotas) }
  const { now } = context
  return {
    step: (exchange) => {
      const variables = variablesOf(exchange)
      const time = now()
      const taken: Bucket[] = []
      let refusal: Reply | undefined
      let longest = -1
      for (const { buckets, keyOf } of counted) {
        const bucket = buckets.at(keyOf(variables), time)
        taken.push(bucket)
        if (bucket.left >= 1) continue
        const { limit } = buckets
        const wait = Math.max(0, bucket.filledAt + limit.interval - time)
        if (wait <= longest) continue
        longest = wait
        refusal = tooMany(limit, wait)
      }
      if (refusal !== undefined) return refusal
      // All or nothing: what one limit refuses does not use up the others.
      for (let i = 0; i < taken.length; i++) {
        ;(taken[i] as Bucket).left -= (counted[i] as (typeof counted)[number]).cost
      }
      return undefined
    },
  }
}

interface Counted {
  readonly buckets: Buckets
  readonly keyOf: KeyOf
}

const AWAY: Reply = {
  ...reply(503, 'rate-limit', '', headerEdit({ set: [RETRY_SOON] })),
  detail: 'owner-away',
}

/** The same where other processes take from the same buckets: whoever owns them says what is left. */
function sharedStep(all: PolicyBuckets, counted: readonly Counted[], quotas: Quotas): Step {
  const answer = (refusal: QuotaRefusal | undefined): Reply | undefined => {
    if (refusal === undefined) return undefined
    if (refusal.isAway) return AWAY
    return tooMany((counted[refusal.asked] as Counted).buckets.limit, refusal.wait)
  }
  return (exchange) => {
    const variables = variablesOf(exchange)
    const asked = counted.map(({ buckets, keyOf }, i) => ({
      quota: all.quotas[i] as string,
      limit: buckets.limit,
      key: keyOf(variables),
    }))
    const taken = quotas.take(asked)
    return taken instanceof Promise ? taken.then(answer) : answer(taken)
  }
}

type KeyOf = (variables: Variables) => string

const allTogether: KeyOf = () => ''

/** Requests for which there is no value are one client, so that to send none is no way around. */
const WITHOUT_VALUE = '-'
const LONGEST_KEY = 128

function compileKey(
  text: string,
  field: string,
  policy: Attachments<Limits>[0],
  context: CompileContext,
): KeyOf {
  const evaluate = context.compile(text, { policy, field, result: 'any' })?.evaluate()
  return (variables) => {
    const value = textOf(evaluate?.(variables))
    if (value === undefined) return WITHOUT_VALUE
    if (value.length <= LONGEST_KEY) return `=${value}`
    // Clients choose keys: what is remembered of each is bounded, and must not collide.
    return `#${createHash('sha256').update(value).digest('base64')}`
  }
}

function tooMany({ capacity }: RateLimit, wait: number): Reply {
  const seconds = String(Math.max(1, Math.ceil(wait / 1000)))
  const set = [
    { name: 'retry-after', value: seconds },
    { name: 'ratelimit-limit', value: String(capacity) },
    { name: 'ratelimit-remaining', value: '0' },
    { name: 'ratelimit-reset', value: seconds },
  ]
  return reply(429, 'rate-limit', '', headerEdit({ set }))
}
