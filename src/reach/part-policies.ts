import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Backend } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { BackendRef, Route } from '../model/route.ts'
import { calledService, type Guardrails } from '../policies/guardrails/schema.ts'
import { kindsThat } from './kinds.ts'
import { decidesAt } from './points.ts'

/*
 * Policies about parts of a backend that the backend does not have. Rules about MCP guard messages
 * of MCP; a backend that is only known to speak HTTP would be open behind them. At a gateway they
 * are for those behind it that do speak MCP.
 */

/** All kinds that something is said of here. */
const KINDS: ReadonlySet<string> = new Set([
  'a2a',
  'ai',
  'backendAuth',
  'guardrails',
  'inferenceRouting',
  ...[...kindsThat(({ hasRules }) => hasRules)].filter((kind) =>
    decidesAt({ kind, section: 'backend' }, 'mcp'),
  ),
])

/** Of thousands of routes nearly none has one, which is found once for each. */
const MEANT = new WeakMap<Route, boolean>()
const MEANT_AMONG = new WeakMap<readonly Route[], readonly Route[]>()

function meantRoutes({ routes }: Model): readonly Route[] {
  let found = MEANT_AMONG.get(routes)
  if (found === undefined) MEANT_AMONG.set(routes, (found = routes.filter(isMeantRoute)))
  return found
}

function isMeantRoute(route: Route): boolean {
  const known = MEANT.get(route)
  if (known !== undefined) return known
  const isMeant = hasMeant(route.policies) || route.rules.some(isMeantRule)
  MEANT.set(route, isMeant)
  return isMeant
}

function isMeantRule({ policies, action }: Route['rules'][number]): boolean {
  if (hasMeant(policies)) return true
  return action.kind === 'forward' && action.backends.some((ref) => hasMeant(ref.policies))
}

function hasMeant(policies: readonly Attached[]): boolean {
  return policies.some(({ kind }) => KINDS.has(kind))
}

/** Rules about MCP at what leads to something else: it looks guarded, and is not. */
export function* checkMcpOnlyPolicies(model: Model): Generator<Diagnostic> {
  yield* unenforced(model, ['mcp'], isAboutMcp)
}

/** Agents are reached over HTTP: what speaks another protocol has nothing that `a2a` reads. */
export function* checkAgentPolicies(model: Model): Generator<Diagnostic> {
  const isAgent = (policy: Attached) => policy.kind === 'a2a' && policy.state === 'valid'
  for (const kind of ['ai', 'mcp'] as const) {
    const names = new Set(model.backends.filter((one) => one.kind === kind).map(({ name }) => name))
    if (names.size === 0) continue
    for (const { kind: own, origin } of reachingThese(model, names, isAgent)) {
      yield {
        code: 'PC0219',
        severity: 'error',
        message: `\`${own}\` is not supported on \`${kind}\` backends`,
        origin,
        hint: 'remove it; an agent must be a backend with `host`, `hosts`, `service` or `dynamic`',
      }
    }
  }
}

function* reachingThese(
  model: Model,
  names: ReadonlySet<string>,
  isMeant: (policy: Attached) => boolean,
): Generator<Attached> {
  for (const { name, policies } of model.backends) {
    if (names.has(name)) yield* policies.filter(isMeant)
  }
  for (const { policies, rules } of meantRoutes(model)) {
    for (const rule of rules) {
      const refs = rule.action.kind === 'forward' ? rule.action.backends : []
      const reached = refs.filter(({ backend }) => names.has(backend))
      if (reached.length === 0) continue
      yield* [...policies, ...rule.policies, ...reached.flatMap((ref) => ref.policies)].filter(
        isMeant,
      )
    }
  }
}

/** Policies about calls to models and tools at what leads to something else. */
export function* checkAiOnlyPolicies(model: Model): Generator<Diagnostic> {
  yield* unenforced(model, ['ai'], isSigner)
  yield* unenforced(model, ['host'], isPicker)
  yield* unenforced(model, ['ai'], ({ kind, state }) => kind === 'ai' && state === 'valid')
  yield* unenforced(model, ['ai', 'mcp'], isGuard)
  yield* checkWebhooks(model)
  for (const backend of model.backends) {
    if (backend.kind !== 'mcp') continue
    for (const { kind, origin } of backend.targets.flatMap((one) => one.policies.filter(isGuard))) {
      yield {
        code: 'PC0219',
        severity: 'error',
        message: `\`${kind}\` is not supported on a single server of a backend`,
        origin,
        hint: 'set it on the backend, where it applies to all servers',
      }
    }
  }
}

/** Messages of MCP are guarded one by one as they pass: no service is asked about them. */
function* checkWebhooks(model: Model): Generator<Diagnostic> {
  const names = new Set(model.backends.filter(({ kind }) => kind === 'mcp').map(({ name }) => name))
  if (names.size === 0) return
  const isMeant = (policy: Attached) =>
    policy.kind === 'guardrails' &&
    policy.state === 'valid' &&
    calledService(policy.value as Guardrails) !== undefined
  for (const policy of reachingThese(model, names, isMeant)) {
    const { origin } = policy
    const service = policy.state === 'valid' && calledService(policy.value as Guardrails)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`guardrails\` with \`${service}\` is not supported on \`mcp\` backends`,
      origin,
      hint: 'to guard MCP messages, use `regex`; to guard requests, use `extAuthz`',
    }
  }
}

function* unenforced(
  model: Model,
  enforcedBy: readonly Backend['kind'][],
  isMeant: (policy: Attached) => boolean,
): Generator<Diagnostic> {
  const reported = new Set<Attached>()
  for (const policy of reachingOthers(model, enforcedBy, isMeant)) {
    const { kind, origin } = policy
    if (!isMeant(policy) || reported.has(policy)) continue
    reported.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`${kind}\` is only supported on ${enforcedBy.map((one) => `\`${one}\``).join(' and ')} backends`,
      origin,
      hint: 'use `authorization` for rules about requests, or remove it',
    }
  }
}

function isGuard({ kind, state }: Attached): boolean {
  return kind === 'guardrails' && state === 'valid'
}

/** Picks one of the endpoints that only such a backend has. */
function isPicker({ kind, state }: Attached): boolean {
  return kind === 'inferenceRouting' && state === 'valid'
}

/** Credentials that sign what is sent, which need the call as a whole. */
function isSigner(policy: Attached): boolean {
  if (policy.kind !== 'backendAuth' || policy.state !== 'valid') return false
  return (policy.value as { kind?: unknown }).kind === 'aws'
}

const NO_REFS: readonly BackendRef[] = []

function* reachingOthers(
  model: Model,
  enforcedBy: readonly Backend['kind'][],
  isMeant: (policy: Attached) => boolean,
): Generator<Attached> {
  const isOther = ({ kind }: Backend) => !enforcedBy.includes(kind) && kind !== 'invalid'
  let others: ReadonlySet<string> | undefined
  for (const backend of guardedBackends(model)) {
    if (backend.policies.length > 0 && isOther(backend)) yield* backend.policies
    if (backend.kind !== 'ai' || !isOther(backend)) continue
    for (const { providers } of backend.groups) {
      for (const { policies } of providers) yield* policies
    }
  }
  for (const { policies, rules } of meantRoutes(model)) {
    for (const rule of rules) {
      const refs = rule.action.kind === 'forward' ? rule.action.backends : NO_REFS
      // Nearly every one of thousands of routes has nothing to do with them.
      const isAround = policies.some(isMeant) || rule.policies.some(isMeant)
      if (!isAround && !refs.some((ref) => ref.policies.some(isMeant))) continue
      const names = (others ??= new Set(model.backends.filter(isOther).map(({ name }) => name)))
      const reached = refs.filter(({ backend }) => names.has(backend))
      for (const ref of reached) yield* ref.policies
      if (reached.length > 0) yield* [...policies, ...rule.policies].filter(isMeant)
    }
  }
}

const GUARDED = new WeakMap<readonly Backend[], readonly Backend[]>()

/** Those that may have policies: thousands of routes have a plain one in place. */
function guardedBackends({ backends }: Model): readonly Backend[] {
  let found = GUARDED.get(backends)
  if (found === undefined) {
    found = backends.filter(({ kind, policies }) => kind === 'ai' || policies.length > 0)
    GUARDED.set(backends, found)
  }
  return found
}

function isAboutMcp(policy: Attached): boolean {
  return policy.state === 'valid' && decidesAt(policy, 'mcp')
}

/** A provider has one address: there is nothing to choose among. */
export function* checkProviderPolicies({ backends }: Model): Generator<Diagnostic> {
  for (const backend of backends) {
    if (backend.kind !== 'ai') continue
    const providers = backend.groups.flatMap((group) => group.providers)
    for (const { kind, state, origin } of providers.flatMap(({ policies }) => policies)) {
      if (kind !== 'loadBalancer' || state !== 'valid') continue
      yield {
        code: 'PC0221',
        severity: 'warning',
        message: '`loadBalancer` has no effect on a single provider, which has one address',
        origin,
        hint: 'set it on the backend, where it controls how the providers of a group share the load',
      }
    }
  }
}
