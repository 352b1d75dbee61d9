import type { Gateway, Listener } from '../model/gateway.ts'
import type { Route, RouteRule } from '../model/route.ts'
import { kindsThat } from '../reach/kinds.ts'

/**
 * `guarded`: clients must authenticate, or some requests fail an Allow or Require rule.
 * `partly-guarded`: the same for some of its hostnames, matches or backends, while others admit
 * everything. `open-by-default`: only Deny rules reject requests. `unknown`: it could not be
 * determined whether rules reject anything, or a service is called conditionally or fails open.
 * `no-backend`: nothing guards it and there is nothing to guard: a redirect, or a response of the
 * gateway itself that is an error or has no body.
 */
export type Protection =
  | 'guarded'
  | 'partly-guarded'
  | 'open-by-default'
  | 'unknown'
  | 'unprotected'
  | 'no-backend'

/** One path through the gateway to a backend, or to one provider of it. */
export interface GuardedWay {
  readonly gateway: Gateway
  readonly listener: Listener
  /** Undefined for a connection that is not HTTP. */
  readonly route: Route | undefined
  readonly rule: RouteRule | undefined
  readonly backend: string | undefined
  /** Undefined if any provider serves it. */
  readonly provider: string | undefined
  /** Only for calls that use this name. */
  readonly model?: string
}

/**
 * Whether the Allow and Require rules on a path reject anything that comes without credentials: a
 * rule that every request satisfies guards nothing. The result depends on all rules of the path
 * together and on what the route matches, so reading the rules one by one is not enough. `part`:
 * some of the hostnames and matches of the route are guarded, others are not.
 */
export interface RuleGuard {
  (way: GuardedWay): 'something' | 'part' | 'nothing' | 'unknown'
  /** For rules about MCP messages; to one server, if that is the provider. */
  messages(way: GuardedWay): 'something' | 'nothing' | 'unknown'
}

export interface Guard {
  readonly kind: string
  readonly policy: string
  readonly level: string
  readonly origin: string
  /** Whether it rejects anything; policies in audit mode reject nothing. */
  readonly isEnforced: boolean
  /** It rejects some requests by condition, or none while its service is unreachable. */
  readonly isConditional?: true
  readonly failsOpen?: true
  readonly isInvalid: boolean
  readonly rules: readonly GuardRule[]
}

export interface GuardRule {
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly expression: string
}

/** Weakest first. */
export const STRENGTH: readonly Protection[] = [
  'unprotected',
  'open-by-default',
  'unknown',
  'partly-guarded',
  'guarded',
]

/** For providers: a client that one of them denies may be served by another. */
export function weakest(all: readonly Protection[]): Protection {
  return STRENGTH[Math.min(...all.map((one) => STRENGTH.indexOf(one)))] as Protection
}

/** For backends that share the requests: what applies to one of them may not apply to all. */
export function byAnyOf(all: readonly Protection[]): Protection {
  const [first = 'unprotected', ...others] = all
  if (others.every((one) => one === first)) return first
  if (all.includes('unknown')) return 'unknown'
  // The backends differ, so something is rejected on the path to one of them.
  const isGuarding = all.includes('guarded') || all.includes('partly-guarded')
  return isGuarding ? 'partly-guarded' : 'open-by-default'
}

export const MCP_RULES: ReadonlySet<string> = kindsThat(
  ({ hasRules, stage }) => hasRules && stage === 'mcp',
)

/** It rejects all requests without credentials, whatever the rules decide. */
export function isShut({ isEnforced, rules }: Guard): boolean {
  return isEnforced && rules.length === 0
}

/** The combined protection of everything on one path. */
export function protectionOf(
  guards: readonly Guard[],
  way: GuardedWay,
  rulesGuard: RuleGuard,
): Protection {
  const enforced = guards.filter(({ isEnforced }) => isEnforced)
  // Authentications, and invalid policies, which deny everything.
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
  // Its condition is not analyzed.
  if (guards.some(({ isConditional }) => isConditional)) return 'unknown'
  const isDenying = [...messages, ...requests].some(({ action }) => action === 'Deny')
  return isDenying ? 'open-by-default' : 'unprotected'
}
