import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { isSame } from '../../model/reconcile.ts'
import type { KubeObject } from '../cluster/object.ts'
import type { ObjectChange } from '../cluster/snapshot.ts'
import { proxyPolicy } from '../resources/proxy.ts'
import type { BackendTlsPolicies } from './backend-tls.ts'
import { Cell } from './cells.ts'
import type { ObjectStatus, StatusWithDiagnostics } from './conditions.ts'
import type { GatewayState } from './gateway-state.ts'
import type { GatewayDraft } from './gateways.ts'
import type { GatewayModels } from './models.ts'
import type { Policies } from './policies.ts'
import { policyStatus } from './policy-status.ts'
import type { ReachedPolicies } from './reached.ts'
import type { RouteOutcome } from './route-outcome.ts'
import { staleStatus } from './stale-status.ts'
import {
  backendStatuses,
  classStatuses,
  gatewayStatuses,
  modelStatuses,
  parametersStatuses,
  reachedBackendStatuses,
  tlsStatuses,
} from './statuses.ts'
import type { ClusterView } from './view.ts'

export interface StatusTableDeps {
  readonly view: ClusterView
  readonly policies: Policies
  readonly tls: BackendTlsPolicies
  readonly reached: ReachedPolicies
  readonly controllerName: string
  readonly modelsAt: (gateway: string) => GatewayModels
}

/** The inputs for which a status was made. */
interface Entry extends StatusWithDiagnostics {
  readonly object: KubeObject | undefined
}

interface GatewayEntry {
  readonly draft: GatewayDraft
  readonly attached: ReadonlyMap<string, number>
  readonly statuses: readonly StatusWithDiagnostics[]
}

/** The statuses of all objects that the controller is responsible for, kept up to date. */
export class StatusTable {
  readonly #deps: StatusTableDeps
  /** Kinds with few objects, each computed as a whole. */
  readonly #classes: Cell<readonly StatusWithDiagnostics[]>
  readonly #tls: Cell<readonly StatusWithDiagnostics[]>
  readonly #backends: Cell<readonly StatusWithDiagnostics[]>
  readonly #models: Cell<readonly StatusWithDiagnostics[]>
  readonly #parameters: Cell<readonly StatusWithDiagnostics[]>
  readonly #reachedBackends: Cell<readonly StatusWithDiagnostics[]>
  readonly #made = new Map<Cell<readonly StatusWithDiagnostics[]>, Map<string, Entry>>()
  readonly #policies = new Map<string, StatusWithDiagnostics>()
  readonly #gateways = new Map<string, GatewayEntry>()
  #touched: ObjectStatus[] = []
  #areGatewaysHere = false

  constructor(deps: StatusTableDeps) {
    this.#deps = deps
    const { view, tls, reached, controllerName } = deps
    const cell = (make: () => readonly StatusWithDiagnostics[]) => new Cell(view.cells, make)
    this.#classes = cell(() => classStatuses(view, controllerName))
    this.#tls = cell(() => {
      view.cells.read('reach of BackendTLSPolicies')
      view.cells.read('BackendTLSPolicy *')
      return tlsStatuses(tls, (policy) => reached.ofTls(policy))
    })
    this.#backends = cell(() => backendStatuses(view))
    this.#parameters = cell(() => parametersStatuses(view))
    this.#reachedBackends = cell(() => {
      view.cells.read('reach of backends')
      return reachedBackendStatuses(view, (id) => reached.ofBackend(id))
    })
    this.#models = cell(() => {
      view.cells.read('Gateway *')
      // The controller of a class determines which Gateways are managed.
      view.cells.read('GatewayClass *')
      return modelStatuses(view, [...this.#gateways.keys()].map(deps.modelsAt))
    })
  }

  /** Called when a route may have changed; `outcome` is undefined if it names no managed parent. */
  routeChanged(kind: string, key: string, outcome: RouteOutcome | undefined): void {
    if (outcome !== undefined) this.#touched.push(outcome.status.status)
    else this.#clear(kind, key)
  }

  /** Returns the statuses that changed, and those of objects that changed. */
  update(
    gateways: readonly GatewayState[],
    changes: readonly ObjectChange[],
  ): readonly ObjectStatus[] {
    const { view, policies, reached } = this.#deps
    for (const { kind, key, after } of changes) {
      const isUnread = kind === 'ProxyPolicy' && policies.record(key) === undefined
      if (after !== undefined && isUnread) this.#clear(kind, key)
    }
    this.#updateGateways(gateways)
    const areGatewaysHere = gateways.length > 0
    if (areGatewaysHere !== this.#areGatewaysHere) {
      // What is said about a policy that reaches none depends on whether there is any.
      for (const key of this.#policies.keys())
        if (reached.of(key).length === 0) reached.stale.add(key)
      this.#areGatewaysHere = areGatewaysHere
    }
    for (const key of reached.stale) {
      const record = policies.record(key)
      if (record === undefined) {
        this.#policies.delete(key)
        continue
      }
      const made = policyStatus(record, reached.of(key), areGatewaysHere)
      this.#policies.set(key, made)
      this.#touched.push(made.status)
    }
    reached.stale.clear()
    if (reached.isTlsStale) view.cells.touch('reach of BackendTLSPolicies')
    reached.isTlsStale = false
    if (reached.areBackendsStale) view.cells.touch('reach of backends')
    reached.areBackendsStale = false
    for (const cell of this.#few) this.#look(cell)
    const touched = this.#touched
    this.#touched = []
    return touched
  }

  list(
    gateways: readonly GatewayState[],
    routes: readonly RouteOutcome[],
  ): readonly ObjectStatus[] {
    return [...this.#all(gateways, routes)].map(({ status }) => status)
  }

  *diagnostics(
    gateways: readonly GatewayState[],
    routes: readonly RouteOutcome[],
  ): Generator<Diagnostic> {
    const { view, policies, reached } = this.#deps
    for (const { key } of view.all('ProxyPolicy', proxyPolicy)) {
      yield* policies.record(key)?.diagnostics ?? []
      for (const { diagnostics } of reached.of(key)) yield* diagnostics
    }
    for (const { diagnostics } of this.#all(gateways, routes)) yield* diagnostics
  }

  *#all(
    gateways: readonly GatewayState[],
    routes: readonly RouteOutcome[],
  ): Generator<StatusWithDiagnostics> {
    const { view } = this.#deps
    yield* this.#classes.get()
    for (const { key } of gateways) yield* this.#gateways.get(key)?.statuses ?? []
    for (const { status } of routes) yield status
    yield* this.#tls.get()
    for (const { key } of view.all('ProxyPolicy', proxyPolicy)) {
      const made = this.#policies.get(key)
      if (made !== undefined) yield made
    }
    yield* this.#backends.get()
    yield* this.#models.get()
    yield* this.#parameters.get()
    yield* this.#reachedBackends.get()
  }

  get #few(): readonly Cell<readonly StatusWithDiagnostics[]>[] {
    return [
      this.#classes,
      this.#tls,
      this.#backends,
      this.#models,
      this.#parameters,
      this.#reachedBackends,
    ]
  }

  #updateGateways(gateways: readonly GatewayState[]): void {
    const there = new Set(gateways.map(({ key }) => key))
    for (const key of this.#gateways.keys()) if (!there.has(key)) this.#gateways.delete(key)
    for (const { key, draft, attached } of gateways) {
      const known = this.#gateways.get(key)
      const isCounted = known !== undefined && isSameCount(known.attached, attached)
      if (known?.draft === draft && isCounted) continue
      const statuses = gatewayStatuses(draft, attached)
      this.#gateways.set(key, { draft, attached, statuses })
      this.#touched.push(...statuses.map(({ status }) => status))
    }
  }

  #look(cell: Cell<readonly StatusWithDiagnostics[]>): void {
    const { view } = this.#deps
    const before = this.#made.get(cell)
    const after = new Map<string, Entry>()
    for (const one of cell.get()) {
      const { kind, namespace, name } = one.status
      const key = namespace === '' ? name : `${namespace}/${name}`
      const known = before?.get(key)
      const object = view.live(kind, key)
      const isKnown = known?.object === object && isSame(known?.status, one.status)
      if (!isKnown) this.#touched.push(one.status)
      after.set(key, { ...one, object })
    }
    this.#made.set(cell, after)
  }

  /** Removes the controller's entries from an object that it is no longer responsible for. */
  #clear(kind: string, key: string): void {
    const { view, controllerName } = this.#deps
    const object = view.live(kind, key)
    const status = object && staleStatus(kind, object, controllerName)
    if (status !== undefined) this.#touched.push(status)
  }
}

function isSameCount(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  if (a === b) return true
  return a.size === b.size && [...a].every(([key, count]) => b.get(key) === count)
}
