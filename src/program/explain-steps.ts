import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import { POLICIES } from '../policies/index.ts'
import { type Oidc, signInPaths } from '../policies/oidc/schema.ts'
import { IDENTIFYING, kindsThat, recordOf } from '../reach/kinds.ts'
import { RULE_KINDS } from '../reach/points.ts'
import type { RouteProgram } from './program.ts'

/* Runs steps of a route for a hypothetical request. */

/** Whether a policy responds in place of a backend, as opposed to no backend being available. */
export function isOwnResponse({ reason }: Reply): boolean {
  return OWN_RESPONSES.has(reason)
}

const OWN_RESPONSES: ReadonlySet<Reply['reason']> = new Set(['direct-response', 'redirect'])

const KINDS = POLICIES.map(({ kind }) => kind)
/** Policies that run before authentication. */
export const EARLY = new Set(
  KINDS.slice(
    0,
    KINDS.findIndex((kind) => IDENTIFYING.has(kind)),
  ),
)
/** Policies that run after the rules, except those that count requests: there are none to count. */
export const LATE = new Set(
  KINDS.slice(KINDS.findLastIndex((kind) => RULE_KINDS.has(kind)) + 1).filter(
    (kind) => recordOf(kind)?.countsRequests !== true,
  ),
)

/** Metadata about the resource is for clients that have no token yet. */
export function pageOf(route: RouteProgram, exchange: Exchange): Reply | undefined {
  if (!exchange.request.path.startsWith('/.well-known/')) return undefined
  const page = replyOf(route, DESCRIBING, exchange)
  return page !== undefined && isOwnResponse(page) ? page : undefined
}

const DESCRIBING = kindsThat(({ repliesTo }) => repliesTo === 'metadata')
export const TRANSFORMING = kindsThat(({ setsMetadata }) => setsMetadata)
/** These policies attach guards, which run once there is a message. */
export const GUARDING = kindsThat(({ checksMessages }) => checksMessages)

/**
 * The policy whose sign-in or sign-out page is requested; its response depends on the provider and
 * the session.
 */
export function signInPageOf(
  { authentications = [] }: Pick<RouteProgram, 'authentications'>,
  { request: { path } }: Exchange,
): string | undefined {
  const owner = authentications.find(
    ({ kind, state, ...rest }) =>
      kind === 'oidc' &&
      state === 'valid' &&
      Object.values(signInPaths((rest as { readonly value: Oidc }).value)).includes(path),
  )
  return owner && `\`oidc\` of \`${owner.policy}\` responds to this path itself`
}

/** The reply of these steps of the route, computed by the same functions as in the proxy. */
export function replyOf(
  { steps, kinds = [] }: Pick<RouteProgram, 'steps' | 'kinds'>,
  wanted: ReadonlySet<string>,
  exchange: Exchange,
): Reply | undefined {
  for (const [index, kind] of kinds.entries()) {
    if (!wanted.has(kind)) continue
    const outcome = steps[index]?.(exchange)
    if (outcome !== undefined && !(outcome instanceof Promise)) return outcome
  }
  return undefined
}
