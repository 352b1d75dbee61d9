import type { Variables } from '../../cel/index.ts'
import { Double, Uint } from '../../cel/values/number.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import type { UsageLimit } from '../../exchange/usage-limit.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { metered } from '../metered.ts'
import { type Header, isFit } from '../service-headers.ts'
import { textOf } from '../value-text.ts'
import type { Counted, Said, Verdict } from './grpc.ts'
import type { Descriptor, RemoteRateLimit } from './schema.ts'

type CheckLimit = (exchange: Exchange, counted: readonly Counted[]) => Promise<Verdict>

export function compileRemoteRateLimit(
  [policy]: Attachments<RemoteRateLimit>,
  context: CompileContext,
): Part {
  const ask = compileCall(policy, context)
  const fails = policy.value.failureMode === 'Deny'
  const all = policy.value.descriptors.map((descriptor, index) => ({
    descriptor,
    ...compileDescriptor(descriptor, index, policy, context),
  }))
  const requests = all.filter(({ descriptor }) => descriptor.type === 'requests')
  const tokens = all.filter(({ descriptor }) => descriptor.type === 'tokens')
  const settle = (exchange: Exchange, verdict: Verdict): Reply | undefined => {
    if (verdict.kind === 'failed') return fails ? unavailable(verdict.detail) : undefined
    if (verdict.kind === 'over') return tooMany(verdict.said)
    applyHeaders(exchange, verdict.said)
    return undefined
  }
  const step: Step = (exchange) => {
    if (requests.length === 0) return undefined
    const variables = variablesOf(exchange)
    const counted = requests.map(({ count }) => count(variables))
    return ask(exchange, counted).then((verdict) => settle(exchange, verdict))
  }
  if (tokens.length === 0) return { step }
  return metered((exchange) => {
    const variables = variablesOf(exchange)
    const counted = tokens.map(({ count, costAfter }) => ({ ...count(variables), costAfter }))
    return [tokenLimit(exchange, counted, ask, (verdict) => settle(exchange, verdict))]
  }, step)
}

function compileCall(policy: ValidPolicy<RemoteRateLimit>, context: CompileContext): CheckLimit {
  const { target, domain, timeout } = policy.value
  const connected = context.connect(target, policy, '2')
  // Loaded only if there is such a policy: loading protobuf takes too long for the request path.
  const loading = import('./grpc.ts')
  loading.catch(() => {})
  return async (exchange, counted) => {
    const { limitCall, readLimitResponse } = await loading
    const response = await connected(exchange, limitCall(domain, counted, timeout))
    return 'failure' in response
      ? { kind: 'failed', detail: response.failure }
      : readLimitResponse(response)
  }
}

function compileDescriptor(
  { entries, cost, type }: Descriptor,
  index: number,
  policy: ValidPolicy<RemoteRateLimit>,
  context: CompileContext,
): CompiledDescriptor {
  const compile = (text: string, field: string, stage?: 'log') => {
    const place = { policy, field: `descriptors[${index}].${field}`, result: 'any' } as const
    return context.compile(text, stage === undefined ? place : { ...place, stage })?.evaluate()
  }
  const values = entries.map(({ key, value }, at) => ({
    key,
    evaluate: compile(value, `entries[${at}].value`),
  }))
  const isAfter = type === 'tokens'
  const costOf = cost === undefined ? undefined : compile(cost, 'cost', isAfter ? 'log' : undefined)
  const count = (variables: Variables) => ({
    entries: values.map(({ key, evaluate }) => ({
      key,
      value: textOf(evaluate?.(variables)) ?? '',
    })),
    cost: cost === undefined || isAfter ? 1 : wholeNumber(plain(costOf?.(variables))),
  })
  return { count, costAfter: isAfter ? costOf : undefined }
}

type CostAfter = ((variables: Variables) => unknown) | undefined

interface CompiledDescriptor {
  readonly count: (variables: Variables) => Counted
  /** The cost of what is counted after the response; undefined: its tokens. */
  readonly costAfter: CostAfter
}

const MAX_COST = 0xffff_ffff

/** `uint` and `double` are objects, while `int` is a number. */
function plain(value: unknown): unknown {
  return value instanceof Uint || value instanceof Double ? value.value : value
}

/** Any value that is not such a number counts as one request. */
function wholeNumber(value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || !(number >= 0)) return 1
  return Math.min(MAX_COST, Math.ceil(number))
}

/** Checks for remaining capacity without taking any, and reports the actual usage afterwards. */
function tokenLimit(
  exchange: Exchange,
  counted: readonly (Counted & { readonly costAfter: CostAfter })[],
  ask: CheckLimit,
  settle: (verdict: Verdict) => Reply | undefined,
): UsageLimit {
  const costing = (cost: number, variables?: Variables) =>
    counted.map(({ entries, costAfter }) => {
      const own = variables && costAfter?.(variables)
      return { entries, cost: own === undefined ? cost : wholeNumber(plain(own)) }
    })
  return {
    measure: 'tokens',
    isFor: () => true,
    take: () => ask(exchange, costing(0)).then(settle),
    settle(used) {
      if (used > 0) void ask(exchange, costing(wholeNumber(used), variablesOf(exchange)))
    },
  }
}

function unavailable(detail: string): Reply {
  const headers = headerEdit({ set: [{ name: 'retry-after', value: '1' }] })
  return { ...reply(503, 'rate-limit', '', headers), detail: `unavailable: ${detail}` }
}

function tooMany({ responseHeaders, body, limit, reset }: Said): Reply {
  const own: Header[] = []
  if (reset !== undefined) own.push(['retry-after', String(reset)])
  if (limit !== undefined)
    own.push(['ratelimit-limit', String(limit)], ['ratelimit-remaining', '0'])
  if (reset !== undefined) own.push(['ratelimit-reset', String(reset)])
  const fit = responseHeaders.filter(isFit)
  const isType = ([name]: Header) => name.toLowerCase() === 'content-type'
  const set = [...own, ...fit.filter((header) => !isType(header))].map(named)
  const plain = body.length === 0 ? '' : 'text/plain; charset=utf-8'
  return {
    ...reply(429, 'rate-limit', '', headerEdit({ set })),
    ...(body.length === 0 ? {} : { body }),
    contentType: body.length === 0 ? '' : (fit.find(isType)?.[1] ?? plain),
  }
}

function applyHeaders(exchange: Exchange, { requestHeaders, responseHeaders }: Said): void {
  const [request, response] = [requestHeaders.filter(isFit), responseHeaders.filter(isFit)]
  if (request.length > 0) {
    exchange.requestEdit = exchange.requestEdit.with(headerEdit({ set: request.map(named) }))
  }
  if (response.length > 0) {
    exchange.responseEdit = headerEdit({ set: response.map(named) }).with(exchange.responseEdit)
  }
}

function named([name, value]: Header) {
  return { name, value }
}
