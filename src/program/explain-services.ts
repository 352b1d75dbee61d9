import type { Exchange } from '../exchange/exchange.ts'
import { kindsThat } from '../reach/kinds.ts'
import type { ExplainedStage, HypotheticalRequest } from './explain.ts'
import { placeOf } from './link.ts'
import type { BackendProgram, RouteProgram } from './program.ts'

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
): readonly Unasked[] {
  return kinds.flatMap((kind, index): readonly Unasked[] => {
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
    if (!isWaiting && !isCounting) return []
    const policy = placeOf(step)?.policy ?? ''
    return [{ kind, policy, mayRespond: RESPONDING.has(kind), onlyForCalls: !isWaiting }]
  })
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
