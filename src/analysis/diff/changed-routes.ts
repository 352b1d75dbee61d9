import { reachable } from '../../model/hostnames.ts'
import type { Model } from '../../model/model.ts'
import type { Match, Route } from '../../model/route.ts'
import { canShare } from './precedence.ts'
import { isSame } from './same-parts.ts'

/** The names of routes that a change concerns. */
export interface ChangedRoutes {
  /** Routes that only one of the two has, or that match other requests. */
  readonly moved: ReadonlySet<string>
  /** These, those whose policies and backends differ, and those that may get requests of `moved`. */
  readonly compared: ReadonlySet<string>
}

/**
 * The routes that a change concerns, if nothing else differs: all others receive the same requests
 * as before and decide them in the same way. Undefined if anything else differs.
 */
export function changedRoutes(before: Model, after: Model): ChangedRoutes | undefined {
  const [old, now] = [routesByName(before), routesByName(after)]
  if (old === undefined || now === undefined || !isSame(around(before), around(after))) {
    return undefined
  }
  const backends = changedBackends(before, after)
  const kept = [before, after].flatMap(({ backends: all }) =>
    all.filter(({ name }) => !backends.has(name)),
  )
  if (mentions([around(before), kept], backends)) return undefined
  const common = (one: Model, other: ReadonlyMap<string, Route>) =>
    one.routes.flatMap(({ name }) => (other.has(name) ? [name] : []))
  if (!isSame(common(before, now), common(after, old))) return undefined
  const [moved, compared] = [new Set<string>(), new Set<string>()]
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(name), now.get(name)]
    if (was === undefined || is === undefined) moved.add(name)
    else if (isSame(was, is)) mentions(was, backends) && compared.add(name)
    else (isSame(receiving(was), receiving(is)) ? compared : moved).add(name)
  }
  const others = [...moved].flatMap((name) => [old.get(name) ?? [], now.get(name) ?? []].flat())
  for (const route of now.values()) {
    if (others.some((other) => mayMeet(route, other))) compared.add(route.name)
  }
  return { moved, compared: compared.union(moved) }
}

/** Undefined if several have the same name. */
function routesByName({ routes }: Model): ReadonlyMap<string, Route> | undefined {
  const found = new Map(routes.map((route) => [route.name, route]))
  return found.size === routes.length ? found : undefined
}

function around(model: Model): Model {
  return { ...model, routes: [], backends: [] }
}

/** Names of backends that only one of the two has, or that differ. */
function changedBackends(before: Model, after: Model): ReadonlySet<string> {
  const byName = ({ backends }: Model) => Map.groupBy(backends, ({ name }) => name)
  const [old, now] = [byName(before), byName(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return new Set(names.filter((name) => !isSame(old.get(name) ?? [], now.get(name) ?? [])))
}

/** Whether a string anywhere in the value is one of the names. */
function mentions(value: unknown, names: ReadonlySet<string>): boolean {
  if (names.size === 0) return false
  if (typeof value === 'string') return names.has(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, part]) => names.has(key) || mentions(part, names))
}

/** What determines the requests that a route receives: all of it except for these fields. */
function receiving({ policies: _, rules, ...route }: Route): unknown {
  return { ...route, rules: rules.map(({ policies: _, action: __, ...rule }) => rule) }
}

/** Whether there may be a request that both routes match. */
function mayMeet(one: Route, other: Route): boolean {
  if (!shareHost(one.hostnames, other.hostnames)) return false
  const matches = matchesOf(other)
  return matchesOf(one).some((match) => matches.some((there) => canShare(match, there)))
}

function shareHost(some: readonly string[], others: readonly string[]): boolean {
  const isAny = [some, others].some((names) => names.length === 0 || names.includes('*'))
  return isAny || some.some((name) => reachable(others, name) !== undefined)
}

function matchesOf({ rules }: Route): readonly Match[] {
  return rules.flatMap(({ matches }) => matches)
}
