// HOT PATH: the route of a request; no allocation but what a header or query match has to decode.
// Guarded by bench/match.ts; equals test/fuzz/route-match.plain.ts on any input.
// Liberties: counted loops, rolling hashes in place of slices, tables linked to the next best.

import type { Pattern } from '../cel/library/regex-pattern.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { coverage } from '../model/hostnames.ts'
import type { Match } from '../model/route.ts'
import { runToCompletion } from '../model/steps.ts'
import { byDetail, Candidate } from './candidate.ts'

/** One match of one rule, with what it leads to. Where all else is equal the first one wins. */
export interface MatchEntry<T> {
  /** In lower case, wildcards at the front; none: any name. */
  readonly hostnames: readonly string[]
  readonly match: Match
  readonly target: T
  /** Preflights of CORS for the method of the match are matched too: the target answers them. */
  readonly takesPreflights?: boolean
}

export interface MatcherOptions<T> {
  /** The listener's own name: others match nothing. */
  readonly hostname: string | undefined
  readonly unmatched: T
  /** For a request that costs a regular expression too much: to go on would be to skip a route. */
  readonly refused: T
}

/** Sets `matchedPrefix`: of an exact match the whole path, of a regular expression nothing. */
export type Matcher<T> = (exchange: Exchange) => T

export function compileMatcher<T>(
  entries: readonly MatchEntry<T>[],
  options: MatcherOptions<T>,
): Matcher<T> {
  return matcherOf(runToCompletion(compileHosts([{ entries }])), options)
}

export function matcherOf<T>(hosts: Hosts<T>, options: MatcherOptions<T>): Matcher<T> {
  const { hostname, unmatched, refused } = options
  const { exact, suffixes, longest, any } = hosts
  const search = (exchange: Exchange): T | undefined => {
    const { host } = exchange.request
    const own = exact.get(host)
    if (own !== undefined) {
      const found = own.find(exchange, refused)
      if (found !== undefined) return found
    }
    if (longest > 0) {
      let table = longestSuffix(suffixes, longest, host)
      for (; table !== undefined; table = table.shorter) {
        const found = table.find(exchange, refused)
        if (found !== undefined) return found
      }
    }
    return any.isEmpty ? undefined : any.find(exchange, refused)
  }
  if (hostname === undefined) return (exchange) => search(exchange) ?? unmatched
  const covers = coverage(hostname)
  return (exchange) => (covers(exchange.request.host) ? (search(exchange) ?? unmatched) : unmatched)
}

/** Entries in order, those of one route together. */
type Groups<T> = readonly { readonly entries: readonly MatchEntry<T>[] }[]

/** Never changed: the next one shares the tables of hosts that stay as they are. */
export interface Hosts<T> {
  readonly groups: Groups<T>
  readonly exact: ReadonlyMap<string, HostTable<T>>
  /** By `.example.com`. */
  readonly wildcards: ReadonlyMap<string, HostTable<T>>
  /** By the hash of `.example.com`, read from its end. */
  readonly suffixes: ReadonlyMap<number, readonly HostTable<T>[]>
  readonly longest: number
  readonly any: HostTable<T>
}

/** In small steps. Where most groups are those of `before`, only hosts of the others are built. */
export function* compileHosts<T>(
  groups: Groups<T>,
  before: Hosts<T> | undefined = undefined,
): Generator<void, Hosts<T>> {
  const changed = before && changedHosts(before.groups, groups)
  if (before !== undefined && changed?.size === 0) return before
  const { any, ...built } = yield* buildTables(groups, changed)
  const exact = merged(before?.exact, changed, built.exact, '')
  if (before !== undefined && ![...(changed ?? [])].some((name) => name.startsWith('*.'))) {
    const { wildcards, suffixes, longest } = before
    return { groups, exact, wildcards, suffixes, longest, any: any ?? before.any }
  }
  const wildcards = linked(merged(before?.wildcards, changed, built.wildcards, '*'))
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

/** Names of all entries that are new, gone, or elsewhere among the others; '' for any name. */
function changedHosts<T>(before: Groups<T>, now: Groups<T>): ReadonlySet<string> {
  const shorter = Math.min(before.length, now.length)
  let start = 0
  while (start < shorter && before[start] === now[start]) start++
  let same = 0
  const [last, end] = [before.length - 1, now.length - 1]
  while (same < shorter - start && before[last - same] === now[end - same]) same++
  const names = new Set<string>()
  for (const groups of [before, now]) {
    for (const { entries } of groups.slice(start, groups.length - same)) {
      for (const { hostnames } of entries) {
        if (hostnames.length === 0) names.add('')
        for (const hostname of hostnames) names.add(hostname)
      }
    }
  }
  return names
}

/** Tables of these names, or of all. */
function* buildTables<T>(groups: Groups<T>, names: ReadonlySet<string> | undefined) {
  const exact = new Map<string, HostTable<T>>()
  const wildcards = new Map<string, HostTable<T>>()
  const isAnyBuilt = names === undefined || names.has('')
  const any = isAnyBuilt ? new HostTable<T>('') : undefined
  for (const { entries } of groups) {
    for (const { hostnames, match, target, takesPreflights } of entries) {
      const isWanted = hostnames.length === 0 ? isAnyBuilt : isSome(hostnames, names)
      if (!isWanted) continue
      const candidate = new Candidate(match, target, takesPreflights)
      if (hostnames.length === 0) any?.add(candidate, match)
      for (const hostname of hostnames.length > 1 ? new Set(hostnames) : hostnames) {
        if (names !== undefined && !names.has(hostname)) continue
        const isWild = hostname.startsWith('*.')
        const name = isWild ? hostname.slice(1) : hostname
        const tables = isWild ? wildcards : exact
        let table = tables.get(name)
        if (table === undefined) tables.set(name, (table = new HostTable<T>(name)))
        table.add(candidate, match)
      }
      yield
    }
  }
  for (const table of [
    ...(any === undefined ? [] : [any]),
    ...exact.values(),
    ...wildcards.values(),
  ]) {
    table.seal()
    yield
  }
  return { exact, wildcards, any }
}

function isSome(hostnames: readonly string[], names: ReadonlySet<string> | undefined): boolean {
  if (names === undefined) return true
  for (let i = 0; i < hostnames.length; i++) if (names.has(hostnames[i] as string)) return true
  return false
}

/** The tables of before, with those of changed names as they were built. */
function merged<T>(
  before: ReadonlyMap<string, HostTable<T>> | undefined,
  changed: ReadonlySet<string> | undefined,
  built: ReadonlyMap<string, HostTable<T>>,
  mark: '' | '*',
): ReadonlyMap<string, HostTable<T>> {
  if (before === undefined || changed === undefined) return built
  const made = new Map(before)
  for (const name of changed) if (name.startsWith(mark)) made.delete(name.slice(mark.length))
  for (const [name, table] of built) made.set(name, table)
  return made
}

/** Each knows the next shorter one; copies, since requests may still be matched by those before. */
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

const SEED = 0x811c9dc5
const PRIME = 0x01000193
const SLASH = 47
const DOT = 46

function hashSuffix(text: string): number {
  let hash = SEED
  for (let i = text.length - 1; i >= 0; i--) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash
}

function hashPrefix(text: string): number {
  let hash = SEED
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash
}

/** `text.startsWith(part, at)`, which is four times as slow. */
function holdsAt(text: string, at: number, part: string): boolean {
  for (let i = part.length - 1; i >= 0; i--) {
    if (text.charCodeAt(at + i) !== part.charCodeAt(i)) return false
  }
  return true
}

/** The table of the longest wildcard that covers the host; it knows the shorter ones. */
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

/** The routes of one hostname, by path. */
class HostTable<T> {
  readonly name: string
  /** The next shorter wildcard that covers the same hosts. */
  shorter: HostTable<T> | undefined = undefined
  /** Undefined: none. */
  exact: Map<string, Candidate<T>[]> | undefined = undefined
  readonly byPrefix = new Map<string, Prefix<T>>()
  readonly prefixes = new Map<number, Prefix<T>[]>()
  root: Prefix<T> | undefined = undefined
  longest = 0
  /** Which lengths there are: others need no look-up. */
  lengths = new Uint8Array(1)
  readonly patterns: Candidate<T>[] = []

  constructor(name: string) {
    this.name = name
  }

  copy(): HostTable<T> {
    return Object.assign(new HostTable<T>(this.name), this)
  }

  get isEmpty(): boolean {
    return this.exact === undefined && this.byPrefix.size + this.patterns.length === 0
  }

  add(candidate: Candidate<T>, { path }: Match): void {
    if (path.kind === 'exact') push((this.exact ??= new Map()), path.value, candidate)
    else if (path.kind === 'regex') this.patterns.push(candidate)
    else {
      const text = prefixOf(path.value)
      const prefix = this.byPrefix.get(text)
      if (prefix === undefined) this.byPrefix.set(text, new Prefix(text, candidate))
      else prefix.candidates.push(candidate)
    }
  }

  /** All are there: best first, and each prefix is told of the next shorter one. */
  seal(): void {
    for (const candidates of this.exact?.values() ?? []) candidates.sort(byDetail)
    this.patterns.sort(byDetail)
    this.root = this.byPrefix.get('')
    for (const text of this.byPrefix.keys()) this.longest = Math.max(this.longest, text.length)
    this.lengths = new Uint8Array(this.longest + 1)
    for (const [text, prefix] of this.byPrefix) {
      prefix.candidates.sort(byDetail)
      this.lengths[text.length] = 1
      if (text === '') continue
      push(this.prefixes, hashPrefix(text), prefix)
      prefix.shorter = this.root
      for (let slash = text.lastIndexOf('/'); slash > 0; slash = text.lastIndexOf('/', slash - 1)) {
        const shorter = this.byPrefix.get(text.slice(0, slash))
        if (shorter === undefined) continue
        prefix.shorter = shorter
        break
      }
    }
  }

  find(exchange: Exchange, refused: T): T | undefined {
    const { path } = exchange.request
    if (this.exact !== undefined) {
      const candidates = this.exact.get(path)
      if (candidates !== undefined) {
        const found = firstOf(candidates, exchange, refused)
        if (found !== undefined) {
          exchange.matchedPrefix = path
          return found
        }
      }
    }
    let prefix = this.longest === 0 ? this.root : this.longestPrefix(path)
    for (; prefix !== undefined; prefix = prefix.shorter) {
      const found = firstOf(prefix.candidates, exchange, refused)
      if (found !== undefined) {
        exchange.matchedPrefix = prefix.text
        return found
      }
    }
    return this.patterns.length === 0 ? undefined : this.#matching(exchange, refused)
  }

  longestPrefix(path: string): Prefix<T> | undefined {
    let best = this.root
    let hash = SEED
    let code = path.charCodeAt(0)
    const { length } = path
    const { lengths } = this
    const end = Math.min(length, this.longest)
    for (let i = 0; i < end; i++) {
      hash = Math.imul(hash ^ code, PRIME)
      // A prefix ends where the path does, or before a slash.
      code = i + 1 < length ? path.charCodeAt(i + 1) : SLASH
      if (code !== SLASH || lengths[i + 1] === 0) continue
      const prefixes = this.prefixes.get(hash)
      if (prefixes === undefined) continue
      for (let p = 0; p < prefixes.length; p++) {
        const prefix = prefixes[p] as Prefix<T>
        if (prefix.text.length === i + 1 && holdsAt(path, 0, prefix.text)) best = prefix
      }
    }
    return best
  }

  #matching(exchange: Exchange, refused: T): T | undefined {
    const { patterns } = this
    for (let i = 0; i < patterns.length; i++) {
      const candidate = patterns[i] as Candidate<T>
      const matched = (candidate.path as Pattern).matches(exchange.request.path)
      if (matched === false) continue
      const held = matched === undefined ? undefined : candidate.holds(exchange)
      if (held === false) continue
      exchange.matchedPrefix = ''
      return held === undefined ? refused : candidate.target
    }
    return undefined
  }
}

class Prefix<T> {
  readonly text: string
  shorter: Prefix<T> | undefined = undefined
  readonly candidates: Candidate<T>[]

  constructor(text: string, first: Candidate<T>) {
    this.text = text
    this.candidates = [first]
  }
}

/** `/a/` and `/a` have the same paths below them, and `/` has all. */
function prefixOf(value: string): string {
  return value.replace(/\/+$/, '')
}

function firstOf<T>(
  candidates: readonly Candidate<T>[],
  exchange: Exchange,
  refused: T,
): T | undefined {
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i] as Candidate<T>
    if (candidate.isPlain) return candidate.target
    const held = candidate.holds(exchange)
    if (held === undefined) return refused
    if (held) return candidate.target
  }
  return undefined
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
