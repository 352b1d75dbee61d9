import type { Exchange } from '../exchange/exchange.ts'
import { changedRange, noteReplaced } from '../model/changed-range.ts'
import { changesBetween } from '../model/layered-map.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import { runCooperatively, runToCompletion } from '../model/steps.ts'
import { nameOf } from '../reach/attachment.ts'
import { kindsThat } from '../reach/kinds.ts'
import { Point } from '../reach/points.ts'
import { unenforcedOnStreams } from '../reach/stream-policies.ts'
import type { Where } from '../reach/where.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { type Compilation, closeCompilation, openCompilation } from './compilation.ts'
import type { CompileDeps } from './compile-deps.ts'
import { compileFrontend } from './frontend.ts'
import { HeaderReads } from './headers-read.ts'
import { pagesOf } from './kept.ts'
import { compileHosts, type MatchEntry, matcherOf } from './match.ts'
import { carryMentions } from './mentions.ts'
import { compileNetwork } from './network.ts'
import { withPages } from './own-pages.ts'
import {
  type Around,
  type ListenerOwn,
  type ListenerPart,
  mentionedBackends,
  type PlacedRoute,
  type Reusable,
  type ReusedParts,
  type RoutePart,
  reusable,
} from './parts.ts'
import type { Program } from './program.ts'
import { compileRule, compileUnmatched, rejectedRoute } from './routes.ts'
import { Uses } from './uses.ts'
import { type UsesList, UsesTally } from './uses-tally.ts'

/**
 * Compiles the Model into a Program. Clusters and counters of the previous Program continue in this
 * one if nothing about them changed. The previous Program stays unchanged for the requests that
 * began on it. Parts that both Models share are not compiled again (./parts.ts).
 */
export function compileProgram(
  model: Model,
  previous: Program | undefined,
  services: CompileDeps,
): Program {
  return runToCompletion(compileSteps(model, previous, services))
}

/** The same, interleaved with requests: it runs for at most a few milliseconds at a time. */
export function compileProgramCooperatively(
  model: Model,
  previous: Program | undefined,
  services: CompileDeps,
): Promise<Program> {
  return runCooperatively(compileSteps(model, previous, services), services.now)
}

/** Clusters to close because nothing uses them once the new Program serves. */
export function retiredClusters(previous: Program, next: Program): readonly Cluster[] {
  const gone: Cluster[] = []
  // Each is opened for one key and never appears under another key.
  for (const { before } of changesBetween(previous.clusters, next.clusters)) {
    if (before !== undefined) gone.push(before)
  }
  return gone
}

/** One step for each part; see `compileProgramCooperatively`. */
export function* compileSteps(
  model: Model,
  previous: Program | undefined,
  services: CompileDeps,
): Generator<void, Program> {
  const compilation = openCompilation(model, previous, services)
  // A compilation with other services must not get parts that were compiled with these.
  const known = previous?.parts?.services === services ? previous.parts : undefined
  const before = reusable(previous, known, model)
  const parts = new Map<string, ListenerPart>()
  for (const where of compilation.reach.listeners()) {
    const key = `${where.gateway.name}/${where.listener.name}`
    parts.set(key, yield* compileListener(compilation, before, where))
  }
  for (const diagnostic of unenforcedOnStreams(model)) {
    if (diagnostic.severity === 'error') compilation.contexts.report(diagnostic)
  }
  const lists = new Map<string, UsesList>()
  for (const [key, { own, routes }] of parts) {
    lists.set(`own ${key}`, [own]).set(`routes ${key}`, routes)
  }
  lists.set('', [{ uses: compilation.contexts.uses }])
  const tally = known?.tally ?? new UsesTally()
  const uses = tally.update(lists)
  const { routesByGateway } = compilation.reach
  closeCompilation(compilation)
  const pages = pagesOf(uses.state)
  return {
    model,
    listeners: [...parts.values()].map(({ program }) => withPages(program, pages)),
    ...uses,
    parts: { services, listeners: parts, tally, routesByGateway },
  }
}

/** For routes that no request can reach. */
const NO_USES = new Uses()

const PREFLIGHTS = kindsThat(({ repliesTo }) => repliesTo === 'preflights')

function* compileListener(
  compilation: Compilation,
  before: Reusable,
  where: Where,
): Generator<void, ListenerPart> {
  const { gateway, listener } = where
  const { reach } = compilation
  const around: Around = { lists: reach.listsAround(where), listener }
  const known = before.listener(`${gateway.name}/${listener.name}`, around)
  const own = known?.own ?? compilation.contexts.record(() => compileOwn(compilation, where))
  const near = reach.routesNear(where)
  const reused = before.routes(known, near)
  for (const index of reused.missing) {
    const route = near[index] as Route
    reused.parts[index] = yield* compileRoute(compilation, where, route, reused.stale.get(route))
  }
  const parts = reused.parts as RoutePart[]
  if (known !== undefined) {
    noteDifference(known, reused)
    carryMentions(known.routes, parts)
  }
  const hosts = yield* compileHosts(parts, known?.hosts)
  if (known !== undefined && known.hosts === hosts) return { ...known, near, routes: parts }
  const { unmatched, ...rest } = own.value
  const hostname = nameOf(listener)
  const matcher = matcherOf(hosts, { hostname, unmatched, rejected: rejectedRoute(where) })
  const program = { ...rest, match: matching(matcher) }
  return { around, own, near, routes: parts, hosts, program }
}

/** Thousands of parts are compared once, based on known changes, or not at all. */
function noteDifference({ routes }: ListenerPart, reused: ReusedParts): void {
  const parts = reused.parts as readonly RoutePart[]
  if (reused.isInPlace !== true) changedRange(routes, parts, reused.range)
  else if (parts !== routes) noteReplaced(routes, parts, reused.missing)
}

/** A separate function, so that it retains nothing else of the compilation. */
function matching(matcher: (exchange: Exchange) => PlacedRoute) {
  return (exchange: Exchange) => {
    const route = matcher(exchange)
    exchange.proxy = route.attributes
    exchange.namesHost = route.namesHost === true
    return route
  }
}

function compileOwn(compilation: Compilation, where: Where): ListenerOwn {
  const { gateway, listener } = where
  const point = new Point('connection', where, compilation.reach.around(where))
  const frontend = point.effective
  return {
    gateway: gateway.name,
    listener,
    frontend: [...frontend.byKind.values()].flat(),
    isClosed: point.invalid.length > 0,
    network: compileNetwork(compilation, frontend),
    ...compileFrontend(compilation, frontend),
    unmatched: compileUnmatched(compilation, where),
  }
}

/** A route at a listener; without entries if no request of the listener can reach it. */
function* compileRoute(
  compilation: Compilation,
  where: Where,
  route: Route,
  known?: RoutePart,
): Generator<void, RoutePart> {
  const { contexts, reach } = compilation
  const place = reach.routeOn(where, route)
  const mentions = mentionedBackends(route)
  if (place === undefined) return { route, mentions, uses: NO_USES, entries: [], traffic: [] }
  const { hostnames } = place
  const entries: MatchEntry<PlacedRoute>[] = []
  const uses = new Uses()
  if (route.rules.some(({ matches }) => matches.some(({ headers }) => headers.length > 0))) {
    const reads = new HeaderReads()
    reads.noteMatches(route)
    uses.add('headers', reads)
  }
  const traffic: RoutePart['traffic'][number][] = []
  for (const rulePlace of reach.rulesOf(place)) {
    const before = known?.traffic[rulePlace.index]
    // Policies that authenticate pass the identity on to backends, so they must be the current
    // ones.
    const isIdentifying = before !== undefined && before.value.authentications.length > 0
    const reused = isIdentifying ? undefined : before
    const made = contexts.record(() => compileRule(compilation, rulePlace, reused))
    const { target } = made.value
    traffic.push(made.value.traffic)
    const takesPreflights = target.kinds?.some((kind) => PREFLIGHTS.has(kind)) === true
    for (const match of rulePlace.rule.matches) {
      entries.push({ hostnames, match, target, takesPreflights })
    }
    uses.link(made.uses)
    yield
  }
  return { route, mentions, uses: contexts.shareUses(uses), entries, traffic }
}
