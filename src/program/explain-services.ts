import type { Exchange } from '../exchange/exchange.ts'
import { isGrpcRequest } from '../exchange/grpc.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { kindsThat } from '../reach/kinds.ts'
import type { ExplainedStage, HypotheticalRequest } from './explain.ts'
import { placeOf } from './link.ts'
import type { BackendProgram, RouteProgram } from './program.ts'
import type { WayBack } from './way-back.ts'

/** A policy that would call a service about the request; the service's response is unknown here. */
export interface UncalledService {
  readonly kind: string
  readonly policy: string
  /** The service may respond to the client instead of everything that follows. */
  readonly mayRespond: boolean
  /** It is called about the tokens of calls to models, and not about other requests. */
  readonly onlyForCalls: boolean
}

/** Sessions are assumed like tokens; the responses of other services cannot be known. */
const ASKING = kindsThat(
  ({ callsService, identifies }) => callsService && !identifies.includes('jwt'),
)
const RESPONDING = kindsThat(
  ({ callsService, identifies, countsRequests }) =>
    callsService && identifies.length === 0 && !countsRequests,
)

/**
 * The policies that apply to this request. The steps themselves run, so that conditions are
 * evaluated as in the proxy: a step that waits would call a service, and here no service responds.
 */
export function uncalledAt(
  { steps, kinds = [] }: Pick<RouteProgram | BackendProgram, 'steps' | 'kinds'>,
  exchange: Exchange,
  { identity }: Pick<HypotheticalRequest, 'identity'>,
): Services {
  let late: Reply | undefined
  const uncalled = kinds.flatMap((kind, index): readonly UncalledService[] => {
    const step = steps[index]
    if (!ASKING.has(kind) || step === undefined) return []
    // A record contains the service's response.
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
  return { uncalled, late }
}

/** The outcome of policies that would call services. */
export interface Services {
  readonly uncalled: readonly UncalledService[]
  /**
   * The reply that one of them sends without calling a service, such as for a body that is too long
   * to forward.
   */
  readonly late: Reply | undefined
}

/** For the route, its backend, and the providers that its rules allow. */
export function uncalledBy(
  before: Services,
  chosen: BackendProgram,
  exchange: Exchange,
  hypothetical: HypotheticalRequest,
  allowed: ReadonlySet<string>,
): Services {
  const { upstream } = chosen
  const own = uncalledAt(chosen, exchange, hypothetical)
  if (upstream.kind !== 'ai') {
    const others = before.uncalled.filter((one) => !one.onlyForCalls)
    return { uncalled: [...others, ...own.uncalled], late: own.late }
  }
  const asked = upstream.providers
    .filter(({ provider }) => allowed.has(provider))
    .flatMap((one) => uncalledAt(one, exchange, hypothetical).uncalled)
  return { uncalled: [...before.uncalled, ...own.uncalled, ...asked], late: own.late }
}

const TOO_LONG = reply(413, 'too-large')

/** The reply if a policy buffers the whole body before forwarding it, and the body is too long. */
export function tooLong(
  sections: readonly WayBack[],
  exchange: Exchange,
  { body }: HypotheticalRequest,
): Reply | undefined {
  const { size = 0, limits } = body ?? {}
  const isGrpc = isGrpcRequest(exchange)
  const parts = sections.flatMap(({ requestBodies = [] }) => requestBodies)
  const isRejected = parts.some(({ body: part }) => {
    if (part?.mode !== 'whole' || part.whenLonger !== 'reject') return false
    if (isGrpc && part.grpc !== true) return false
    return size > (part.maxBytes ?? limits?.body ?? Number.POSITIVE_INFINITY)
  })
  return isRejected ? TOO_LONG : undefined
}

/** Explains why the destination is unknown if the request itself names its address. */
export function unknownAddress(
  { name }: BackendProgram,
  { backend }: Exchange,
): string | undefined {
  if (backend?.type !== 'dynamic') return undefined
  return `it depends on the address that the request names: backend \`${name}\` is \`dynamic\``
}

const LIMITING = kindsThat(({ callsService, countsRequests }) => countsRequests && !callsService)

/** Describes the limits that the gateway counts itself; there is nothing to count here. */
export function limitsAt({ steps, kinds = [] }: RouteProgram): readonly string[] {
  return kinds.flatMap((kind, index) => {
    const step = steps[index]
    if (!LIMITING.has(kind) || step === undefined) return []
    return [`\`${kind}\` of \`${placeOf(step)?.policy}\``]
  })
}

/** Whether a rule of the stage reads a value that a service would have returned. */
export function readsService({ rules }: ExplainedStage): boolean {
  return rules.some(({ rule }) => NAME.test(rule.expression))
}

/** A name is one word regardless of spacing; a match inside a string does no harm. */
const NAME = /\bextauthz\b/
