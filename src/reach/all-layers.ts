import { type Backend, partsOf } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Route, RouteAction, RouteRule } from '../model/route.ts'
import type { Layer } from './layers.ts'

/**
 * Like `layersOf`, but without names, for callers that visit everything after every change: there
 * may be thousands of places, and nearly all that have policies are routes.
 */
export function visitPolicies(model: Model, visit: Visit): void {
  const at = (policies: readonly Attached[]) => {
    if (policies.length > 0) visit(policies)
  }
  at(model.frontend)
  for (const { policies, listeners } of model.gateways) {
    at(policies)
    for (const listener of listeners) at(listener.policies)
  }
  for (const route of model.routes) visitRoute(route, visit)
  for (const { policies, action } of model.tcpRoutes) {
    at(policies)
    visitAction(action, visit)
  }
  for (const backend of model.backends) {
    at(backend.policies)
    if (backend.kind !== 'ai' && backend.kind !== 'mcp') continue
    for (const { policies } of partsOf(backend)) at(policies)
  }
}

type Visit = (policies: readonly Attached[]) => void

export function visitRoute({ policies, rules }: Route, visit: Visit): void {
  if (policies.length > 0) visit(policies)
  for (const rule of rules) {
    if (rule.policies.length > 0) visit(rule.policies)
    visitAction(rule.action, visit)
  }
}

function visitAction(action: RouteAction, visit: Visit): void {
  if (action.kind !== 'forward') return
  for (const { policies } of action.backends) if (policies.length > 0) visit(policies)
}

type Change = (policies: readonly Attached[]) => readonly Attached[]

/** Returns the Model with every list of policies replaced, at every place that may have one. */
export function withPolicies(model: Model, change: Change): Model {
  const at = <T extends { readonly policies: readonly Attached[] }>(place: T): T => ({
    ...place,
    policies: change(place.policies),
  })
  const actionWith = (action: RouteAction): RouteAction =>
    action.kind === 'forward' ? { ...action, backends: action.backends.map(at) } : action
  const backendWith = (backend: Backend): Backend => {
    const own = at(backend)
    if (own.kind === 'mcp') return { ...own, targets: own.targets.map(at) }
    if (own.kind !== 'ai') return own
    const groups = own.groups.map((group) => ({ ...group, providers: group.providers.map(at) }))
    return { ...own, groups }
  }
  return {
    ...model,
    frontend: change(model.frontend),
    gateways: model.gateways.map((gateway) => ({
      ...at(gateway),
      listeners: gateway.listeners.map(at),
    })),
    routes: model.routes.map((route) => ({
      ...at(route),
      rules: route.rules.map((rule) => ({ ...at(rule), action: actionWith(rule.action) })),
    })),
    tcpRoutes: model.tcpRoutes.map((route) => ({ ...at(route), action: actionWith(route.action) })),
    backends: model.backends.map(backendWith),
  }
}

/**
 * Every place of a Model that has policies, whether or not anything reaches it, under the names
 * that `Reach` uses.
 */
export function* layersOf(model: Model): Generator<Layer> {
  const { gateways, routes, tcpRoutes, backends, frontend } = model
  yield* at('all gateways', frontend)
  for (const gateway of gateways) {
    yield* at(`gateway ${gateway.name}`, gateway.policies)
    for (const { name, policies } of gateway.listeners) {
      yield* at(`listener ${gateway.name}/${name}`, policies)
    }
  }
  for (const { name, policies, rules } of routes) {
    yield* at(`route ${name}`, policies)
    for (const [index, rule] of rules.entries()) {
      yield* at(`rule ${name}/${index}`, rule.policies)
      yield* refs(`${name}/${index}`, rule)
    }
  }
  for (const stream of tcpRoutes) {
    yield* at(`stream ${stream.name}`, stream.policies)
    yield* refs(`${stream.name}/0`, stream)
  }
  for (const backend of backends) {
    yield* at(`backend ${backend.name}`, backend.policies)
    const part = backend.kind === 'ai' ? 'provider' : 'server'
    for (const { name, policies } of partsOf(backend)) {
      yield* at(`${part} ${backend.name}/${name}`, policies)
    }
  }
}

function* at(place: string, policies: readonly Attached[]): Generator<Layer> {
  if (policies.length > 0) yield { place, policies }
}

function* refs(rule: string, { action }: Pick<RouteRule, 'action'>): Generator<Layer> {
  if (action.kind !== 'forward') return
  for (const [number, { policies }] of action.backends.entries()) {
    yield* at(`ref ${rule}/${number}`, policies)
  }
}
