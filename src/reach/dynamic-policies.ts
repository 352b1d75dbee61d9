import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { RouteAction } from '../model/route.ts'
import { kindsThat } from './kinds.ts'

/*
 * A dynamic backend has no endpoints of its own: each request names its target. There is nothing to
 * choose among, nothing to check before a request names it, and nothing to exclude.
 */
const OF_ENDPOINTS = kindsThat(({ cluster }) => cluster === 'endpoints')

/** Reports policies that are set where they reach only dynamic backends, and have no effect. */
export function* checkDynamicPolicies(model: Model): Generator<Diagnostic> {
  const dynamic = new Set(
    model.backends.filter(({ kind }) => kind === 'dynamic').map(({ name }) => name),
  )
  if (dynamic.size === 0) return
  const reported = new Set<Attached>()
  for (const policy of reachingOnly(model, dynamic)) {
    const { kind, section, state, origin } = policy
    const isMeant = section === 'backend' && state === 'valid' && OF_ENDPOINTS.has(kind)
    if (!isMeant || reported.has(policy)) continue
    reported.add(policy)
    yield {
      code: 'PC0221',
      severity: 'warning',
      message: `\`${kind}\` has no effect on a dynamic backend: each request determines its target`,
      origin,
      hint: 'remove it, or list the addresses with `hosts` instead of `dynamic`',
    }
  }
}

/** Policies of gateways apply to any routes, and are not checked. */
function* reachingOnly(model: Model, dynamic: ReadonlySet<string>): Generator<Attached> {
  for (const { name, policies } of model.backends) if (dynamic.has(name)) yield* policies
  for (const { policies, rules } of model.routes) {
    for (const rule of rules) {
      yield* ofRefs(rule.action, dynamic)
      if (leadsOnlyTo(dynamic, [rule.action])) yield* rule.policies
    }
    const actions = rules.map(({ action }) => action)
    if (leadsOnlyTo(dynamic, actions)) yield* policies
  }
  for (const { policies, action } of model.tcpRoutes) {
    yield* ofRefs(action, dynamic)
    if (leadsOnlyTo(dynamic, [action])) yield* policies
  }
}

function* ofRefs(action: RouteAction, dynamic: ReadonlySet<string>): Generator<Attached> {
  for (const { backend, policies } of refsOf(action)) if (dynamic.has(backend)) yield* policies
}

function leadsOnlyTo(dynamic: ReadonlySet<string>, actions: readonly RouteAction[]): boolean {
  const refs = actions.flatMap(refsOf)
  return refs.length > 0 && refs.every(({ backend }) => dynamic.has(backend))
}

function refsOf(action: RouteAction) {
  return action.kind === 'forward' ? action.backends : []
}
