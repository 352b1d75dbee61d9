import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { freeze } from '../../model/freeze.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import { isSame } from '../../model/reconcile.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { checkDynamicPolicies } from '../../reach/dynamic-policies.ts'
import {
  checkAgentPolicies,
  checkEnforcingBackends,
  checkProviderPolicies,
} from '../../reach/part-policies.ts'
import { unenforcedOnStreams } from '../../reach/stream-policies.ts'
import { listenerSet } from '../resources/gateway.ts'
import { Cell } from './cells.ts'
import type { Effects } from './effects.ts'
import { BackendSet, type GatewayModelDeps, gatewaysOf } from './gateway-model.ts'
import { draftOf, type GatewayDeps, type GatewayDraft, gatewayOfSet } from './gateways.ts'
import { type GatewayModels, modelsOf } from './models.ts'
import { OrderedParts } from './ordered-parts.ts'
import type { GatewayForRoutes } from './parents.ts'
import type { ReachedPolicies } from './reached.ts'
import type { Recipe } from './references.ts'
import { parentOf, type RouteOutcome } from './route-outcome.ts'

export interface GatewayStateDeps extends GatewayDeps, GatewayModelDeps {
  readonly reached: ReachedPolicies
}

/**
 * A Gateway, according to its object and the objects it refers to; undefined if the controller does
 * not manage it.
 */
function draft(deps: GatewayStateDeps, key: string): GatewayDraft | undefined {
  return deps.view.cells.shared(`Gateway draft ${key}`, () => draftOf(deps, key), Object.is)
}

/** The properties that routes depend on: a Gateway changes with every status, and these rarely. */
function gatewayForRoutes(deps: GatewayStateDeps, key: string): GatewayForRoutes | undefined {
  const read = (): GatewayForRoutes | undefined => {
    const found = draft(deps, key)
    if (found === undefined) return undefined
    const ports = found.listeners.map(({ spec }) => spec.port)
    return {
      key,
      isByPort: deps.policies.hasPorts(key, ports),
      listeners: found.listeners.map(
        ({ name, hostname, supportedKinds, owner, spec, accepted }) => ({
          name,
          hostname,
          supportedKinds,
          owner: { kind: owner.kind, key: owner.key, namespace: owner.namespace },
          spec: { name: spec.name, port: spec.port, allowedRoutes: spec.allowedRoutes },
          isServed: accepted.ok,
        }),
      ),
    }
  }
  return deps.view.cells.shared(`Gateway for routes ${key}`, read, isSame)
}

/** Shared by all, so that comparing Models immediately shows that nothing changed. */
const NO_POLICIES: Model['frontend'] = []

/** The managed Gateway that a route names as its parent, directly or by one of its ListenerSets. */
export function parentGateway(
  deps: GatewayStateDeps,
  kind: string,
  key: string,
): GatewayForRoutes | undefined {
  if (kind === 'Gateway') return gatewayForRoutes(deps, key)
  if (kind !== 'ListenerSet') return undefined
  const [namespace = '', name = ''] = key.split('/')
  const set = deps.view.get('ListenerSet', listenerSet, namespace, name)
  return set && gatewayForRoutes(deps, gatewayOfSet(set))
}

/** The ProxyModels of a Gateway, as in its Model. */
export function gatewayModels(deps: GatewayStateDeps, key: string): GatewayModels {
  const gatewayOf = (kind: string, parent: string) => parentGateway(deps, kind, parent)
  return modelsOf({ view: deps.view, gatewayOf, parentOf }, key)
}

interface Own {
  readonly draft: GatewayDraft
  /** Routes to the models that ProxyModels offer here. */
  readonly routes: readonly Route[]
  readonly gateways: readonly Gateway[]
  readonly effects: Effects
}

/** One managed Gateway and its Model, from one Snapshot to the next. */
export class GatewayState {
  readonly key: string
  readonly #deps: GatewayStateDeps
  readonly #cell: Cell<Own | undefined>
  readonly #backends: BackendSet
  readonly #routes = new OrderedParts<Route>(['HTTPRoute', 'GRPCRoute'])
  readonly #streams = new OrderedParts<TcpRoute>(['TLSRoute', 'TCPRoute'])
  readonly #doubtful = new Set<Route>()
  /** Name of a backend → number of references to it. */
  readonly #uses = new Map<string, { count: number; readonly recipe: Recipe }>()
  #own: Own | undefined
  #areUsesStale = true
  #model: Model | undefined
  /** Policy settings that are not enforced anywhere. */
  problems: readonly Diagnostic[] = []
  /** Listener of the Model → number of attached routes. */
  attached: ReadonlyMap<string, number> = new Map()

  constructor(key: string, deps: GatewayStateDeps) {
    this.key = key
    this.#deps = deps
    const { view } = deps
    this.#cell = new Cell(view.cells, () => this.#read())
    const client = () => draft(deps, key)?.client
    this.#backends = new BackendSet({
      ...deps,
      client: () => view.cells.shared(`client certificate of ${key}`, client, isSame),
      onEffects: (part, before, after) => deps.reached.change(key, part, before, after),
    })
  }

  get draft(): GatewayDraft {
    if (this.#own === undefined) throw new Error(`${this.key} is not managed by this controller`)
    return this.#own.draft
  }

  /** Undefined if nothing is delivered for the Gateway. */
  get model(): Model | undefined {
    return this.draft.isDelivered ? this.#model : undefined
  }

  /** Updates the Gateway; returns whether it exists and is managed by this controller. */
  look(): boolean {
    const before = this.#own
    const after = this.#cell.get()
    if (before === after) return after !== undefined
    this.#own = after
    this.#deps.reached.change(this.key, this, before?.effects, after?.effects)
    this.#use(before?.effects, after?.effects)
    return after !== undefined
  }

  routeChanged(before: RouteOutcome | undefined, after: RouteOutcome | undefined): void {
    const [old, young] = [before?.parts.get(this.key), after?.parts.get(this.key)]
    this.#use(old?.effects, young?.effects)
    const readOf = (outcome: RouteOutcome | undefined, part: unknown) =>
      part === undefined ? undefined : outcome?.read
    this.#routes.change(readOf(before, old?.route), readOf(after, young?.route), young?.route)
    this.#streams.change(readOf(before, old?.stream), readOf(after, young?.stream), young?.stream)
    if (old?.route !== undefined) this.#doubtful.delete(old.route)
    if (young?.route !== undefined && young.isDoubtful) this.#doubtful.add(young.route)
    if (isSame(old?.attached, young?.attached)) return
    const attached = new Map(this.attached)
    for (const name of old?.attached ?? []) count(attached, name, -1)
    for (const name of young?.attached ?? []) count(attached, name, 1)
    this.attached = attached
  }

  update(): void {
    if (this.#areUsesStale || this.#backends.isStale) {
      this.#areUsesStale = false
      this.#backends.update([...this.#uses].map(([name, { recipe }]) => [name, recipe]))
    }
    const { gateways = [], routes: toModels = [] } = this.#own ?? {}
    const { list: backends } = this.#backends
    const known = this.#model
    const all = toModels.length === 0 ? this.#routes.list : [...this.#routes.list, ...toModels]
    const routes = sameList(known?.routes, all)
    const tcpRoutes = sameList(known?.tcpRoutes, this.#streams.list)
    const isSettled =
      known?.gateways === gateways &&
      known.backends === backends &&
      known.routes === routes &&
      known.tcpRoutes === tcpRoutes
    if (isSettled) return
    this.#model = freeze({ gateways, routes, tcpRoutes, backends, frontend: NO_POLICIES })
    this.problems = [...checkModel({ ...this.#model, routes: [...this.#doubtful] })]
    this.#deps.reached.blame(this.key, this.problems)
  }

  drop(): void {
    this.#cell.drop()
    this.#backends.drop()
    this.#deps.reached.change(this.key, this, this.#own?.effects)
    this.#deps.reached.blame(this.key, [])
  }

  #read(): Own | undefined {
    const { policies } = this.#deps
    const found = draft(this.#deps, this.key)
    if (found === undefined) return undefined
    const isByPort = policies.hasPorts(
      this.key,
      found.listeners.map(({ spec }) => spec.port),
    )
    const { gateways, effects } = gatewaysOf(this.#deps, found, isByPort)
    const { routes, backends, effects: ofModels } = gatewayModels(this.#deps, this.key)
    for (const [name, recipe] of ofModels.uses) effects.uses.set(name, recipe)
    for (const backend of backends) effects.uses.set(backend.name, { kind: 'made', backend })
    const known = this.#own?.gateways
    const isKept = known !== undefined && isSame(known, gateways)
    const before = this.#own?.routes
    return {
      draft: found,
      gateways: isKept ? known : freeze(gateways),
      routes: before !== undefined && isSame(before, routes) ? before : freeze(routes),
      effects,
    }
  }

  #use(before: Effects | undefined, after: Effects | undefined): void {
    for (const [name, recipe] of after?.uses ?? []) {
      const known = this.#uses.get(name)
      if (known === undefined || !isSame(known.recipe, recipe)) this.#areUsesStale = true
      this.#uses.set(name, { count: (known?.count ?? 0) + 1, recipe })
    }
    for (const name of before?.uses.keys() ?? []) {
      const known = this.#uses.get(name)
      if (known === undefined || --known.count > 0) continue
      this.#uses.delete(name)
      this.#areUsesStale = true
    }
  }
}

function count(counts: Map<string, number>, name: string, change: number): void {
  const sum = (counts.get(name) ?? 0) + change
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}

function* checkModel(model: Model): Generator<Diagnostic> {
  yield* unenforcedOnStreams(model)
  yield* checkDynamicPolicies(model)
  yield* checkProviderPolicies(model)
  yield* checkEnforcingBackends(model)
  yield* checkAgentPolicies(model)
}

/** The previous list if edits restored it: comparing by identity then shows no change. */
function sameList<T>(before: readonly T[] | undefined, after: readonly T[]): readonly T[] {
  if (before === after || before?.length !== after.length) return after
  for (let i = 0; i < after.length; i++) if (before[i] !== after[i]) return after
  return before
}
