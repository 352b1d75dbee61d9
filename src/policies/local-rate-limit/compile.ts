import type { Exchange } from '../../exchange/exchange.ts'
import type { QuotaRejection, Quotas } from '../../exchange/quota.ts'
import type { Reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { compileLimitKey, type KeyOf } from '../limit-key.ts'
import { metered } from '../metered.ts'
import { type Bucket, type Buckets, PolicyBuckets } from './buckets.ts'
import { AWAY, tooMany } from './rejections.ts'
import type { RateLimit } from './schema.ts'
import { ownTokens, sharedTokens } from './token-buckets.ts'

type Limits = readonly RateLimit[]

export function compileLocalRateLimit(
  [policy]: Attachments<Limits>,
  context: CompileContext,
): Part {
  const { quotas } = context.policyDeps
  const all = context.kept(
    policy,
    (key) => new PolicyBuckets(policy.policy, policy.value, key, quotas),
  )
  const known = all.limits.map((buckets, index) => {
    const keyOf = compileLimitKey(buckets.limit.key, `[${index}].key`, policy, context)
    return { buckets, keyOf, quota: all.quotas[index] ?? '' }
  })
  const { now } = context
  const counted = known.filter(({ buckets }) => buckets.limit.type === 'requests')
  const tokens = known.filter(({ buckets }) => buckets.limit.type === 'tokens')
  const step = quotas === undefined ? ownStep(counted, now) : sharedStep(counted, quotas)
  if (tokens.length === 0) return { step }
  const limitsOf = (exchange: Exchange) => {
    const variables = variablesOf(exchange)
    return tokens.map(({ buckets, keyOf, quota }) => {
      const key = keyOf(variables)
      return quotas === undefined
        ? ownTokens(policy, buckets, key, now)
        : sharedTokens(policy, buckets.limit, quota, key, quotas)
    })
  }
  return metered(limitsOf, counted.length === 0 ? undefined : step)
}

function ownStep(counted: readonly Counted[], now: () => number): Step {
  return (exchange) => {
    const variables = variablesOf(exchange)
    const time = now()
    const taken: Bucket[] = []
    let rejection: Reply | undefined
    let longest = -1
    for (const { buckets, keyOf } of counted) {
      const bucket = buckets.at(keyOf(variables), time)
      taken.push(bucket)
      if (bucket.left >= 1) continue
      const { limit } = buckets
      const wait = Math.max(0, bucket.filledAt + limit.interval - time)
      if (wait <= longest) continue
      longest = wait
      rejection = tooMany(limit, wait)
    }
    if (rejection !== undefined) return rejection
    // All or nothing: a rejection by one limit does not use up the others.
    for (const bucket of taken) bucket.left--
    return undefined
  }
}

interface Counted {
  readonly buckets: Buckets
  readonly keyOf: KeyOf
  readonly quota: string
}

/** The same with buckets that several processes share: their owner decides. */
function sharedStep(counted: readonly Counted[], quotas: Quotas): Step {
  const replyTo = (rejection: QuotaRejection | undefined): Reply | undefined => {
    if (rejection === undefined) return undefined
    if (rejection.isAway) return AWAY
    return tooMany((counted[rejection.asked] as Counted).buckets.limit, rejection.wait)
  }
  return (exchange) => {
    const variables = variablesOf(exchange)
    const asked = counted.map(({ buckets, keyOf, quota }) => ({
      quota,
      limit: buckets.limit,
      key: keyOf(variables),
    }))
    const taken = quotas.take(asked)
    return taken instanceof Promise ? taken.then(replyTo) : replyTo(taken)
  }
}
