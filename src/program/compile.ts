import type { Exchange } from '../exchange/exchange.ts'
import { isAttached, nameOf } from '../model/attachment.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import { reachable } from '../model/hostnames.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import { inSlices, toEnd } from '../model/steps.ts'
import { unenforcedOnStreams } from '../policies/stream-policies.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { type Compilation, layersAround, openCompilation } from './compilation.ts'
import { compileFrontend } from './frontend.ts'
import { reaching } from './layers.ts'
import { compileMatcherStepwise, type MatchEntry } from './match.ts'
import { compileNetwork } from './network.ts'
import type { ListenerProgram, Program } from './program.ts'
import { compileRule, compileUnmatched, type PlacedRoute, refusedRoute } from './routes.ts'
import type { Services } from './services.ts'

/**
 * The Model as what runs. Clusters and counts of the Program before go on in this one where
 * nothing about them changed; that one stays as it is, for the requests that began on it.
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
  compilation.sites.headerReads.noteRoutes(model)
  const attached = routesByGateway(model)
  const listeners: ListenerProgram[] = []
  for (const gateway of model.gateways) {
    for (const listener of gateway.listeners) {
      const routes = attached.get(gateway.name) ?? []
      listeners.push(yield* compileListener(compilation, gateway, listener, routes))
    }
  }
  for (const diagnostic of unenforcedOnStreams(model)) {
    if (diagnostic.severity === 'error') compilation.sites.report(diagnostic)
  }
  compilation.sites.close()
  return {
    model,
    listeners,
    diagnostics: compilation.sites.diagnostics,
    clusters: compilation.clusters.opened,
    headersRead: compilation.sites.headerReads,
    state: compilation.sites.state,
  }
}

function routesByGateway({ routes }: Model): ReadonlyMap<string, readonly Route[]> {
  const byGateway = new Map<string, Set<Route>>()
  for (const route of routes) {
    for (const { gateway } of route.parents) {
      const known = byGateway.get(gateway)
      if (known === undefined) byGateway.set(gateway, new Set([route]))
      else known.add(route)
    }
  }
  return new Map([...byGateway].map(([gateway, found]) => [gateway, [...found]]))
}

function* compileListener(
  compilation: Compilation,
  gateway: Gateway,
  listener: Listener,
  routes: readonly Route[],
): Generator<void, ListenerProgram> {
  const where = { gateway, listener }
  const frontend = reaching(layersAround(compilation, where), 'frontend')
  const hostname = nameOf(listener)
  const entries: MatchEntry<PlacedRoute>[] = []
  for (const route of isHttp(listener) ? routes : []) {
    const hostnames = reachable(route.hostnames, hostname)
    if (hostnames === undefined || !isAttached(route, gateway, listener)) continue
    for (const [index, rule] of route.rules.entries()) {
      const target = compileRule(compilation, { gateway, listener, route, rule, index })
      const takesPreflights = target.kinds?.includes('cors') === true
      for (const match of rule.matches) entries.push({ hostnames, match, target, takesPreflights })
      yield
    }
  }
  const unmatched = compileUnmatched(compilation, where)
  const refused = refusedRoute(where)
  const matcher = yield* compileMatcherStepwise(entries, { hostname, unmatched, refused })
  return {
    gateway: gateway.name,
    listener,
    frontend: [...frontend.byKind.values()].flat(),
    network: compileNetwork(compilation, frontend),
    ...compileFrontend(compilation, frontend),
    match(exchange: Exchange) {
      const route = matcher(exchange)
      exchange.proxy = route.attributes
      return route
    },
  }
}

function isHttp({ protocol }: Listener): boolean {
  return protocol === 'HTTP' || protocol === 'HTTPS'
}
