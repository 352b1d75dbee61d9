import { BOOL } from '../../cel/check/types.ts'
import { compile, type Expression, STAGES } from '../../cel/index.ts'
import type { Origin, Position } from '../../diagnostics/diagnostic.ts'
import type { Listener } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached, PolicyPlace, ValidPolicy } from '../../model/policy.ts'
import type { RouteRule } from '../../model/route.ts'
import type { Authorization } from '../../policies/schema.ts'
import { IDENTIFYING } from '../../reach/kinds.ts'
import { ruleKind } from '../../reach/points.ts'
import { pointsOf } from '../points.ts'
import { type InvariantScope, otherUses, type Reach, reachOf } from './scope.ts'

/** A condition that must be true for every admitted request. */
export interface Invariant {
  readonly name: string
  readonly origin: Origin | Position
  readonly on: InvariantScope
  /** The invariant covers only requests for which this is true. */
  readonly when: string | undefined
  readonly admitted: string
}

/**
 * An invariant as a change of the configuration: `before` admits what the Model admits while `when`
 * is true, and `after` also requires the condition. The invariant holds if and only if `after`
 * denies nothing that `before` admits. So the comparison of two configurations also proves
 * invariants, with the same evaluator and the same notion of proof.
 */
export interface Supposition {
  readonly before: Model
  readonly after: Model
  /** `gateway/listener` of every listener that the invariant covers. */
  readonly listeners: ReadonlySet<string>
  /** The number of route rules, and of listeners that forward connections, that it covers. */
  readonly places: number
  /** Places where the condition has no meaning, so the result is unknown. */
  readonly unclear: readonly Unclear[]
}

export interface Unclear {
  readonly listener: string
  readonly route: string
  readonly why: string
}

export function suppose(model: Model, invariant: Invariant): Supposition {
  const { on, when, admitted } = invariant
  const reach = reachOf(model, on)
  const form = formOf(when === undefined ? [admitted] : [when, admitted], on)
  const requiring = (text: string, to: Model) => withRequirement({ model, to, reach, form, text })
  const before = when === undefined ? model : requiring(when, model)
  const rules = [...reach.routes.values()].map((own) => own.rules.length)
  return {
    before,
    after: requiring(admitted, before),
    listeners: new Set([
      ...reach.streams.keys(),
      ...[...reach.routes.values()].flatMap(({ listeners }) => listeners),
    ]),
    places: rules.reduce((sum, count) => sum + count, reach.streams.size),
    unclear: [
      ...unclearPlaces(reach, form),
      ...ownResponses(model, reach, form, on),
      ...otherUses(model, on).map((why) => ({ listener: '', route: '', why })),
    ],
  }
}

/** How the condition is attached. */
interface Form {
  /** `backend` if a backend is named or the condition reads it; otherwise the stage before it. */
  readonly section: 'traffic' | 'backend'
  /** Whether it reads only what connections have. */
  readonly fitsConnections: boolean
  /** The variables that it reads. */
  readonly reads: ReadonlySet<string>
}

function formOf(texts: readonly string[], { backend }: InvariantScope): Form {
  const fits = (stage: 'connection' | 'traffic') =>
    texts.every(
      (text) => compile(text, STAGES[stage], { expect: BOOL, pure: true }).expression !== undefined,
    )
  const expressions = texts.map(
    (text) => compile(text, STAGES.backend, { expect: BOOL, pure: true }).expression as Expression,
  )
  return {
    section: backend === undefined && fits('traffic') ? 'traffic' : 'backend',
    fitsConnections: fits('connection'),
    reads: new Set(expressions.flatMap(({ reads }) => reads.map(({ variable }) => variable))),
  }
}

interface Requirement {
  /** The Model that `reach` refers to. */
  readonly model: Model
  /** The Model to add the requirement to: the same one, or one that already has another. */
  readonly to: Model
  readonly reach: Reach
  readonly form: Form
  readonly text: string
}

function withRequirement(requirement: Requirement): Model {
  const { model, to, reach, form } = requirement
  const gateways = to.gateways.map((gateway) => ({
    ...gateway,
    listeners: gateway.listeners.map((listener): Listener => {
      const door = `${gateway.name}/${listener.name}`
      if (!reach.streams.has(door) || !form.fitsConnections) return listener
      const place = { kind: ruleKind('connection'), section: 'frontend', level: 'gateway' } as const
      const taken = reach.streams.get(door)
      const text = taken === undefined ? requirement.text : `!(${taken}) || (${requirement.text})`
      const own = required({ ...place, policy: INVARIANT }, { ...requirement, text })
      return attach(listener, own)
    }),
  }))
  const routes = to.routes.map((route, index) => {
    const own = reach.routes.get(model.routes[index] as (typeof model.routes)[number])
    if (own === undefined) return route
    return {
      ...route,
      rules: route.rules.map((rule, at) => {
        const original = model.routes[index]?.rules[at] as RouteRule
        return own.rules.includes(original) ? ruleWith(rule, requirement) : rule
      }),
    }
  })
  return { ...to, gateways, routes }
}

function ruleWith(rule: RouteRule, requirement: Requirement): RouteRule {
  const { form } = requirement
  const policy = authenticators(rule.policies, form)[0] ?? INVARIANT
  const own = required(
    { kind: ruleKind(form.section), section: form.section, level: 'route', policy },
    requirement,
  )
  return attach(rule, own)
}

function attach<T extends { readonly policies: readonly Attached[] }>(place: T, own: Attached): T {
  return { ...place, policies: [...place.policies, own] }
}

/** No policy of a file can have this name. */
const INVARIANT = 'invariant:admitted'

function required(
  place: Omit<PolicyPlace, 'origin'>,
  { text }: Requirement,
): ValidPolicy<Authorization> {
  const rule = { action: 'Require', expression: text, field: 'admitted' } as const
  return { ...place, state: 'valid', origin: ASSUMED, value: { rules: [rule], mode: 'Enforce' } }
}

/**
 * The policies of a level that set the client identity that the condition reads. A rule sees what
 * its own policy or an enclosing level authenticated, so the condition becomes a rule of that
 * policy.
 */
function authenticators(policies: readonly Attached[], { reads }: Form): readonly string[] {
  const found = policies.filter(({ kind }) =>
    IDENTIFYING.get(kind)?.some((variable) => reads.has(variable)),
  )
  return [...new Set(found.map(({ policy }) => policy))]
}

/** The gateway sends its own responses before a backend is chosen, so the rule is not reached. */
function* ownResponses(
  model: Model,
  { routes }: Reach,
  { section }: Form,
  { backend }: InvariantScope,
): Generator<Unclear> {
  if (section === 'traffic' || backend !== undefined) return
  for (const { stage, where, replies } of pointsOf(model)) {
    const { route, rule, gateway, listener } = where
    if (stage !== 'traffic' || route === undefined || rule === undefined) continue
    const door = `${gateway.name}/${listener.name}`
    const own = routes.get(route)
    if (own === undefined || !own.listeners.includes(door) || !own.rules.includes(rule)) continue
    const isReplied = replies === 'untold' || replies.some(({ isError }) => !isError)
    if (!isReplied && !listsModels(model, rule)) continue
    const why = 'the gateway itself responds to requests, and the condition reads the backend'
    yield { listener: door, route: route.name, why }
  }
}

/** The gateway lists the available models before any of their providers is chosen. */
function listsModels({ backends }: Model, { action }: RouteRule): boolean {
  if (action.kind !== 'forward') return false
  return action.backends.some(({ backend: name }) =>
    backends.some((one) => one.name === name && one.kind === 'ai' && one.models !== undefined),
  )
}

function* unclearPlaces({ routes, streams }: Reach, form: Form): Generator<Unclear> {
  if (!form.fitsConnections) {
    for (const listener of streams.keys()) {
      const why = 'the listener forwards bytes, and the condition reads requests'
      yield { listener, route: '', why }
    }
  }
  for (const [{ name: route }, { listeners, rules }] of routes) {
    const several = rules
      .map(({ policies }) => authenticators(policies, form))
      .find((names) => names.length > 1)
    if (several === undefined) continue
    const names = several.map((name) => `\`${name}\``).join(' and ')
    const why = `${names} each authenticate for their own rules only`
    for (const listener of listeners) yield { listener, route, why }
  }
}

const ASSUMED: Origin = { kind: 'object', object: 'invariant', field: '' }
