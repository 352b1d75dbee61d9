import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import { byAge } from '../cluster/object.ts'
import { changesBetween, EMPTY_SNAPSHOT, objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import { endpointSlice } from '../resources/cluster-objects.ts'
import { gateway as gatewaySchema } from '../resources/gateway.ts'
import { type LabelSelector, selects } from '../resources/metadata.ts'
import { BackendTlsPolicies } from './backend-tls.ts'
import { Cell } from './cells.ts'
import type { ObjectStatus } from './conditions.ts'
import {
  GatewayState,
  type GatewayStateDeps,
  gatewayModels,
  parentGateway,
} from './gateway-state.ts'
import { Policies } from './policies.ts'
import { ReachedPolicies } from './reached.ts'
import {
  ROUTE_SCHEMAS,
  type RouteDeps,
  type RouteKindName,
  type RouteOutcome,
  readRoute,
} from './route-outcome.ts'
import { StatusTable } from './status-table.ts'
import type { TranslateOptions, Translation } from './translate.ts'
import { ClusterView, type Read } from './view.ts'

interface RouteState {
  readonly cell: Cell<RouteOutcome | undefined>
  readonly update: () => void
  outcome: RouteOutcome | undefined
}

const ROUTE_KINDS = Object.keys(ROUTE_SCHEMAS) as readonly RouteKindName[]

/** The result of a translation and its changes since the previous one. */
export interface TranslationStep extends Pick<Translation, 'models'> {
  /** Those of Gateways that proxies are deployed for. */
  readonly deployed: ReadonlyMap<string, Model>
  /** The statuses of all objects; valid until the next step. */
  readonly statuses: () => readonly ObjectStatus[]
  /** Statuses that changed, and those of objects that changed. */
  readonly touched: readonly ObjectStatus[]
  /** Deleted objects, as `kind namespace/name`. */
  readonly removed: readonly string[]
}

/**
 * Translates successive Snapshots, each at the cost of what changed: parts are cells that record
 * what they read, and unchanged values keep their identity.
 */
export class Translator {
  readonly #options: TranslateOptions
  #visible: ReadonlySet<string> | undefined
  #state: TranslatorState

  constructor(options: TranslateOptions) {
    this.#options = options
    this.#state = new TranslatorState(options, undefined)
  }

  translate(snapshot: Snapshot): TranslationStep {
    const visible = visibleNamespaces(snapshot, this.#options.discoverySelectors ?? [])
    // The visible namespaces affect everything, and rarely change.
    if (!isSameSet(visible, this.#visible)) {
      this.#visible = visible
      this.#state = new TranslatorState(this.#options, visible)
    }
    try {
      return this.#state.translate(snapshot)
    } catch (error) {
      // The state may be inconsistent: the next translation starts from scratch.
      this.#state = new TranslatorState(this.#options, visible)
      throw error
    }
  }

  /** All diagnostics of the objects that were translated last. */
  diagnostics(): readonly Diagnostic[] {
    return [...new Set(this.#state.diagnostics())]
  }
}

/** At least one of the selectors must select the namespace; without selectors, all are visible. */
function visibleNamespaces(
  snapshot: Snapshot,
  selectors: readonly LabelSelector[],
): ReadonlySet<string> | undefined {
  if (selectors.length === 0) return undefined
  const names = [...objectsOf(snapshot, 'Namespace').values()]
    .filter(({ metadata }) => selectors.some((one) => selects(one, metadata.labels)))
    .map(({ metadata }) => metadata.name)
  return new Set(names)
}

function isSameSet<T>(a: ReadonlySet<T> | undefined, b: ReadonlySet<T> | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.size === b.size && [...a].every((one) => b.has(one))
}

class TranslatorState {
  readonly #view: ClusterView
  readonly #gatewayDeps: GatewayStateDeps
  readonly #policies: Policies
  readonly #tls: BackendTlsPolicies
  readonly #reached = new ReachedPolicies()
  readonly #gateways = new Map<string, GatewayState>()
  readonly #routes = new Map<RouteKindName, Map<string, RouteState>>()
  readonly #staleRoutes = new Set<() => void>()
  readonly #statuses: StatusTable
  #snapshot: Snapshot = EMPTY_SNAPSHOT

  constructor(options: TranslateOptions, visible: ReadonlySet<string> | undefined) {
    const { settings, controllerName, gatewayNamespaces } = options
    this.#view = new ClusterView(visible, options.assumesMissing)
    this.#policies = new Policies(this.#view)
    this.#tls = new BackendTlsPolicies(this.#view)
    this.#gatewayDeps = {
      view: this.#view,
      policies: this.#policies,
      tls: this.#tls,
      reached: this.#reached,
      settings,
      controllerName,
      ...(gatewayNamespaces === undefined ? {} : { gatewayNamespaces }),
    }
    this.#statuses = new StatusTable({
      view: this.#view,
      policies: this.#policies,
      tls: this.#tls,
      reached: this.#reached,
      controllerName,
      modelsAt: (key) => gatewayModels(this.#gatewayDeps, key),
    })
  }

  translate(snapshot: Snapshot): TranslationStep {
    const view = this.#view
    const changes = [...changesBetween(this.#snapshot, snapshot)]
    const changedOf = (kind: string) =>
      changes.flatMap((change) => (change.kind === kind ? [change.key] : []))
    this.#snapshot = snapshot
    view.update(snapshot, changes)
    // Only to report the ones that cannot be read.
    view.all('EndpointSlice', endpointSlice)
    for (const key of this.#policies.update(changedOf('ProxyPolicy'))) this.#reached.stale.add(key)
    this.#tls.update()
    this.#updateGateways()
    for (const kind of ROUTE_KINDS) {
      for (const key of changedOf(kind)) this.#staleRoutes.add(this.#route(kind, key))
    }
    while (this.#staleRoutes.size > 0) {
      const stale = [...this.#staleRoutes]
      this.#staleRoutes.clear()
      for (const update of stale) update()
    }
    for (const state of this.#gateways.values()) state.update()
    const gateways = this.#orderedGateways()
    const models = new Map<string, Model>()
    const deployed = new Map<string, Model>()
    for (const { key, model, draft } of gateways) {
      if (model === undefined) continue
      models.set(key, model)
      if (draft.accepted.ok) deployed.set(key, model)
    }
    const touched = this.#statuses.update(gateways, changes)
    view.cells.sweep()
    const removed = changes.flatMap(({ kind, key, after }) =>
      after === undefined ? [`${kind} ${key}`] : [],
    )
    return {
      models,
      deployed,
      touched,
      removed,
      statuses: () => this.#statuses.list(gateways, this.#orderedRoutes()),
    }
  }

  *diagnostics(): Generator<Diagnostic> {
    yield* this.#view.unreadable()
    yield* this.#view.assumed
    for (const { diagnostics } of this.#orderedRoutes()) yield* diagnostics
    for (const { problems } of this.#orderedGateways()) yield* problems
    yield* this.#statuses.diagnostics(this.#orderedGateways(), this.#orderedRoutes())
  }

  #orderedGateways(): readonly GatewayState[] {
    return this.#view
      .all('Gateway', gatewaySchema)
      .flatMap(({ key }) => this.#gateways.get(key) ?? [])
  }

  #updateGateways(): void {
    const there = new Set<string>()
    for (const { key } of this.#view.all('Gateway', gatewaySchema)) {
      const known = this.#gateways.get(key)
      const state = known ?? new GatewayState(key, this.#gatewayDeps)
      if (!state.look()) continue
      there.add(key)
      this.#gateways.set(key, state)
    }
    for (const [key, state] of this.#gateways) {
      if (there.has(key)) continue
      state.drop()
      this.#gateways.delete(key)
    }
  }

  /** Returns the function that updates a route. */
  #route(kind: RouteKindName, key: string): () => void {
    const states = this.#statesOf(kind)
    const known = states.get(key)
    if (known !== undefined) return known.update
    const deps: RouteDeps = {
      view: this.#view,
      policies: this.#policies,
      gatewayOf: (parent, parentKey) => parentGateway(this.#gatewayDeps, parent, parentKey),
    }
    const update = () => {
      const before = state.outcome
      state.outcome = state.cell.get()
      if (before !== state.outcome) this.#moved(before, state.outcome)
      this.#statuses.routeChanged(kind, key, state.outcome)
      if (this.#view.live(kind, key) !== undefined) return
      state.cell.drop()
      states.delete(key)
    }
    const state: RouteState = {
      cell: new Cell(
        this.#view.cells,
        () => readRoute(deps, kind, key, state.outcome),
        Object.is,
        () => void this.#staleRoutes.add(update),
      ),
      outcome: undefined,
      update,
    }
    states.set(key, state)
    return update
  }

  #statesOf(kind: RouteKindName): Map<string, RouteState> {
    const known = this.#routes.get(kind)
    if (known !== undefined) return known
    const made = new Map<string, RouteState>()
    this.#routes.set(kind, made)
    return made
  }

  /** Routes that name a managed parent, in the order of the Model: request routes first, by age. */
  #orderedRoutes(): readonly RouteOutcome[] {
    const outcomes: RouteOutcome[] = []
    const add = (kinds: readonly RouteKindName[]) => {
      for (const read of merged(kinds.map((kind) => this.#view.all(kind, ROUTE_SCHEMAS[kind])))) {
        const outcome = this.#routes.get(read.kind as RouteKindName)?.get(read.key)?.outcome
        if (outcome !== undefined) outcomes.push(outcome)
      }
    }
    add(['HTTPRoute', 'GRPCRoute'])
    add(['TLSRoute', 'TCPRoute'])
    return outcomes
  }

  #moved(before: RouteOutcome | undefined, after: RouteOutcome | undefined): void {
    const keys = new Set([...(before?.parts.keys() ?? []), ...(after?.parts.keys() ?? [])])
    for (const key of keys) {
      const [old, young] = [before?.parts.get(key), after?.parts.get(key)]
      // The new part replaces the previous one of the route.
      if (old !== undefined) this.#reached.change(key, old, old.effects)
      if (young !== undefined) this.#reached.change(key, young, undefined, young.effects)
      this.#gateways.get(key)?.routeChanged(before, after)
    }
  }
}

/** Oldest first; usually only one list is not empty. */
function merged(lists: readonly (readonly Read[])[]): readonly Read[] {
  const [first = [], ...others] = lists.filter((list) => list.length > 0)
  if (others.length === 0) return first
  return lists.flat().sort((a, b) => byAge(a.object, b.object))
}
