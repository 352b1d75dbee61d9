import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { freeze } from '../../model/freeze.ts'
import type { Attached } from '../../model/policy.ts'
import { isSame } from '../../model/reconcile.ts'
import type { Parent, Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { mayLackEffect } from '../../reach/doubtful-routes.ts'
import { grpcRoute, httpRoute, streamRoute } from '../resources/routes.ts'
import type { Rejection, StatusWithDiagnostics, Verdict } from './conditions.ts'
import { type Effects, noEffects } from './effects.ts'
import { readGrpcRoute, readHttpRoute } from './http-route.ts'
import {
  type Attachment,
  attachmentsOf,
  type GatewayForRoutes,
  type ListenerForRoutes,
} from './parents.ts'
import type { Policies } from './policies.ts'
import { resolver } from './references.ts'
import { routeStatus } from './statuses.ts'
import { readStreamRoute } from './stream-route.ts'
import type { ClusterView, Read } from './view.ts'

export type RouteKindName = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute'

export const ROUTE_SCHEMAS = {
  HTTPRoute: httpRoute,
  GRPCRoute: grpcRoute,
  TLSRoute: streamRoute,
  TCPRoute: streamRoute,
} as const

/** A translated route with its parents and status. */
export interface RouteOutcome {
  readonly read: Read
  readonly attachments: readonly Attachment[]
  readonly resolved: readonly Verdict[]
  readonly problems: readonly Rejection[]
  readonly ruleCount: number
  readonly diagnostics: readonly Diagnostic[]
  /** Key of a Gateway → the route's part in its Model. */
  readonly parts: ReadonlyMap<string, RoutePart>
  readonly status: StatusWithDiagnostics
}

/** A route in the Model of one Gateway. */
export interface RoutePart {
  /** The names of the listeners that it is attached to. */
  readonly attached: readonly string[]
  /** Undefined if none of the listeners is served. */
  readonly route: Route | undefined
  readonly stream: TcpRoute | undefined
  /** One of its policies may have no effect. */
  readonly isDoubtful: boolean
  readonly effects: Effects
}

export interface RouteDeps {
  readonly view: ClusterView
  readonly policies: Policies
  /** The managed Gateway with this key, or the one of the ListenerSet with this key. */
  readonly gatewayOf: (kind: string, key: string) => GatewayForRoutes | undefined
}

/** Undefined if it names no managed parent, or cannot be read. `before`: the previous outcome. */
export function readRoute(
  deps: RouteDeps,
  kind: RouteKindName,
  key: string,
  before: RouteOutcome | undefined,
): RouteOutcome | undefined {
  const { view, gatewayOf } = deps
  const [namespace = '', name = ''] = key.split('/')
  const read = view.get(kind, ROUTE_SCHEMAS[kind], namespace, name)
  if (read === undefined) return undefined
  const { parentRefs, hostnames } = read.value.spec
  const attachments = attachmentsOf(view, gatewayOf, read, parentRefs, hostnames)
  if (attachments.length === 0) return undefined
  const parts = new Map<string, RoutePart>()
  let first: Made | undefined
  for (const [gateway, own] of Map.groupBy(attachments, (one) => one.gateway)) {
    const listeners = [...new Set(own.flatMap((one) => one.listeners))]
    const parent = gatewayOf('Gateway', gateway)
    const served = listeners.filter(({ isServed }) => isServed)
    const made = makeRoute(deps, read, served.length > 0)
    first ??= made
    const parents = served.map((one) => parentOf(parent ?? { key: gateway, isByPort: false }, one))
    const known = before?.parts.get(gateway)
    const { route, stream } = placed(made, parents, known)
    parts.set(gateway, {
      attached: listeners.map((one) => one.name),
      route,
      stream,
      isDoubtful: route !== undefined && mayLackEffect(route),
      effects: made.effects,
    })
  }
  const { resolved = [], problems = [], ruleCount = 0, diagnostics = [] } = first ?? {}
  const outcome = { read, attachments, resolved, problems, ruleCount, diagnostics, parts }
  return { ...outcome, status: routeStatus(outcome) }
}

/** The previous route if nothing about it changed. */
function placed(
  { route, stream }: Made,
  parents: readonly Parent[],
  before: RoutePart | undefined,
): Pick<RoutePart, 'route' | 'stream'> {
  if (parents.length === 0) return { route: undefined, stream: undefined }
  if (stream !== undefined) {
    const made = freeze({ ...stream, parents })
    return { route: undefined, stream: isSame(before?.stream, made) ? before?.stream : made }
  }
  const made = route === undefined ? undefined : freeze({ ...route, parents })
  return { route: isSame(before?.route, made) ? before?.route : made, stream: undefined }
}

interface Made extends Pick<RouteOutcome, 'resolved' | 'problems' | 'ruleCount' | 'diagnostics'> {
  readonly route?: Omit<Route, 'parents'>
  readonly stream?: Omit<TcpRoute, 'parents'>
  readonly effects: Effects
}

type AnyRoute = Exclude<ReturnType<typeof readAny>, undefined>

function readAny(view: ClusterView, kind: RouteKindName, namespace: string, name: string) {
  return view.get(kind, ROUTE_SCHEMAS[kind], namespace, name)
}

/** A route that is not served is made only for its diagnostics. */
function makeRoute({ view, policies }: RouteDeps, read: AnyRoute, isServed: boolean): Made {
  const effects = noEffects()
  const resolve = resolver(view, isServed ? effects : undefined)
  const attached = (rule: string | undefined): readonly Attached[] => {
    if (!isServed) return []
    const part = rule === undefined ? {} : { section: rule }
    return policies.at(read.kind as RouteKindName, read.key, part, 'route', effects)
  }
  const { value } = read
  if (read.kind === 'TLSRoute' || read.kind === 'TCPRoute') {
    const typed = read as Parameters<typeof readStreamRoute>[1]
    const made = readStreamRoute({ resolve, attached: attached(undefined) }, typed)
    const { route: stream, resolved, problems } = made
    return { stream, resolved, problems, ruleCount: 1, diagnostics: [], effects }
  }
  const context = { resolve, attached }
  const made =
    read.kind === 'HTTPRoute'
      ? readHttpRoute(context, { ...read, value } as Parameters<typeof readHttpRoute>[1])
      : readGrpcRoute(context, { ...read, value } as Parameters<typeof readGrpcRoute>[1])
  return { ...made, effects }
}

export function parentOf(
  { key, isByPort }: Pick<GatewayForRoutes, 'key' | 'isByPort'>,
  { name, spec }: ListenerForRoutes,
): Parent {
  return { gateway: gatewayName(key, isByPort, spec.port), listener: name }
}

/** If a policy targets one port, each port is a separate gateway in the Model. */
export function gatewayName(key: string, isByPort: boolean, port: number): string {
  return isByPort ? `${key}/${port}` : key
}
