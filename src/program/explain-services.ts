import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { kindsThat } from '../reach/kinds.ts'
import type { ExplainedStage, HypotheticalRequest } from './explain.ts'
import { placeOf } from './link.ts'
import type { BackendProgram, RouteProgram } from './program.ts'
import type { WayBack } from './way-back.ts'

/** A policy that would call a service about the request; its response is not known here. */
export interface Unasked {
  readonly kind: string
  readonly policy: string
  /** The service may respond to the client in place of whatever comes after it. */
  readonly mayRespond: boolean
  /** It is called about the tokens of a call to a model, and not about other requests. */
  readonly onlyForCalls: boolean
}

/** Sessions are supposed as tokens are; of other services nobody can say what they respond. */
const ASKING = kindsThat(
  ({ asksService, identifies }) => asksService && !identifies.includes('jwt'),
)
const RESPONDING = kindsThat(
  ({ asksService, identifies, countsRequests }) =>
    asksService && identifies.length === 0 && !countsRequests,
)

/**
 * Those that apply to this request. The steps themselves run, so that conditions are evaluated as
 * in the proxy: one that waits is one that calls a service, and here nobody responds to it.
 */
export function unaskedAt(
  { steps, kinds = [] }: Pick<RouteProgram | BackendProgram, 'steps' | 'kinds'>,
  exchange: Exchange,
  { identity }: Pick<HypotheticalRequest, 'identity'>,
): Services {
  let late: Reply | undefined
  const unasked = kinds.flatMap((kind, index): readonly Unasked[] => {
    const step = steps[index]
    if (!ASKING.has(kind) || step === undefined) return []
    // A record says what it responded.
    if (kind === 'extAuthz' && identity.extauthz !== undefined) return []
    const { usageLimits } = exchange
    const outcome = step(exchange)
    const isCounting = exchange.usageLimits.length > usageLimits.length
    exchange.usageLimits = usageLimits
    const isWaiting = outcome instanceof Promise
    if (isWaiting) outcome.catch(() => {})
    else late ??= outcome
    if (!isWaiting && !isCounting) return []
    const policy = placeOf(step)?.policy ?? ''
    return [{ kind, policy, mayRespond: RESPONDING.has(kind), onlyForCalls: !isWaiting }]
  })
  return { unasked, late }
}

/** What comes of policies that would call services. */
export interface Services {
  readonly unasked: readonly Unasked[]
  /** What one of them responds without any, as to a body that is too long to be shown. */
  readonly late: Reply | undefined
}

/** Those of the route, of its backend, and of the providers that its rules allow. */
export function unaskedBy(
  before: Services,
  chosen: BackendProgram,
  exchange: Exchange,
  hypothetical: HypotheticalRequest,
  allowed: ReadonlySet<string>,
): Services {
  const { upstream } = chosen
  const own = unaskedAt(chosen, exchange, hypothetical)
  if (upstream.kind !== 'ai') {
    const others = before.unasked.filter((one) => !one.onlyForCalls)
    return { unasked: [...others, ...own.unasked], late: own.late }
  }
  const asked = upstream.providers
    .filter(({ provider }) => allowed.has(provider))
    .flatMap((one) => unaskedAt(one, exchange, hypothetical).unasked)
  return { unasked: [...before.unasked, ...own.unasked, ...asked], late: own.late }
}

const TOO_LONG = reply(413, 'too-large')

/** A policy keeps the whole body before it is sent on, and it has no room for this one. */
export function tooLong(
  { requestBodies = [] }: WayBack,
  { body, headers }: HypotheticalRequest,
): Reply | undefined {
  const { size = 0, limits } = body ?? {}
  const isGrpc = headers.some(([name, value]) => /^content-type$/i.test(name) && GRPC.test(value))
  const isRejected = requestBodies.some(({ body: part }) => {
    if (part?.mode !== 'whole' || part.whenLonger !== 'reject') return false
    if (isGrpc && part.grpc !== true) return false
    return size > (part.maxBytes ?? limits?.body ?? Number.POSITIVE_INFINITY)
  })
  return isRejected ? TOO_LONG : undefined
}

const GRPC = /^application\/grpc/i

/** Where a request goes that names its address itself, and whether that may be reached. */
export function unknownAddress(
  { name }: BackendProgram,
  { backend }: Exchange,
): string | undefined {
  if (backend?.type !== 'dynamic') return undefined
  return `it depends on the address that the request names: backend \`${name}\` is \`dynamic\``
}

const LIMITING = kindsThat(({ asksService, countsRequests }) => countsRequests && !asksService)

/** Limits that the gateway counts by itself, in words: here is nothing to count. */
export function limitsAt({ steps, kinds = [] }: RouteProgram): readonly string[] {
  return kinds.flatMap((kind, index) => {
    const step = steps[index]
    if (!LIMITING.has(kind) || step === undefined) return []
    return [`\`${kind}\` of \`${placeOf(step)?.policy}\``]
  })
}

/** Whether a rule of the stage reads what a service would have said. */
export function readsService({ rules }: ExplainedStage): boolean {
  return rules.some(({ rule }) => NAME.test(rule.expression))
}

/** A name is one word, however the rest is written; in a string it is no harm. */
const NAME = /\bextauthz\b/
