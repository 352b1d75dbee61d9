// HOT PATH: finds the route of a request; allocates only what header or query matches decode.
// Guarded by bench/match.ts; equals test/fuzz/route-match.plain.ts on any input.
// Liberties: counted loops, rolling hashes instead of slices, tables linked to the next best.

import type { Exchange } from '../exchange/exchange.ts'
import { coverage } from '../model/hostnames.ts'
import { LayeredMap } from '../model/layered-map.ts'
import type { Match } from '../model/route.ts'
import { runToCompletion } from '../model/steps.ts'
import { Candidate } from './candidate.ts'
import { type Difference, type Groups, groupsBetween, isMost } from './group-difference.ts'
import { HostTable, holdsAt, keyOf, PRIME, push, SEED } from './host-table.ts'

/** One match of one rule, with its target. If all else is equal, the first one wins. */
export interface MatchEntry<T> {
  /** In lower case, wildcards at the front; if empty, any name. */
  readonly hostnames: readonly string[]
  readonly match: Match
  readonly target: T
  /** CORS preflights for the method of the match are matched too: the target responds to them. */
  readonly takesPreflights?: boolean
}

export interface MatcherOptions<T> {
  /** The listener's own name: other names match nothing. */
  readonly hostname: string | undefined
  readonly unmatched: T
  /** For a request whose regular expression costs too much: continuing would skip a route. */
  readonly rejected: T
}

/** Sets `matchedPrefix`: the whole path for an exact match, nothing for a regular expression. */
export type Matcher<T> = (exchange: Exchange) => T

export function compileMatcher<T>(
  entries: readonly MatchEntry<T>[],
  options: MatcherOptions<T>,
): Matcher<T> {
  return matcherOf(runToCompletion(compileHosts([{ entries }])), options)
}

export function matcherOf<T>(hosts: Hosts<T>, options: MatcherOptions<T>): Matcher<T> {
  const { hostname, unmatched, rejected } = options
  const { exact, suffixes, longest, any } = hosts
  const search = (exchange: Exchange): T | undefined => {
    const { host } = exchange.request
    const own = exact.get(host)
    if (own !== undefined) {
      const found = own.find(exchange, rejected)
      if (found !== undefined) return found
    }
    if (longest > 0) {
      let table = longestSuffix(suffixes, longest, host)
      for (; table !== undefined; table = table.shorter) {
        const found = table.find(exchange, rejected)
        if (found !== undefined) return found
      }
    }
    return any.isEmpty ? undefined : any.find(exchange, rejected)
  }
  if (hostname === undefined) return (exchange) => search(exchange) ?? unmatched
  const covers = coverage(hostname)
  return (exchange) => (covers(exchange.request.host) ? (search(exchange) ?? unmatched) : unmatched)
}

/** Immutable: the next one shares the tables of unchanged hosts. */
export interface Hosts<T> {
  readonly groups: Groups<T>
  readonly exact: LayeredMap<HostTable<T>>
  /** Keyed by `.example.com`. */
  readonly wildcards: ReadonlyMap<string, HostTable<T>>
  /** Keyed by the hash of `.example.com`, read from its end. */
  readonly suffixes: ReadonlyMap<number, readonly HostTable<T>[]>
  readonly longest: number
  readonly any: HostTable<T>
}

/** Runs in small steps. If most groups are those of `before`, only changed hosts are built. */
export function* compileHosts<T>(
  groups: Groups<T>,
  before: Hosts<T> | undefined = undefined,
): Generator<void, Hosts<T>> {
  const difference = before && groupsBetween(before.groups, groups)
  // Updating tables that lose most of their routes is as much work, and is done all at once.
  if (difference !== undefined && isMost(difference, groups.length)) {
    return yield* compileHosts(groups)
  }
  const changes = difference && changedHosts(difference)
  const changed = changes && new Set(changes.keys())
  if (before !== undefined && changed?.size === 0) return before
  const starts = startsOf(before, changes)
  // If only changed groups have routes under the changed paths, no other groups are visited.
  const isWithin = before && difference && isAllOf(before, difference.gone, starts)
  const among = isWithin === true && starts.size === changed?.size ? difference.come : groups
  const { any, ...built } = yield* buildTables(among, changed, starts)
  const exact = mergedExact(before?.exact, changed, built.exact)
  if (before !== undefined && ![...(changed ?? [])].some((name) => name.startsWith('*.'))) {
    const { wildcards, suffixes, longest } = before
    return { groups, exact, wildcards, suffixes, longest, any: any ?? before.any }
  }
  const wildcards = linked(mergedWildcards(before?.wildcards, changed, built.wildcards))
  const suffixes = new Map<number, HostTable<T>[]>()
  let longest = 0
  for (const [name, table] of wildcards) {
    longest = Math.max(longest, name.length)
    push(suffixes, hashSuffix(name), table)
  }
  return {
    groups,
    exact,
    wildcards,
    suffixes,
    longest,
    any: any ?? before?.any ?? new HostTable<T>(''),
  }
}

/** The keys of changed paths, by name; undefined if one of them has no key. */
type Changes = ReadonlyMap<string, ReadonlySet<string> | undefined>

/** Covers all entries that differ; '' is any name. */
function changedHosts<T>({ gone, come }: Difference<T>): Changes {
  const changes = new Map<string, Set<string> | undefined>()
  const note = (name: string, key: string | undefined) => {
    const known = changes.get(name)
    if (key === undefined || (known === undefined && changes.has(name)))
      changes.set(name, undefined)
    else changes.set(name, (known ?? new Set()).add(key))
  }
  for (const { entries } of [...gone, ...come]) {
    for (const { hostnames, match } of entries) {
      const key = keyOf(match.path)
      if (hostnames.length === 0) note('', key)
      for (const hostname of hostnames) note(hostname, key)
    }
  }
  return changes
}

/** A table to update, and the keys to add to it. */
interface Start<T> {
  readonly table: HostTable<T>
  readonly keys: ReadonlySet<string>
}

type Starts<T> = ReadonlyMap<string, Start<T>>

/** The previous tables by name, without the changed keys; missing if a table is built anew. */
function startsOf<T>(before: Hosts<T> | undefined, changes: Changes | undefined): Starts<T> {
  const starts = new Map<string, Start<T>>()
  if (before === undefined || changes === undefined) return starts
  for (const [name, keys] of changes) {
    // Tables of wildcards are linked to each other.
    const known = name === '' ? before.any : before.exact.get(name)
    const table = keys && known?.without(keys)
    if (keys !== undefined && table !== undefined) starts.set(name, { table, keys })
  }
  return starts
}

/** Whether these groups own all routes under the changed keys in the tables. */
function isAllOf<T>(before: Hosts<T>, gone: Groups<T>, starts: Starts<T>): boolean {
  const own = new Map<string, Map<string, number>>()
  for (const { entries } of gone) {
    for (const { hostnames, match } of entries) {
      const key = keyOf(match.path) ?? ''
      for (const name of hostnames.length === 0 ? [''] : new Set(hostnames)) {
        const counts = own.get(name) ?? new Map<string, number>()
        own.set(name, counts.set(key, (counts.get(key) ?? 0) + 1))
      }
    }
  }
  return [...starts].every(([name, { keys }]) => {
    const table = name === '' ? before.any : before.exact.get(name)
    return [...keys].every((key) => table?.countAt(key) === (own.get(name)?.get(key) ?? 0))
  })
}

interface Tables<T> {
  readonly exact: Map<string, HostTable<T>>
  readonly wildcards: Map<string, HostTable<T>>
  any: HostTable<T> | undefined
}

const GROUPS_AT_ONCE = 500

/** Builds the tables of these names, or all tables. */
function* buildTables<T>(
  groups: Groups<T>,
  names: ReadonlySet<string> | undefined,
  starts: Starts<T>,
): Generator<void, Tables<T>> {
  const isAnyBuilt = names === undefined || names.has('')
  const any = isAnyBuilt ? (starts.get('')?.table ?? new HostTable<T>('')) : undefined
  const tables: Tables<T> = { exact: new Map(), wildcards: new Map(), any }
  for (const [name, { table }] of starts) if (name !== '') tables.exact.set(name, table)
  for (let from = 0; from < groups.length; from += GROUPS_AT_ONCE) {
    fill(tables, groups, from, names, starts)
    yield
  }
  for (const { table } of starts.values()) {
    table.sealAdded()
    if (table.isEmpty) tables.exact.delete(table.name)
  }
  const begun = new Set([...starts.values()].map(({ table }) => table))
  const all = [...(any === undefined ? [] : [any]), ...tables.exact.values()]
  for (const table of [...all, ...tables.wildcards.values()]) {
    if (begun.has(table)) continue
    table.seal()
    yield
  }
  return tables
}

/** Separate from the generator: V8 does not optimize a loop in a generator while it runs. */
function fill<T>(
  tables: Tables<T>,
  groups: Groups<T>,
  from: number,
  names: ReadonlySet<string> | undefined,
  starts: Starts<T>,
): void {
  const end = Math.min(from + GROUPS_AT_ONCE, groups.length)
  const { any } = tables
  const keysOfAny = starts.get('')?.keys
  for (let i = from; i < end; i++) {
    const { entries } = groups[i] as Groups<T>[number]
    for (let e = 0; e < entries.length; e++) {
      const entry = entries[e] as MatchEntry<T>
      const { hostnames, match } = entry
      if (hostnames.length === 0) {
        const isWanted = any !== undefined && isAmong(match, keysOfAny)
        if (isWanted) any.add(candidateOf(entry), match)
      } else if (isSome(hostnames, names)) addByName(tables, entry, names, starts)
    }
  }
}

function isAmong({ path }: Match, keys: ReadonlySet<string> | undefined): boolean {
  if (keys === undefined) return true
  const key = keyOf(path)
  return key !== undefined && keys.has(key)
}

function candidateOf<T>({ match, target, takesPreflights }: MatchEntry<T>): Candidate<T> {
  return new Candidate(match, target, takesPreflights)
}

function addByName<T>(
  { exact, wildcards }: Tables<T>,
  entry: MatchEntry<T>,
  names: ReadonlySet<string> | undefined,
  starts: Starts<T>,
): void {
  const { hostnames, match } = entry
  let candidate: Candidate<T> | undefined
  for (const hostname of hostnames.length > 1 ? new Set(hostnames) : hostnames) {
    if (names !== undefined && !names.has(hostname)) continue
    if (!isAmong(match, starts.get(hostname)?.keys)) continue
    const isWild = hostname.startsWith('*.')
    const name = isWild ? hostname.slice(1) : hostname
    const tables = isWild ? wildcards : exact
    let table = tables.get(name)
    if (table === undefined) tables.set(name, (table = new HostTable<T>(name)))
    candidate ??= candidateOf(entry)
    table.add(candidate, match)
  }
}

function isSome(hostnames: readonly string[], names: ReadonlySet<string> | undefined): boolean {
  if (names === undefined) return true
  for (let i = 0; i < hostnames.length; i++) if (names.has(hostnames[i] as string)) return true
  return false
}

/** The previous tables, with newly built ones for changed names. */
function mergedExact<T>(
  before: LayeredMap<HostTable<T>> | undefined,
  changed: ReadonlySet<string> | undefined,
  built: ReadonlyMap<string, HostTable<T>>,
): LayeredMap<HostTable<T>> {
  if (before === undefined || changed === undefined) return LayeredMap.of(built)
  const names = [...changed].filter((name) => before.has(name) || built.has(name))
  return names.length === 0 ? before : before.with(names.map((name) => [name, built.get(name)]))
}

/** The same for wildcards. */
function mergedWildcards<T>(
  before: ReadonlyMap<string, HostTable<T>> | undefined,
  changed: ReadonlySet<string> | undefined,
  built: ReadonlyMap<string, HostTable<T>>,
): ReadonlyMap<string, HostTable<T>> {
  if (before === undefined || changed === undefined) return built
  const made = new Map(before)
  for (const name of changed) if (name.startsWith('*')) made.delete(name.slice(1))
  for (const [name, table] of built) made.set(name, table)
  return made
}

/**
 * Links each table to the next shorter one. The tables are copies, since requests may still be
 * matched by the previous ones.
 */
function linked<T>(tables: ReadonlyMap<string, HostTable<T>>): ReadonlyMap<string, HostTable<T>> {
  const made = new Map([...tables].map(([name, table]) => [name, table.copy()]))
  for (const [name, table] of made) {
    table.shorter = undefined
    for (let dot = name.indexOf('.', 1); dot > 0; dot = name.indexOf('.', dot + 1)) {
      table.shorter = made.get(name.slice(dot))
      if (table.shorter !== undefined) break
    }
  }
  return made
}

const DOT = 46

function hashSuffix(text: string): number {
  let hash = SEED
  for (let i = text.length - 1; i >= 0; i--) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash
}

/** The table of the longest wildcard that covers the host; it links to the shorter ones. */
function longestSuffix<T>(
  suffixes: Hosts<T>['suffixes'],
  longest: number,
  host: string,
): HostTable<T> | undefined {
  let best: HostTable<T> | undefined
  let hash = SEED
  const min = Math.max(1, host.length - longest)
  for (let i = host.length - 1; i >= min; i--) {
    const code = host.charCodeAt(i)
    hash = Math.imul(hash ^ code, PRIME)
    if (code !== DOT) continue
    const tables = suffixes.get(hash)
    if (tables === undefined) continue
    for (let t = 0; t < tables.length; t++) {
      const table = tables[t] as HostTable<T>
      if (table.name.length === host.length - i && holdsAt(host, i, table.name)) best = table
    }
  }
  return best
}
