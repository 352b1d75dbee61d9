import { type Backend, partsOf } from '../model/backend.ts'
import type { Gateway } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import { issuersOf } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import type { Streams } from '../program/streams.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const LABELS = ['listener', 'route', 'backend', 'policy', 'provider'] as const
type Label = (typeof LABELS)[number]
type Names = Readonly<Record<Label, ReadonlySet<string>>>

/** Series of what the configuration has no more go away. */
export class Forgetting {
  readonly #metrics: Metrics
  #known: { readonly model: Model; readonly names: Names } | undefined
  /** What left at the last swap: requests that outlive their Program are counted once they end. */
  #left: readonly (readonly [Label, string])[] = []

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  swapped(program: Program, streams: Streams): void {
    const { model } = program
    const names: Names = { ...placeNames(program, streams), ...this.#writtenNames(model) }
    const left = LABELS.flatMap((label) => {
      const before = this.#known?.names[label]
      if (before === undefined || before === names[label]) return []
      const gone = [...before].filter((name) => !names[label].has(name))
      return gone.map((name) => [label, name] as const)
    })
    for (const [label, name] of [...this.#left, ...left]) {
      if (!names[label].has(name)) this.#metrics.forget(label, name)
    }
    this.#left = left
    this.#known = { model, names }
  }

  /** Of what there may be thousands: the same set where a change concerns no name. */
  #writtenNames(model: Model): Pick<Names, 'route' | 'policy'> {
    const { model: before, names } = this.#known ?? {}
    let isNamedAlike = before !== undefined
    // One look at the routes says both, since there may be thousands.
    const isRouteAlike = (a: Route, b: Route) => {
      if (a.name !== b.name) isNamedAlike = false
      return hasSameNames(a, b)
    }
    const hasSameRoutes = before !== undefined && isAlike(before.routes, model.routes, isRouteAlike)
    // Where it ended early, the rest was not looked at.
    const route = isNamedAlike && hasSameRoutes ? names?.route : undefined
    const hasSamePolicies =
      before?.frontend === model.frontend &&
      hasSameRoutes &&
      isAlike(before.gateways, model.gateways, hasSameNames) &&
      isAlike(before.backends, model.backends, hasSameNames)
    const policy = hasSamePolicies ? names?.policy : undefined
    return {
      route: route ?? new Set(model.routes.map(({ name }) => name)),
      policy: policy ?? policyNames(model),
    }
  }
}

function placeNames(
  program: Program,
  streams: Streams,
): Pick<Names, 'listener' | 'backend' | 'provider'> {
  const { listeners, clusters } = program
  const backends = [...clusters.values(), ...streams.clusters.values()]
  return {
    // Connections that may ask for several listeners are counted by their gateway.
    listener: new Set(
      listeners.flatMap(({ gateway, listener }) => [gateway, `${gateway}/${listener.name}`]),
    ),
    backend: new Set(backends.map(({ name }) => name)),
    provider: issuersOf(program),
  }
}

function isAlike<T>(before: readonly T[], now: readonly T[], isSame: (a: T, b: T) => boolean) {
  if (before === now) return true
  if (before.length !== now.length) return false
  for (let i = 0; i < now.length; i++) {
    const a = before[i] as T
    const b = now[i] as T
    if (a !== b && !isSame(a, b)) return false
  }
  return true
}

function hasSameNames(a: Named, b: Named): boolean {
  const [before, now] = [policiesOf(a), policiesOf(b)]
  return before.size === now.size && before.isSubsetOf(now)
}

type Named = Gateway | Route | Backend

/** Of the policies of all places. */
function policyNames({ frontend, gateways, routes, backends }: Model): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { policy } of frontend) names.add(policy)
  for (const list of [gateways, routes, backends]) {
    for (const thing of list) for (const name of policiesOf(thing)) names.add(name)
  }
  return names
}

/** Thousands of backends have no policy. */
const NO_NAMES = new Set<string>()

const named = new WeakMap<object, ReadonlySet<string>>()

/** Of a thing and all that is within it. Most are those of the Model before: looked at once. */
function policiesOf(thing: Named): ReadonlySet<string> {
  const known = named.get(thing)
  if (known !== undefined) return known
  let names: Set<string> = new Set()
  addNames(thing.policies, names)
  if ('rules' in thing) addRules(thing, names)
  else {
    const inner = 'listeners' in thing ? thing.listeners : partsOf(thing)
    for (const { policies } of inner) addNames(policies, names)
  }
  if (names.size === 0) names = NO_NAMES
  named.set(thing, names)
  return names
}

/** Without lists on the way: of routes there may be thousands. */
function addRules({ rules }: Route, names: Set<string>): void {
  for (let i = 0; i < rules.length; i++) {
    const { policies, action } = rules[i] as Route['rules'][number]
    addNames(policies, names)
    if (action.kind !== 'forward') continue
    for (const ref of action.backends) addNames(ref.policies, names)
  }
}

function addNames(policies: readonly { readonly policy: string }[], names: Set<string>): void {
  for (let i = 0; i < policies.length; i++) names.add((policies[i] as { policy: string }).policy)
}
