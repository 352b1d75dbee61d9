import type { Exchange } from '../exchange/exchange.ts'
import { isAttached, nameOf } from '../model/attachment.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import { reachable } from '../model/hostnames.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import { inSlices, toEnd } from '../model/steps.ts'
import { unenforcedOnStreams } from '../policies/stream-policies.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { type Compilation, closeCompilation, layersAround, openCompilation } from './compilation.ts'
import { compileFrontend } from './frontend.ts'
import { HeaderReads } from './headers-read.ts'
import { reaching } from './layers.ts'
import { compileHosts, type MatchEntry, matcherOf } from './match.ts'
import { compileNetwork } from './network.ts'
import {
  type Around,
  type ListenerOwn,
  type ListenerPart,
  type Reusable,
  type RoutePart,
  reusable,
} from './parts.ts'
import type { Program } from './program.ts'
import { compileRule, compileUnmatched, type PlacedRoute, refusedRoute } from './routes.ts'
import type { Services } from './services.ts'
import { allUses, Uses } from './uses.ts'

/**
 * The Model as what runs. Clusters and counts of the Program before go on in this one where
 * nothing about them changed; that one stays as it is, for the requests that began on it. Parts
 * that both Models have are not compiled again (./parts.ts).
 */
export function compileProgram(
  model: Model,
  previous: Program | undefined,
  services: Services,
): Program {
  return toEnd(compileStepwise(model, previous, services))
}

/** The same between requests: no more than some milliseconds at once. */
export function compileProgramInSlices(
  model: Model,
  previous: Program | undefined,
  services: Services,
): Promise<Program> {
  return inSlices(compileStepwise(model, previous, services), services.now)
}

/** What nothing uses any more once the new Program serves, to be closed. */
export function retiredClusters(previous: Program, next: Program): readonly Cluster[] {
  const used = new Set(next.clusters.values())
  return [...previous.clusters.values()].filter((cluster) => !used.has(cluster))
}

function* compileStepwise(
  model: Model,
  previous: Program | undefined,
  services: Services,
): Generator<void, Program> {
  const compilation = openCompilation(model, previous, services)
  // Whoever asks for other services must not get parts that were made with these.
  const known = previous?.parts?.services === services ? previous.parts : undefined
  const before = reusable(known, previous?.model ?? model, model)
  const attached = routesByGateway(model)
  const parts = new Map<string, ListenerPart>()
  for (const gateway of model.gateways) {
    for (const listener of gateway.listeners) {
      const routes = attached.get(gateway.name) ?? []
      const key = `${gateway.name}/${listener.name}`
      parts.set(key, yield* compileListener(compilation, before, gateway, listener, routes))
    }
  }
  for (const diagnostic of unenforcedOnStreams(model)) {
    if (diagnostic.severity === 'error') compilation.sites.report(diagnostic)
  }
  const lists = [...parts.values()].flatMap(({ own, routes }) => [[own], routes])
  const uses = allUses([...lists, [compilation.sites]])
  closeCompilation(compilation)
  return {
    model,
    listeners: [...parts.values()].map(({ program }) => program),
    ...uses,
    parts: { services, listeners: parts },
  }
}

function routesByGateway({ routes }: Model): ReadonlyMap<string, readonly Route[]> {
  const byGateway = new Map<string, Route[]>()
  for (const route of routes) {
    for (const { gateway } of route.parents) {
      const known = byGateway.get(gateway)
      if (known === undefined) byGateway.set(gateway, [route])
      else if (known[known.length - 1] !== route) known.push(route)
    }
  }
  return byGateway
}

function* compileListener(
  compilation: Compilation,
  before: Reusable,
  gateway: Gateway,
  listener: Listener,
  routes: readonly Route[],
): Generator<void, ListenerPart> {
  const where = { gateway, listener }
  const { frontend } = compilation.model
  const around: Around = { frontend, policies: gateway.policies, listener }
  const known = before.listener(`${gateway.name}/${listener.name}`, around)
  const own = known?.own ?? compilation.sites.record(() => compileOwn(compilation, where))
  const find = before.routes(known)
  const parts: RoutePart[] = []
  for (const route of isHttp(listener) ? routes : []) {
    parts.push(find(route) ?? (yield* compileRoute(compilation, where, route)))
  }
  const hosts = yield* compileHosts(parts, known?.hosts)
  if (known !== undefined && known.hosts === hosts) return { ...known, routes: parts }
  const { unmatched, ...rest } = own.value
  const hostname = nameOf(listener)
  const matcher = matcherOf(hosts, { hostname, unmatched, refused: refusedRoute(where) })
  const program = { ...rest, match: matching(matcher) }
  return { around, own, routes: parts, hosts, program }
}

/** Apart, so that it keeps nothing else of the compilation alive. */
function matching(matcher: (exchange: Exchange) => PlacedRoute) {
  return (exchange: Exchange) => {
    const route = matcher(exchange)
    exchange.proxy = route.attributes
    return route
  }
}

function compileOwn(
  compilation: Compilation,
  where: { readonly gateway: Gateway; readonly listener: Listener },
): ListenerOwn {
  const { gateway, listener } = where
  const frontend = reaching(layersAround(compilation, where), 'frontend')
  return {
    gateway: gateway.name,
    listener,
    frontend: [...frontend.byKind.values()].flat(),
    network: compileNetwork(compilation, frontend),
    ...compileFrontend(compilation, frontend),
    unmatched: compileUnmatched(compilation, where),
  }
}

function* compileRoute(
  compilation: Compilation,
  where: { readonly gateway: Gateway; readonly listener: Listener },
  route: Route,
): Generator<void, RoutePart> {
  const { gateway, listener } = where
  const hostnames = reachable(route.hostnames, nameOf(listener))
  if (hostnames === undefined || !isAttached(route, gateway, listener))
    return { route, uses: NO_USES, entries: [] }
  const { sites } = compilation
  const entries: MatchEntry<PlacedRoute>[] = []
  const { uses } = sites.record(() => {
    const reads = new HeaderReads()
    reads.noteMatches(route)
    if (reads.names.size > 0) sites.readHeaders(reads)
  })
  for (const [index, rule] of route.rules.entries()) {
    const made = sites.record(() => compileRule(compilation, { ...where, route, rule, index }))
    const target = made.value
    const takesPreflights = target.kinds?.includes('cors') === true
    for (const match of rule.matches) entries.push({ hostnames, match, target, takesPreflights })
    uses.link(made.uses)
    yield
  }
  return { route, uses: sites.shareUses(uses), entries }
}

const NO_USES = new Uses()

function isHttp({ protocol }: Listener): boolean {
  return protocol === 'HTTP' || protocol === 'HTTPS'
}
