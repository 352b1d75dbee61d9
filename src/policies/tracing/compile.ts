import type { Value, Variables } from '../../cel/index.ts'
import type { Json } from '../../cel/values/json-write.ts'
import { doubleValue, isDouble } from '../../cel/values/number.ts'
import type { Target } from '../../model/backend.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { headerTexts } from '../collector-headers.ts'
import type { CompileContext } from '../define.ts'
import { compileLogExpressions, type LogExpressions } from '../log-expressions.ts'
import type { Tracing } from './schema.ts'

/** A share from 0 to 1, or a function that computes it per request. */
export type Share = number | ((variables: Variables) => number)

/** Which requests of a listener are traced, the content of spans, and the collector. */
export interface TracingPolicy extends LogExpressions {
  readonly target: Target
  readonly protocol: 'grpc' | 'http'
  /** For OTLP over HTTP. */
  readonly path: string
  /** Sent with each request to the collector. */
  readonly headers: Readonly<Record<string, string>>
  readonly randomSampling: Share
  readonly clientSampling: Share
  /** Attributes of the process: the same for all requests. */
  readonly resources: Readonly<Record<string, Json>>
  readonly removed: readonly string[]
}

/** `hidden`: headers whose values are never recorded. */
export function compileTracing(
  policy: ValidPolicy<Tracing>,
  context: CompileContext,
  hidden: readonly string[],
): TracingPolicy {
  const { target, protocol, path, filter, attributes, remove } = policy.value
  const { randomSampling, clientSampling, resources, headers } = policy.value
  const described = [['resources', resources]] as const
  const { fields } = compileLogExpressions(policy, undefined, described, context, hidden)
  const constants = fields.flatMap(({ name, valueIn }) => {
    const value = valueIn(NO_REQUEST)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...compileLogExpressions(policy, filter, [['attributes', attributes]], context, hidden),
    target,
    protocol,
    path,
    headers: headerTexts(headers),
    randomSampling: compileShare(policy, 'randomSampling', randomSampling, context),
    clientSampling: compileShare(policy, 'clientSampling', clientSampling, context),
    resources: Object.fromEntries(constants),
    removed: remove,
  }
}

const NO_REQUEST: Variables = {}

function compileShare(
  policy: ValidPolicy,
  field: string,
  share: number | string,
  context: CompileContext,
): Share {
  if (typeof share === 'number') return share
  const place = { policy, field, result: 'any', stage: 'traffic' } as const
  const evaluate = context.compile(share, place)?.evaluate()
  return (variables) => shareOf(evaluate?.(variables))
}

/** A missing value, or one that is neither a number nor a boolean, means not traced. */
function shareOf(value: Value | undefined): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  return isDouble(value) ? doubleValue(value) : 0
}
