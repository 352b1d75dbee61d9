import type { Exchange } from '../exchange/exchange.ts'
import type { Model } from '../model/model.ts'
import { inSlices, toEnd } from '../model/steps.ts'
import { nameOf } from '../reach/attachment.ts'
import { kindsThat } from '../reach/kinds.ts'
import { Point } from '../reach/points.ts'
import { unenforcedOnStreams } from '../reach/stream-policies.ts'
import type { Where } from '../reach/where.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { type Compilation, openCompilation } from './compilation.ts'
import { compileFrontend } from './frontend.ts'
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
  const listeners: ListenerProgram[] = []
  for (const where of compilation.reach.listeners()) {
    listeners.push(yield* compileListener(compilation, where))
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

const PREFLIGHTS = kindsThat(({ answers }) => answers === 'preflights')

function* compileListener(
  compilation: Compilation,
  where: Where,
): Generator<void, ListenerProgram> {
  const { gateway, listener } = where
  const { reach } = compilation
  const point = new Point('connection', where, reach.around(where))
  const frontend = point.effective
  const hostname = nameOf(listener)
  const entries: MatchEntry<PlacedRoute>[] = []
  for (const place of reach.rulesOn(where)) {
    const { rule, hostnames } = place
    const target = compileRule(compilation, place)
    const takesPreflights = target.kinds?.some((kind) => PREFLIGHTS.has(kind)) === true
    for (const match of rule.matches) entries.push({ hostnames, match, target, takesPreflights })
    yield
  }
  const unmatched = compileUnmatched(compilation, where)
  const refused = refusedRoute(where)
  const matcher = yield* compileMatcherStepwise(entries, { hostname, unmatched, refused })
  return {
    gateway: gateway.name,
    listener,
    frontend: [...frontend.byKind.values()].flat(),
    isClosed: point.invalid.length > 0,
    network: compileNetwork(compilation, frontend),
    ...compileFrontend(compilation, frontend),
    match(exchange: Exchange) {
      const route = matcher(exchange)
      exchange.proxy = route.attributes
      return route
    },
  }
}
