import type { Backend } from '../model/backend.ts'
import { changedRange, comparedWith, spliced } from '../model/changed-range.ts'
import { type Gateway, type Listener, servesRequests, servesStreams } from '../model/gateway.ts'
import { LayeredMap } from '../model/layered-map.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import { hostnamesOn, isAttached } from './attachment.ts'
import { type Layer, type LayerAt, layerAt } from './layers.ts'
import type { RefPlace, RoutePlace, RulePlace, StreamPlace, Where } from './where.ts'

/**
 * Determines what in the Model can be reached, and which policies are around it. All code that
 * needs to know what applies to a request uses this: what runs, what is proven about it, and what
 * is shown of it.
 */
export class Reach {
  readonly model: Model
  readonly #layerAt: LayerAt
  #routes: ReadonlyMap<string, readonly Route[]> | undefined
  #before: KnownRoutes | undefined

  /** `before` is what is known of another Model that shares most routes with this one. */
  constructor(model: Model, at: LayerAt = layerAt, before?: KnownRoutes) {
    this.model = model
    this.#layerAt = at
    this.#before = before
  }

  /** Routes by the name of their gateway, in order. */
  get routesByGateway(): ReadonlyMap<string, readonly Route[]> {
    if (this.#routes === undefined) {
      const { routes } = this.model
      this.#routes = this.#before ? routesAfter(this.#before, routes) : routesOf(routes)
      this.#before = undefined
    }
    return this.#routes
  }

  get backends(): ReadonlyMap<string, Backend> {
    return backendsByName(this.model.backends)
  }

  *listeners(): Generator<{ readonly gateway: Gateway; readonly listener: Listener }> {
    for (const gateway of this.model.gateways) {
      for (const listener of gateway.listeners) yield { gateway, listener }
    }
  }

  /** The ports of listeners, in order; several listeners may share one. */
  get ports(): ReadonlySet<number> {
    return new Set([...this.listeners()].flatMap(({ listener }) => listener.port ?? []))
  }

  /** Every route that requests of the listener can reach, in the order of the Model. */
  *routesOn(where: Where): Generator<RoutePlace> {
    for (const route of this.routesNear(where)) {
      const place = this.routeOn(where, route)
      if (place !== undefined) yield place
    }
  }

  /** Routes of the gateway. Requests of the listener can reach no others. */
  routesNear({ gateway, listener }: Where): readonly Route[] {
    if (!servesRequests(listener)) return NO_ROUTES
    return this.routesByGateway.get(gateway.name) ?? NO_ROUTES
  }

  /** The place of a route under the listener; undefined if no requests of the listener reach it. */
  routeOn({ gateway, listener }: Where, route: Route): RoutePlace | undefined {
    const hostnames = hostnamesOn(route, gateway, listener)
    return hostnames && { gateway, listener, route, hostnames }
  }

  /** Whether requests or connections of the listener can reach the route. */
  isReached({ gateway, listener }: Where, route: Pick<Route, 'parents' | 'hostnames'>): boolean {
    return isAttached(route, gateway, listener)
  }

  *rulesOf(place: RoutePlace): Generator<RulePlace> {
    const { gateway, listener, route, hostnames } = place
    for (const [index, rule] of route.rules.entries()) {
      yield { gateway, listener, route, rule, index, hostnames }
    }
  }

  /** Every rule of those routes. */
  *rulesOn(where: Where): Generator<RulePlace> {
    for (const place of this.routesOn(where)) yield* this.rulesOf(place)
  }

  /** Every route that connections of the listener can reach, in the order of the Model. */
  *streamsOn({ gateway, listener }: Where): Generator<StreamPlace> {
    if (!servesStreams(listener)) return
    for (const stream of this.model.tcpRoutes) {
      const hostnames = hostnamesOn(stream, gateway, listener)
      if (hostnames !== undefined) yield { gateway, listener, stream, hostnames }
    }
  }

  /** The backends of a rule, including those without a share of its requests. */
  *refsOf(place: RulePlace): Generator<RefPlace> {
    const { action } = place.rule
    if (action.kind !== 'forward') return
    for (const [number, ref] of action.backends.entries()) {
      yield { ...place, ref, number, backend: this.backends.get(ref.backend) }
    }
  }

  /**
   * The lists of policies around all routes of a listener, the most general first. As long as these
   * are the same objects, the same policies apply there.
   */
  listsAround({ gateway, listener }: Where): ListsAround {
    return [this.model.frontend, gateway.policies, listener.policies]
  }

  /** The layers around a rule or, without one, around a request that no route matches. */
  around({ gateway, listener, route, rule, index = 0 }: Where): readonly Layer[] {
    const at = this.#layerAt
    const { frontend } = this.model
    const found: Layer[] = []
    if (frontend.length > 0) found.push(at('all gateways', frontend))
    if (gateway.policies.length > 0) found.push(at(`gateway ${gateway.name}`, gateway.policies))
    if (listener.policies.length > 0) {
      found.push(at(`listener ${gateway.name}/${listener.name}`, listener.policies))
    }
    if (route === undefined) return found
    if (route.policies.length > 0) found.push(at(`route ${route.name}`, route.policies))
    if (rule !== undefined && rule.policies.length > 0) {
      found.push(at(`rule ${route.name}/${index}`, rule.policies))
    }
    return found
  }

  /**
   * Adds the layers of a backend, and of the reference to it, which is for this backend on this
   * route and so more specific.
   */
  behind(around: readonly Layer[], where: Behind): readonly Layer[] {
    const { route, index = 0, backend, ref, number = 0 } = where
    const at = this.#layerAt
    const found = [...around]
    if (backend !== undefined && backend.policies.length > 0) {
      found.push(at(`backend ${backend.name}`, backend.policies))
    }
    if (ref !== undefined && ref.policies.length > 0) {
      found.push(at(`ref ${route?.name ?? ''}/${index}/${number}`, ref.policies))
    }
    return found
  }

  /** Adds the layers of one provider or server of the backend. */
  within(behind: readonly Layer[], { backend, provider, server }: Within): readonly Layer[] {
    const at = this.#layerAt
    const found = [...behind]
    if (provider !== undefined && provider.policies.length > 0) {
      found.push(at(`provider ${backend?.name ?? ''}/${provider.name}`, provider.policies))
    }
    if (server !== undefined && server.policies.length > 0) {
      found.push(at(`server ${backend?.name ?? ''}/${server.name}`, server.policies))
    }
    return found
  }

  /** All layers around a place, the most general first. */
  layersAt(where: Where): readonly Layer[] {
    return this.within(this.behind(this.around(where), where), where)
  }

  /**
   * The layers around one backend of a TCP route. There are no requests, and the policies around
   * the route are for requests.
   */
  aroundStream({ stream }: Pick<StreamPlace, 'stream'>, ref: StreamRef): readonly Layer[] {
    const { name, policies } = stream
    const own = policies.length > 0 ? [this.#layerAt(`stream ${name}`, policies)] : []
    return this.behind(own, { ...ref, route: stream })
  }
}

/** Of all gateways, of one, and of one of its listeners. */
export type ListsAround = readonly [
  frontend: readonly Attached[],
  gateway: readonly Attached[],
  listener: readonly Attached[],
]

const NO_ROUTES: readonly Route[] = []

const byName = new WeakMap<readonly Backend[], LayeredMap<Backend>>()

/** Created once for each list, from that of the previous list if there are few differences. */
export function backendsByName(backends: readonly Backend[]): ReadonlyMap<string, Backend> {
  const known = byName.get(backends)
  if (known !== undefined) return known
  const made =
    backendsAfter(backends) ??
    LayeredMap.of(new Map(backends.map((backend) => [backend.name, backend])))
  byName.set(backends, made)
  return made
}

/** Undefined if that is no less work, or if several have the same name: the last one applies. */
function backendsAfter(backends: readonly Backend[]): LayeredMap<Backend> | undefined {
  const { before, range } = comparedWith(backends) ?? {}
  const known = before && byName.get(before)
  if (before === undefined || range === undefined || known?.size !== before.length) return undefined
  const { start, endBefore, end } = range
  if (endBefore - start + end - start > MAX_AT_ONCE) return undefined
  const changes = new Map<string, Backend | undefined>()
  for (const { name } of before.slice(start, endBefore)) changes.set(name, undefined)
  for (const backend of backends.slice(start, end)) changes.set(backend.name, backend)
  const made = known.with(changes)
  return made.size === backends.length ? made : undefined
}

type Within = Pick<Where, 'backend' | 'provider' | 'server'>

type Behind = Pick<Where, 'index' | 'backend' | 'ref' | 'number'> & {
  readonly route?: { readonly name: string }
}

type StreamRef = Pick<Where, 'backend' | 'ref' | 'number'>

export interface KnownRoutes {
  /** The routes of the Model. */
  readonly routes: readonly Route[]
  readonly byGateway: ReadonlyMap<string, readonly Route[]>
}

/** The same, at the cost of only the routes that differ. */
function routesAfter({ routes: before, byGateway }: KnownRoutes, routes: readonly Route[]) {
  const { start, endBefore, end } = changedRange(before, routes)
  const gone = before.slice(start, endBefore)
  const come = routes.slice(start, end)
  if (gone.length + come.length > MAX_AT_ONCE) return routesOf(routes)
  const made = new Map(byGateway)
  for (const name of gatewaysOf([...gone, ...come])) {
    const isOwn = ({ parents }: Route) => parents.some(({ gateway }) => gateway === name)
    const list = byGateway.get(name) ?? NO_ROUTES
    let last = start - 1
    while (last >= 0 && !isOwn(before[last] as Route)) last--
    const first = last < 0 ? 0 : list.indexOf(before[last] as Route) + 1
    const count = gone.filter(isOwn).length
    const own = come.filter(isOwn)
    const next = spliced(list, first, count, own)
    changedRange(list, next, { start: first, endBefore: first + count, end: first + own.length })
    if (next.length === 0) made.delete(name)
    else made.set(name, next)
  }
  return made
}

const MAX_AT_ONCE = 100

function gatewaysOf(routes: readonly Route[]): ReadonlySet<string> {
  return new Set(routes.flatMap(({ parents }) => parents.map(({ gateway }) => gateway)))
}

function routesOf(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const byGateway = new Map<string, Route[]>()
  // Counted loops, and no lookup for the gateway of the previous route: there may be thousands.
  let name: string | undefined
  let known: Route[] = []
  for (let i = 0; i < routes.length; i++) {
    const route = routes[i] as Route
    const { parents } = route
    for (let p = 0; p < parents.length; p++) {
      const { gateway } = parents[p] as Route['parents'][number]
      if (gateway !== name) {
        name = gateway
        known = byGateway.get(gateway) ?? []
        byGateway.set(gateway, known)
      }
      if (known[known.length - 1] !== route) known.push(route)
    }
  }
  return byGateway
}
