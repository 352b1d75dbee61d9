import type { Gateway, Listener } from '../model/gateway.ts'
import type { Route, RouteRule } from '../model/route.ts'
import { kindsThat } from '../reach/kinds.ts'

/**
 * `guarded`: clients must authenticate, or there are requests that no Allow or some Require rule
 * does not match. `partly-guarded`: the same of some of its hostnames, matches or backends, and
 * everything is admitted by others. `open-by-default`: Deny rules alone keep something out. `unknown`: it could not
 * be told whether rules keep anything out, or a service is called by condition or fails open. `no-backend`:
 * nothing is set before it or behind it: a redirect, a response of the gateway's own. */
export type Protection =
  | 'guarded'
  | 'partly-guarded'
  | 'open-by-default'
  | 'unknown'
  | 'unprotected'
  | 'no-backend'

/** One way through the gateway to a backend, or to one provider of it. */
export interface GuardedWay {
  readonly gateway: Gateway
  readonly listener: Listener
  /** Undefined: of a connection that is not HTTP. */
  readonly route: Route | undefined
  readonly rule: RouteRule | undefined
  readonly backend: string | undefined
  /** Undefined: any that serves it. */
  readonly provider: string | undefined
  /** Of calls by this name alone. */
  readonly model?: string
}

/**
 * Whether Allow and Require rules on a way keep out anything that comes without credentials: a
 * rule that every request satisfies guards nothing. It takes all rules of the way together, and
 * what the route matches, so that reading them one by one does not tell. `part`: by some of
 * the hostnames and matches of the route something is kept out, by others nothing.
 */
export interface RuleGuard {
  (way: GuardedWay): 'something' | 'part' | 'nothing' | 'unknown'
  /** Of rules about messages of MCP; to one server, if that is the provider. */
  messages(way: GuardedWay): 'something' | 'nothing' | 'unknown'
}

export interface Guard {
  readonly kind: string
  readonly policy: string
  readonly level: string
  readonly origin: string
  /** Whether anything is turned away by it; blocks in audit mode turn nothing away. */
  readonly isEnforced: boolean
  /** It turns some away by a condition, or nobody while its service cannot be reached. */
  readonly isConditional?: true
  readonly failsOpen?: true
  readonly isInvalid: boolean
  readonly rules: readonly GuardRule[]
}

export interface GuardRule {
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly expression: string
}

/** From the weakest on. */
export const STRENGTH: readonly Protection[] = [
  'unprotected',
  'open-by-default',
  'unknown',
  'partly-guarded',
  'guarded',
]

/** Of providers: whoever one of them denies may be served by another. */
export function weakest(all: readonly Protection[]): Protection {
  return STRENGTH[Math.min(...all.map((one) => STRENGTH.indexOf(one)))] as Protection
}

/** Of backends that requests are spread over: what holds of one of them does not hold of all. */
export function byAnyOf(all: readonly Protection[]): Protection {
  const [first = 'unprotected', ...others] = all
  if (others.every((one) => one === first)) return first
  if (all.includes('unknown')) return 'unknown'
  // Not one kind alone, so that something is kept out on the way to one of them.
  const isGuarding = all.includes('guarded') || all.includes('partly-guarded')
  return isGuarding ? 'partly-guarded' : 'open-by-default'
}

export function withoutBackend(before: Protection): Protection {
  return before === 'unprotected' ? 'no-backend' : before
}

export const MCP_RULES: ReadonlySet<string> = kindsThat(
  ({ hasRules, stage }) => hasRules && stage === 'mcp',
)

/** It turns everybody away who brings nothing, whatever rules say. */
export function isShut({ isEnforced, rules }: Guard): boolean {
  return isEnforced && rules.length === 0
}

/** By all that is on one way together. */
export function protectionOf(
  guards: readonly Guard[],
  way: GuardedWay,
  rulesGuard: RuleGuard,
): Protection {
  const enforced = guards.filter(({ isEnforced }) => isEnforced)
  // Authentications, and what is invalid and denies everything.
  if (enforced.some(isShut)) return 'guarded'
  const rulesOf = (own: readonly Guard[]) => own.flatMap(({ rules }) => rules)
  const isAsking = ({ action }: GuardRule) => action !== 'Deny'
  const messages = rulesOf(enforced.filter(({ kind }) => MCP_RULES.has(kind)))
  const messaging = messages.some(isAsking) ? rulesGuard.messages(way) : 'nothing'
  if (messaging === 'something') return 'guarded'
  const requests = rulesOf(enforced.filter(({ kind }) => !MCP_RULES.has(kind)))
  if (requests.some(isAsking)) {
    const found = rulesGuard(way)
    if (found === 'something') return 'guarded'
    if (found === 'part') return 'partly-guarded'
    if (found === 'unknown') return 'unknown'
  }
  if (messaging === 'unknown') return 'unknown'
  // Whom its condition is for is not looked into.
  if (guards.some(({ isConditional }) => isConditional)) return 'unknown'
  const isDenying = [...messages, ...requests].some(({ action }) => action === 'Deny')
  return isDenying ? 'open-by-default' : 'unprotected'
}
