import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Route, RouteRule } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { Reach as ModelReach } from '../../reach/reach.ts'
import { takenBy } from './stream-scope.ts'

/** Everything, or what passes through one listener, by one route, to one backend. */
export interface InvariantScope {
  /** A gateway, a listener, or `gateway/listener`. */
  readonly listener?: string | undefined
  readonly route?: string | undefined
  readonly backend?: string | undefined
}

/** The parts of a Model that an invariant covers. Listeners are written `gateway/listener`. */
export interface Reach {
  /** The covered routes, each with the listeners and the rules that are covered. */
  readonly routes: ReadonlyMap<Route, RouteReach>
  /**
   * Listeners that forward connections to covered routes, with the condition that selects those
   * connections; undefined if all are covered.
   */
  readonly streams: ReadonlyMap<string, string | undefined>
}

export interface RouteReach {
  readonly listeners: readonly string[]
  readonly rules: readonly RouteRule[]
}

export function reachOf(model: Model, scope: InvariantScope): Reach {
  const isMeant = listenerFilter(model, scope.listener)
  const reach = new ModelReach(model)
  const doors = [...reach.listeners()]
    .filter(({ gateway, listener }) => isMeant(gateway, listener))
    .map((where) => ({ ...where, name: `${where.gateway.name}/${where.listener.name}` }))
  const doorsOf = Map.groupBy(
    doors.flatMap((door) => [...reach.routesOn(door)].map(({ route }) => ({ route, door }))),
    ({ route }) => route,
  )
  const routes = new Map<Route, RouteReach>()
  for (const route of model.routes) {
    if (scope.route !== undefined && route.name !== scope.route) continue
    const listeners = (doorsOf.get(route) ?? []).map(({ door }) => door.name)
    const rules = route.rules.filter(({ action }) => reaches(action, scope.backend))
    if (listeners.length > 0 && rules.length > 0) routes.set(route, { listeners, rules })
  }
  const isOwn = ({ name, action }: TcpRoute) =>
    (scope.route === undefined || name === scope.route) && reaches(action, scope.backend)
  const meant = doors
    .filter((door) => [...reach.streamsOn(door)].some(({ stream }) => isOwn(stream)))
    .map(({ gateway, listener, name }) => [name, takenBy(model, gateway, listener, isOwn)] as const)
  return { routes, streams: new Map(meant) }
}

/** The name of a gateway selects the gateway, because most listeners are called `default`. */
function listenerFilter(model: Model, wanted: string | undefined) {
  const isGateway = model.gateways.some(({ name }) => name === wanted)
  return (gateway: Gateway, { name }: Listener): boolean => {
    if (wanted === undefined) return true
    if (isGateway) return gateway.name === wanted
    return name === wanted || `${gateway.name}/${name}` === wanted
  }
}

function reaches(action: RouteRule['action'], backend: string | undefined): boolean {
  if (backend === undefined) return true
  return action.kind === 'forward' && action.backends.some((ref) => ref.backend === backend)
}

/**
 * The other ways in which the backend of the scope receives data, as phrases: copies of requests,
 * or calls about them. Rules of routes are not evaluated for those.
 */
export function otherUses(model: Model, { backend }: InvariantScope): readonly string[] {
  if (backend === undefined) return []
  const found = new Set<string>()
  const visit = (value: unknown, owner: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { kind, policy } = value as { readonly kind?: unknown; readonly policy?: unknown }
    const isPolicy = typeof kind === 'string' && typeof policy === 'string'
    const by = isPolicy ? `${kind} of \`${policy}\`` : owner
    for (const [key, member] of Object.entries(value)) {
      if (key === 'backend' && member === backend && by !== '') found.add(by)
      else visit(member, by)
    }
  }
  visit([model.frontend, model.gateways, model.routes, model.tcpRoutes], '')
  for (const one of model.backends) visit(one, `backend \`${one.name}\``)
  return [...found].map((by) => `\`${backend}\` also receives what ${by} sends`)
}

/** Names in a scope that the Model does not have, with the available ones. */
export function unknownNames(model: Model, scope: InvariantScope): readonly UnknownName[] {
  const listeners = [...new ModelReach(model).listeners()].flatMap(({ gateway, listener }) => [
    gateway.name,
    listener.name,
    `${gateway.name}/${listener.name}`,
  ])
  const known = {
    listener: [...listeners, ...model.gateways.map(({ name }) => name)],
    route: [...model.routes, ...model.tcpRoutes].map(({ name }) => name),
    backend: model.backends.map(({ name }) => name),
  }
  return (['listener', 'route', 'backend'] as const).flatMap((key) => {
    const name = scope[key]
    if (name === undefined || known[key].includes(name)) return []
    return [{ key, name, available: [...new Set(known[key])] }]
  })
}

export interface UnknownName {
  readonly key: keyof InvariantScope
  readonly name: string
  readonly available: readonly string[]
}
