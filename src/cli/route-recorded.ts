import { KnownValues } from '../analysis/decisions/known-values.ts'
import type { Routed, Router } from '../analysis/decisions/replay.ts'
import type { RecordedRequest } from '../analysis/decisions/requests.ts'
import { RequestAttributes } from '../exchange/attributes.ts'
import { Connection } from '../exchange/connection.ts'
import { Exchange } from '../exchange/exchange.ts'
import { destinationOf, sourceOf } from '../exchange/peer.ts'
import { PlainHeaders } from '../exchange/plain-headers.ts'
import { servesStreams } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Match } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { compileProgram } from '../program/compile.ts'
import { closeKept, retiredKept } from '../program/kept.ts'
import type { ListenerProgram } from '../program/program.ts'
import { HttpListeners } from '../proxy/http-listeners.ts'
import { isAlike } from '../proxy/port-plan.ts'
import { Reach } from '../reach/reach.ts'
import { leadsToBackend, streamFor } from '../reach/streams.ts'
import type { StreamPlace } from '../reach/where.ts'
import { idleServices } from './idle-deps.ts'

/** Routes recorded requests as the gateway would, with its own listeners and matcher. */
export function openRouter(
  model: Model,
  isPortOf: (port: number) => boolean,
): { readonly route: Router; close(): void } {
  const program = compileProgram(model, undefined, idleServices({ value: 0 }))
  const reach = new Reach(model)
  return {
    route: (recorded) => routed(reach, program.listeners, recorded, isPortOf),
    close: () => closeKept(retiredKept(program, undefined)),
  }
}

function routed(
  reach: Reach,
  listeners: readonly ListenerProgram[],
  recorded: RecordedRequest,
  isPortOf: (port: number) => boolean,
): Routed | string {
  const own = listenersFor(listeners, recorded, isPortOf)
  const { isConnection, host, sni } = recorded.request
  const names = new HttpListeners(own)
  const isSecured = own.some(({ listener }) => SECURED.has(listener.protocol))
  // As in the gateway, a handshake selects the listener by server name, before any request.
  const entered = isSecured ? names.forHost(sni ?? '') : undefined
  // If a connection was closed because of its source address, its server name was never read.
  const isUnread = isConnection && sni === undefined
  if (isSecured && entered === undefined && !isUnread) return 'no listener serves this server name'
  const listener = isConnection ? (entered ?? own[0]) : names.forHost(host)
  if (listener === undefined) return 'no listener serves this host'
  if (entered !== undefined && !isAlike(listener, entered)) {
    return '421: another listener serves this host'
  }
  const place = { listener: `${listener.gateway}/${listener.listener.name}` }
  if (servesStreams(listener.listener)) {
    const isDetermined = !isUnread || listener.listener.protocol === 'TCP'
    const isTaken = !isDetermined
      ? streamsOn(reach, listener).some(({ stream }) => leadsToBackend(stream))
      : isForwarded(streamFor(streamsOn(reach, listener), sni))
    return isTaken ? { ...place, routes: [], unknown: [] } : 'no route matches'
  }
  if (isConnection) return { ...place, routes: [], unknown: [] }
  const { routes, unknown } = routesOf(reach, listener, recorded)
  return { ...place, routes, unknown }
}

const SECURED: ReadonlySet<string> = new Set(['HTTPS', 'TLS'])

function streamsOn(reach: Reach, own: ListenerProgram): readonly StreamPlace[] {
  const where = [...reach.listeners()].find(
    ({ gateway, listener }) => gateway.name === own.gateway && listener.name === own.listener.name,
  )
  return where === undefined ? [] : [...reach.streamsOn(where)]
}

function isForwarded(stream: TcpRoute | undefined): boolean {
  return stream !== undefined && leadsToBackend(stream)
}

/** The listeners of the port; matched by name if the file uses other ports than the gateway had. */
function listenersFor(
  listeners: readonly ListenerProgram[],
  { gateway, listener, port }: RecordedRequest,
  isPortOf: (port: number) => boolean,
): readonly ListenerProgram[] {
  if (port !== undefined && isPortOf(port)) {
    return listeners.filter((one) => one.listener.port === port)
  }
  const named = listeners.find((one) => one.gateway === gateway && one.listener.name === listener)
  return listeners.filter((one) => named !== undefined && one.listener.port === named.listener.port)
}

/**
 * Returns the route by the known values, and the routes that matches on unknown values may select:
 * for each such match, the route of a request with exactly these values. The route of any request
 * is among them.
 */
function routesOf(
  reach: Reach,
  listener: ListenerProgram,
  recorded: RecordedRequest,
): { readonly routes: readonly string[]; readonly unknown: readonly string[] } {
  const known = new KnownValues()
  recorded.setRequest(known)
  const headers = Object.entries(
    ((known.variables()['request'] as { readonly headers?: object })?.headers ?? {}) as Record<
      string,
      unknown
    >,
  ).filter((one): one is [string, string] => typeof one[1] === 'string')
  const path = recorded.path ?? '/'
  const found = new Set([routeOf(listener, recorded, path, headers, '')])
  const unknown = new Set<string>()
  if (recorded.path === undefined) unknown.add('request.path')
  for (const { name, match } of matchesOn(reach, listener)) {
    const hidden = match.headers.filter(
      (one) => !known.isKnown(['request', 'headers', one.name.toLowerCase()], false),
    )
    const isPathHidden = recorded.path === undefined
    if (hidden.length === 0 && match.query.length === 0 && !isPathHidden) continue
    const isPlain = [...hidden, ...match.query].every(({ kind }) => kind === 'exact')
    const isFitting = isPathHidden || !isPlain
    const more = hidden.map((one): [string, string] => [one.name, one.value])
    const query = new URLSearchParams(
      match.query.map((one): [string, string] => [one.name, one.value]),
    ).toString()
    const route = isFitting ? name : routeOf(listener, recorded, path, [...headers, ...more], query)
    if (found.has(route)) continue
    found.add(route)
    for (const one of hidden) unknown.add(`request.headers['${one.name}']`)
    if (match.query.length > 0) unknown.add('request.query')
  }
  return { routes: [...found], unknown: [...unknown] }
}

function* matchesOn(
  reach: Reach,
  { gateway, listener }: ListenerProgram,
): Generator<{ readonly name: string; readonly match: Match }> {
  for (const where of reach.listeners()) {
    if (where.gateway.name !== gateway || where.listener.name !== listener.name) continue
    for (const { route, rule } of reach.rulesOn(where)) {
      for (const match of rule.matches) yield { name: route.name, match }
    }
  }
}

function routeOf(
  listener: ListenerProgram,
  { request }: RecordedRequest,
  path: string,
  headers: readonly (readonly [string, string])[],
  query: string,
): string {
  const isEncrypted = listener.listener.protocol === 'HTTPS'
  const from = sourceOf('127.0.0.1', 0)
  const to = destinationOf('127.0.0.1', listener.listener.port ?? 0, undefined)
  if (from === undefined || to === undefined) throw new Error('loopback is no address')
  const connection = new Connection(from, to, isEncrypted, request.sni, 0)
  const attributes = new RequestAttributes(
    request.method,
    path,
    query === '' ? '' : `?${query}`,
    request.host,
    isEncrypted ? 'https' : 'http',
    'HTTP/1.1',
    new PlainHeaders(headers),
    0,
  )
  return listener.match(new Exchange(connection, attributes)).name
}
