import type { JsonObject } from '../cel/values/value.ts'
import type { Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import { movesMade } from '../model/moves.ts'
import type { Attached } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { Hosts, MatchEntry } from './match.ts'
import type { ListenerProgram, Program, RouteProgram } from './program.ts'
import type { Recorded, Uses } from './uses.ts'
import type { UsesTally } from './uses-tally.ts'

/**
 * What a Program was made of. A part is taken over by the next Program where all that reaches it
 * is the same: its own piece of the Model, the policies around it, and the backends that any of
 * these mention. Pieces are the same where they are the same objects: see model/reconcile.ts.
 */
export interface Parts {
  readonly services: CompileDeps
  /** By `gateway/listener`. */
  readonly listeners: ReadonlyMap<string, ListenerPart>
  /** Of this Program and those before and after it. */
  readonly tally: UsesTally
  /** How many things had been moved in their files when it was made. */
  readonly moves: number
}

export interface ListenerPart {
  /** Of all gateways, of its own, and the listener: whatever is around its routes. */
  readonly around: Around
  readonly own: Recorded<ListenerOwn>
  /** One for each route of its gateway, in their order. */
  readonly routes: readonly RoutePart[]
  readonly hosts: Hosts<PlacedRoute>
  readonly program: ListenerProgram
}

/** A route as its listener knows it. */
export interface PlacedRoute extends RouteProgram {
  /** `proxy` in expressions. */
  readonly attributes: JsonObject
}

export interface Around {
  readonly frontend: readonly Attached[]
  readonly policies: readonly Attached[]
  readonly listener: Listener
}

/** All but its routes. */
export interface ListenerOwn extends Omit<ListenerProgram, 'match'> {
  readonly unmatched: PlacedRoute
}

/** A route at a listener, without entries where no request can come to it. */
export interface RoutePart {
  readonly route: Route
  readonly uses: Uses
  readonly entries: readonly MatchEntry<PlacedRoute>[]
}

/** What of the Program before can be taken over. */
export interface Reusable {
  listener(key: string, around: Around): ListenerPart | undefined
  /** Of a listener that is the same: asked for routes in their order. */
  routes(part: ListenerPart | undefined): (route: Route) => RoutePart | undefined
}

const NONE = () => undefined
const NOTHING_REUSABLE: Reusable = { listener: NONE, routes: () => NONE }

export function reusable(previous: Program | undefined, parts: Parts | undefined, now: Model) {
  if (previous === undefined || parts === undefined) return NOTHING_REUSABLE
  const { model: before, diagnostics } = previous
  // What is said of an expression counts from the line that its policy was on then.
  const isElsewhere = diagnostics.length > 0 && parts.moves !== movesMade()
  const changed = changedBackends(before, now)
  const isStale = (thing: object) =>
    changed.size > 0 && mentionedBackends(thing).some((name) => changed.has(name))
  const made: Reusable = {
    listener(key, { frontend, policies, listener }) {
      const known = parts.listeners.get(key)
      if (known === undefined) return undefined
      const { around } = known
      const isSame =
        !(isElsewhere && known.own.uses.isReported) &&
        around.frontend === frontend &&
        around.policies === policies &&
        around.listener === listener &&
        !isStale(frontend) &&
        !isStale(policies) &&
        !isStale(listener)
      return isSame ? known : undefined
    },
    routes(part) {
      if (part === undefined) return NONE
      const find = finder(part.routes)
      return (route) => {
        const known = find(route)
        if (known === undefined || isStale(route)) return undefined
        return isElsewhere && known.uses.isReported ? undefined : known
      }
    },
  }
  return made
}

/** The routes whose parts are not those of the Model before; `now` has the pieces that both share. */
export function routesToCompile(before: Model, now: Model): readonly Route[] {
  if (before.frontend !== now.frontend || before.gateways !== now.gateways) return now.routes
  const changed = changedBackends(before, now)
  const isStale = (thing: object) =>
    changed.size > 0 && mentionedBackends(thing).some((name) => changed.has(name))
  if (isStale(now.frontend) || isStale(now.gateways)) return now.routes
  let known: Set<Route> | undefined
  return now.routes.filter((route, index) => {
    // Most stay where they are: a table is made for the others alone.
    const isKnown = before.routes[index] === route || (known ??= new Set(before.routes)).has(route)
    return !isKnown || isStale(route)
  })
}

/** Routes that a part was made of, whichever: of others there is none to look for. */
const compiled = new WeakSet<Route>()

export function routePart(part: RoutePart): RoutePart {
  compiled.add(part.route)
  return part
}

/** Most are asked for in the order in which they are: a table is made for the others alone. */
function finder(parts: readonly RoutePart[]): (route: Route) => RoutePart | undefined {
  let next = 0
  let table: Map<Route, number> | undefined
  return (route) => {
    if (parts[next]?.route !== route) {
      const found = compiled.has(route) ? (table ??= tableOf(parts)).get(route) : undefined
      if (found === undefined) {
        // Most likely in the place of the one that was there.
        next++
        return undefined
      }
      next = found
    }
    return parts[next++]
  }
}

function tableOf(parts: readonly RoutePart[]): Map<Route, number> {
  return new Map(parts.map((part, index) => [part.route, index]))
}

/** By name: those that are other than before, and those that mention such. */
function changedBackends(before: Model, now: Model): ReadonlySet<string> {
  const changed = new Set<string>()
  if (before.backends === now.backends) return changed
  const known = new Map(before.backends.map((backend) => [backend.name, backend]))
  for (const backend of now.backends) {
    if (known.get(backend.name) !== backend) changed.add(backend.name)
    known.delete(backend.name)
  }
  for (const name of known.keys()) changed.add(name)
  for (let size = 0; size !== changed.size; ) {
    size = changed.size
    for (const backend of now.backends) {
      if (mentionedBackends(backend).some((name) => changed.has(name))) changed.add(backend.name)
    }
  }
  return changed
}

const mentions = new WeakMap<object, readonly string[]>()

/**
 * Wherever a backend is referred to, by a route, a mirror or a service that a policy asks, its
 * name is a `backend`; that some such text may be something else costs a compilation at most.
 */
export function mentionedBackends(thing: object): readonly string[] {
  const known = mentions.get(thing)
  if (known !== undefined) return known
  const names = new Set<string>()
  collect(thing, names)
  const found = [...names]
  mentions.set(thing, found)
  return found
}

function collect(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (key === 'backend' && typeof member === 'string') names.add(member)
    else collect(member, names)
  }
}
