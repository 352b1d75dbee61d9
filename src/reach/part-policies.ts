import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Backend, partsOf } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import { calledService, type Guardrails } from '../policies/guardrails/schema.ts'
import { kindsThat, recordOf } from './kinds.ts'
import { backendsByName } from './reach.ts'

/*
 * Policies for parts that a backend does not have. MCP rules guard MCP messages; a backend that is
 * only known to speak HTTP would be open behind them. At a gateway, they are for those backends
 * behind it that speak MCP.
 */

/** All kinds that are checked here. */
const KINDS = kindsThat(({ kind, enforcedBy }) => enforcedBy !== undefined || kind === 'a2a')

/** Almost none of thousands of routes has one. Each route is checked only once. */
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

/** Agents are reached over HTTP: backends with another protocol have nothing that `a2a` reads. */
export function* checkAgentPolicies(model: Model): Generator<Diagnostic> {
  const reported = new Set<Attached>()
  for (const { policy, backend } of nearBackends(model)) {
    const isServed = backend.kind !== 'ai' && backend.kind !== 'mcp'
    if (isServed || policy.kind !== 'a2a' || policy.state !== 'valid') continue
    if (reported.has(policy)) continue
    reported.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`${policy.kind}\` is not supported on \`${backend.kind}\` backends`,
      origin: policy.origin,
      hint: 'remove it; an agent must be a backend with `host`, `hosts`, `service` or `dynamic`',
    }
  }
}

/** Reports policies that a backend does not enforce: it looks guarded, and is not. */
export function* checkEnforcingBackends(model: Model): Generator<Diagnostic> {
  yield* unenforced(model)
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

/** MCP messages are guarded one by one as they pass: no service is called about them. */
function* checkWebhooks(model: Model): Generator<Diagnostic> {
  const reported = new Set<Attached>()
  for (const { policy, backend } of nearBackends(model)) {
    if (backend.kind !== 'mcp' || !isGuard(policy) || reported.has(policy)) continue
    const service = calledService(policy.value as Guardrails)
    if (service === undefined) continue
    reported.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`guardrails\` with \`${service}\` is not supported on \`mcp\` backends`,
      origin: policy.origin,
      hint: 'to guard MCP messages, use `regex`; to guard requests, use `extAuthz`',
    }
  }
}

function* unenforced(model: Model): Generator<Diagnostic> {
  const reported = new Set<Attached>()
  for (const { policy, backend } of nearBackends(model)) {
    if (policy.state !== 'valid' || backend.kind === 'invalid' || reported.has(policy)) continue
    const kinds = recordOf(policy.kind)?.enforcedBy?.(policy.value as never)
    if (kinds === undefined || kinds.includes(backend.kind)) continue
    reported.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`${policy.kind}\` is only supported on ${kinds.map((one) => `\`${one}\``).join(' and ')} backends`,
      origin: policy.origin,
      hint: 'use `authorization` for rules about requests, or remove it',
    }
  }
}

function isGuard(policy: Attached): policy is ValidPolicy {
  return policy.kind === 'guardrails' && policy.state === 'valid'
}

interface Near {
  readonly policy: Attached
  readonly backend: Backend
}

/** Policies of backends and of routes to them, but not of gateways, which are for all of them. */
function* nearBackends(model: Model): Generator<Near> {
  for (const backend of guardedBackends(model)) {
    for (const policy of backend.policies) yield { policy, backend }
    if (backend.kind !== 'ai') continue
    for (const { policies } of partsOf(backend)) {
      for (const policy of policies) yield { policy, backend }
    }
  }
  const routes = meantRoutes(model)
  if (routes.length === 0) return
  const backends = backendsByName(model.backends)
  for (const { policies, rules } of routes) {
    for (const rule of rules) {
      const refs = rule.action.kind === 'forward' ? rule.action.backends : []
      for (const ref of refs) {
        const backend = backends.get(ref.backend)
        if (backend === undefined) continue
        for (const policy of ref.policies) yield { policy, backend }
        for (const policy of policies) yield { policy, backend }
        for (const policy of rule.policies) yield { policy, backend }
      }
    }
  }
}

const GUARDED = new WeakMap<readonly Backend[], readonly Backend[]>()

/** Backends that may have policies: thousands of routes define a plain one in place. */
function guardedBackends({ backends }: Model): readonly Backend[] {
  let found = GUARDED.get(backends)
  if (found === undefined) {
    found = backends.filter(({ kind, policies }) => kind === 'ai' || policies.length > 0)
    GUARDED.set(backends, found)
  }
  return found
}

/** A provider has one address: there is nothing to choose from. */
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
