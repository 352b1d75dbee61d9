import type { JsonObject } from '../cel/values/value.ts'
import type { Backend } from '../model/backend.ts'
import { type ChangedRange, changedRange, comparedWith, spliced } from '../model/changed-range.ts'
import type { Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import type { ListsAround, Reach } from '../reach/reach.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { CompiledSection } from './compiled-section.ts'
import type { Hosts, MatchEntry } from './match.ts'
import { placesMentioning } from './mentions.ts'
import type { ListenerProgram, Program, RouteProgram } from './program.ts'
import type { Recorded, Uses } from './uses.ts'
import type { UsesTally } from './uses-tally.ts'

/**
 * The parts that a Program was compiled from. The next Program reuses a part if all its inputs are
 * the same: its own piece of the Model, the policies around it, and the backends that these
 * mention. Pieces are the same if they are the same objects: see model/reconcile.ts.
 */
export interface Parts {
  readonly services: CompileDeps
  /** Keyed by `gateway/listener`. */
  readonly listeners: ReadonlyMap<string, ListenerPart>
  /** Shared by this Program and those before and after it. */
  readonly tally: UsesTally
  /** The routes of its Model. */
  readonly routesByGateway: Reach['routesByGateway']
}

export interface ListenerPart {
  /** For all gateways, its own gateway, and the listener: everything around its routes. */
  readonly around: Around
  readonly own: Recorded<ListenerOwn>
  /** The routes of its gateway, and a part for each of them. */
  readonly near: readonly Route[]
  readonly routes: readonly RoutePart[]
  readonly hosts: Hosts<PlacedRoute>
  readonly program: ListenerProgram
}

/** A route at its listener. */
export interface PlacedRoute extends RouteProgram {
  /** `proxy` in expressions. */
  readonly attributes: JsonObject
  /** The route or the listener has hostnames. */
  readonly namesHost?: boolean
}

export interface Around {
  readonly lists: ListsAround
  readonly listener: Listener
}

/** Everything except its routes. */
export interface ListenerOwn extends Omit<ListenerProgram, 'match'> {
  readonly unmatched: PlacedRoute
}

/** A route at a listener, without entries if no request can reach it. */
export interface RoutePart {
  readonly route: Route
  /** Names of the backends that it mentions. */
  readonly mentions: readonly string[]
  readonly uses: Uses
  readonly entries: readonly MatchEntry<PlacedRoute>[]
  /** The policies of each of its rules, with those around it. */
  readonly traffic: readonly (Recorded<CompiledSection> | undefined)[]
}

/** The parts of the previous Program that can be reused. */
export interface Reusable {
  listener(key: string, around: Around): ListenerPart | undefined
  /** For an unchanged listener: the part of each of these routes, if there is one. */
  routes(part: ListenerPart | undefined, near: readonly Route[]): ReusedParts
}

/** The parts of routes, in order. */
export interface ReusedParts {
  readonly parts: (RoutePart | undefined)[]
  /** The indexes of missing parts. */
  readonly missing: readonly number[]
  /** Parts of these routes whose policies are unchanged although a backend changed. */
  readonly stale: ReadonlyMap<Route, RoutePart>
  /** The range that can differ from the routes of the previous listener. */
  readonly range: ChangedRange | undefined
  /** All parts except the missing ones are the previous parts, in the same positions. */
  readonly isInPlace?: boolean
}

const NONE_STALE: ReusedParts['stale'] = new Map()

const NOTHING_REUSABLE: Reusable = {
  listener: () => undefined,
  routes: (_, near) => ({
    parts: new Array(near.length).fill(undefined),
    missing: [...near.keys()],
    stale: NONE_STALE,
    range: undefined,
  }),
}

export function reusable(previous: Program | undefined, parts: Parts | undefined, now: Model) {
  if (previous === undefined || parts === undefined) return NOTHING_REUSABLE
  const { model: before } = previous
  const changed = changedBackends(before, now)
  const isStale = (thing: object) =>
    changed.size > 0 && mentionedBackends(thing).some((name) => changed.has(name))
  const made: Reusable = {
    listener(key, { lists, listener }) {
      const known = parts.listeners.get(key)
      if (known === undefined) return undefined
      const { around } = known
      const isSame =
        around.listener === listener &&
        lists.every((list, index) => around.lists[index] === list && !isStale(list)) &&
        !isStale(listener)
      return isSame ? known : undefined
    },
    routes(part, near) {
      if (part === undefined) return NOTHING_REUSABLE.routes(part, near)
      if (part.near === near) return inPlace(part.routes, changed)
      const range = changedRange(part.near, near)
      const { start, endBefore, end } = range
      const elsewhere = new Map<Route, RoutePart>()
      for (const one of part.routes.slice(start, endBefore)) elsewhere.set(one.route, one)
      const middle = near.slice(start, end).map((route) => elsewhere.get(route))
      const known: readonly (RoutePart | undefined)[] = part.routes
      const parts = spliced(known, start, endBefore - start, middle)
      if (changed.size === 0) {
        return { parts, missing: missingIn(parts, start, end), stale: NONE_STALE, range }
      }
      const stale = dropStale(parts, changed)
      return { parts, missing: missingIn(parts, 0, parts.length), stale, range: undefined }
    },
  }
  return made
}

/**
 * The routes whose parts differ from those of the previous Model; `now` shares unchanged pieces.
 */
export function routesToCompile(before: Model, now: Model): readonly Route[] {
  if (before.frontend !== now.frontend || before.gateways !== now.gateways) return now.routes
  const changed = changedBackends(before, now)
  const isStale = (thing: object) =>
    changed.size > 0 && mentionedBackends(thing).some((name) => changed.has(name))
  if (isStale(now.frontend) || isStale(now.gateways)) return now.routes
  let known: Set<Route> | undefined
  return now.routes.filter((route, index) => {
    // Most routes stay in place: the set is built only for the others.
    const isKnown = before.routes[index] === route || (known ??= new Set(before.routes)).has(route)
    return !isKnown || isStale(route)
  })
}

/** The routes are unchanged: only backends differ, if anything. */
function inPlace(routes: ListenerPart['routes'], changed: ReadonlySet<string>): ReusedParts {
  const missing = placesMentioning(routes, changed)
  const parts: (RoutePart | undefined)[] =
    missing.length === 0 ? (routes as RoutePart[]) : [...routes]
  const stale = new Map<Route, RoutePart>()
  for (const place of missing) {
    const part = routes[place] as RoutePart
    parts[place] = undefined
    if (isKeptIn(part.route, changed)) stale.set(part.route, part)
  }
  return { parts, missing, stale, range: undefined, isInPlace: true }
}

function missingIn(
  parts: readonly (RoutePart | undefined)[],
  from: number,
  end: number,
): readonly number[] {
  const missing: number[] = []
  for (let i = from; i < end; i++) if (parts[i] === undefined) missing.push(i)
  return missing
}

/** Counted loops: there may be thousands. */
function dropStale(
  parts: (RoutePart | undefined)[],
  changed: ReadonlySet<string>,
): ReusedParts['stale'] {
  const stale = new Map<Route, RoutePart>()
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    if (part === undefined) continue
    const { mentions } = part
    let isStale = false
    for (let m = 0; m < mentions.length; m++) isStale ||= changed.has(mentions[m] as string)
    if (!isStale) continue
    parts[i] = undefined
    if (isKeptIn(part.route, changed)) stale.set(part.route, part)
  }
  return stale
}

/** Whether its policies and those of its rules mention none of these. */
function isKeptIn({ policies, rules }: Route, changed: ReadonlySet<string>): boolean {
  const lists = [policies, ...rules.map((rule) => rule.policies)]
  return !lists.flatMap(mentionedBackends).some((name) => changed.has(name))
}

/** Names of backends that changed, and of backends that mention these. */
function changedBackends(before: Model, now: Model): ReadonlySet<string> {
  const changed = new Set<string>()
  if (before.backends === now.backends) return changed
  const { start, endBefore, end } = changedRange(before.backends, now.backends)
  const old = before.backends.slice(start, endBefore)
  const known = new Map(old.map((backend) => [backend.name, backend]))
  for (const backend of now.backends.slice(start, end)) {
    if (known.get(backend.name) !== backend) changed.add(backend.name)
    known.delete(backend.name)
  }
  for (const name of known.keys()) changed.add(name)
  for (let size = 0; size !== changed.size; ) {
    size = changed.size
    for (const backend of mentioningIn(now.backends)) {
      if (mentionedBackends(backend).some((name) => changed.has(name))) changed.add(backend.name)
    }
  }
  return changed
}

const mentioning = new WeakMap<readonly Backend[], readonly Backend[]>()

/** Backends that mention others: they are few, and only changed backends are searched for them. */
function mentioningIn(backends: readonly Backend[]): readonly Backend[] {
  const known = mentioning.get(backends)
  if (known !== undefined) return known
  const { before, range } = comparedWith(backends) ?? {}
  const kept = before && mentioning.get(before)
  const isMentioning = (backend: Backend) => mentionedBackends(backend).length > 0
  let found: readonly Backend[]
  if (kept === undefined || before === undefined || range === undefined) {
    found = backends.filter(isMentioning)
  } else {
    const gone = new Set(before.slice(range.start, range.endBefore))
    const come = backends.slice(range.start, range.end)
    found = [...kept.filter((backend) => !gone.has(backend)), ...come.filter(isMentioning)]
  }
  mentioning.set(backends, found)
  return found
}

const mentioned = new WeakMap<object, readonly string[]>()

/**
 * Every reference to a backend, by a route, a mirror or a service that a policy calls, has the key
 * `backend`; if such a string means something else, the only cost is a compilation.
 */
export function mentionedBackends(thing: object): readonly string[] {
  const known = mentioned.get(thing)
  if (known !== undefined) return known
  const names = new Set<string>()
  collect(thing, names)
  const found = [...names]
  mentioned.set(thing, found)
  return found
}

function collect(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (key === 'backend' && typeof member === 'string') names.add(member)
    else collect(member, names)
  }
}
