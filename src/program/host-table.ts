// HOT PATH: finds the route of a request among those of one hostname; see match.ts.
// Guarded by bench/match.ts; equals test/fuzz/route-match.plain.ts on any input.
// Liberties: counted loops, rolling hashes instead of slices, prefixes linked to the next shorter.

import type { Pattern } from '../cel/library/regex-pattern.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { LayeredMap } from '../model/layered-map.ts'
import type { Match, PathMatch } from '../model/route.ts'
import { byDetail, type Candidate } from './candidate.ts'

export const SEED = 0x811c9dc5
export const PRIME = 0x01000193
const SLASH = 47

function hashPrefix(text: string): number {
  let hash = SEED
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash
}

/** Equals `text.startsWith(part, at)`, which is four times as slow. */
export function holdsAt(text: string, at: number, part: string): boolean {
  for (let i = part.length - 1; i >= 0; i--) {
    if (text.charCodeAt(at + i) !== part.charCodeAt(i)) return false
  }
  return true
}

/** The routes of one hostname, by path. */
export class HostTable<T> {
  readonly name: string
  /** The next shorter wildcard that covers the same hosts. */
  shorter: HostTable<T> | undefined = undefined
  /** Undefined if there are none. Consecutive tables share everything but the changes. */
  exact: LayeredMap<readonly Candidate<T>[]> | undefined = undefined
  /** Keyed by the hash of the prefix. */
  prefixes: LayeredMap<readonly Prefix<T>[], number> = LayeredMap.of(new Map())
  /** The number of prefixes below each path that a prefix could have. */
  below: LayeredMap<number> = LayeredMap.of(new Map())
  root: Prefix<T> | undefined = undefined
  longest = 0
  /** The lengths that occur: other lengths need no lookup. */
  lengths = new Uint8Array(1)
  readonly patterns: Candidate<T>[] = []
  /** Set until the table is sealed. */
  #added: Added<T> | undefined = undefined

  constructor(name: string) {
    this.name = name
  }

  copy(): HostTable<T> {
    return Object.assign(new HostTable<T>(this.name), this)
  }

  /**
   * A copy without the routes under these keys, which are added again; undefined if other prefixes
   * would have to be linked again too.
   */
  without(keys: ReadonlySet<string>): HostTable<T> | undefined {
    const prefixes = [...keys].filter((key) => !key.startsWith('='))
    if (prefixes.some((text) => text === '' || this.below.has(text))) return undefined
    const made = this.copy()
    const gone = [...keys].filter((key) => this.exact !== undefined && key.startsWith('='))
    const left = this.exact?.with(gone.map((key) => [key.slice(1), undefined]))
    made.exact = left?.size === 0 ? undefined : left
    made.#replace(prefixes.map((text) => [text, undefined]))
    return made
  }

  /** The number of routes under a key. */
  countAt(key: string): number {
    if (key.startsWith('=')) return this.exact?.get(key.slice(1))?.length ?? 0
    return this.#prefixAt(key)?.candidates.length ?? 0
  }

  #prefixAt(text: string): Prefix<T> | undefined {
    return this.prefixes.get(hashPrefix(text))?.find((prefix) => prefix.text === text)
  }

  /** The previous table may share these lists, so they are replaced instead of changed. */
  #replace(changes: Iterable<readonly [text: string, prefix: Prefix<T> | undefined]>): void {
    const lists = new Map<number, readonly Prefix<T>[]>()
    const counts = new Map<string, number>()
    for (const [text, prefix] of changes) {
      const hash = hashPrefix(text)
      const known = lists.get(hash) ?? this.prefixes.get(hash) ?? []
      const others = known.filter((other) => other.text !== text)
      const list = prefix === undefined ? others : [...others, prefix]
      lists.set(hash, list)
      const by = list.length - known.length
      if (by === 0) continue
      for (const path of pathsAbove(text)) {
        counts.set(path, (counts.get(path) ?? this.below.get(path) ?? 0) + by)
      }
    }
    // All at once: each call copies what differs.
    if (lists.size > 0) {
      const entries = [...lists].map(([hash, list]) => [hash, list.length > 0 ? list : undefined])
      this.prefixes = this.prefixes.with(entries as [number, readonly Prefix<T>[] | undefined][])
    }
    if (counts.size === 0) return
    this.below = this.below.with([...counts].map(([path, count]) => [path, count || undefined]))
  }

  /** Completes a copy: adds what was added, best first. */
  sealAdded(): void {
    const { exact, prefixes } = this.#takeAdded()
    for (const candidates of exact.values()) candidates.sort(byDetail)
    if (exact.size > 0) this.exact = (this.exact ?? LayeredMap.of(new Map())).with(exact)
    this.#replace(prefixes)
    for (const prefix of prefixes.values()) this.#link(prefix)
  }

  #link(prefix: Prefix<T>): void {
    const { text } = prefix
    prefix.candidates.sort(byDetail)
    if (text.length > this.longest) {
      this.longest = text.length
      const lengths = new Uint8Array(text.length + 1)
      lengths.set(this.lengths)
      this.lengths = lengths
    } else if (this.lengths[text.length] === 0) this.lengths = this.lengths.slice()
    this.lengths[text.length] = 1
    prefix.shorter = this.#shorterThan(text)
  }

  #shorterThan(text: string): Prefix<T> | undefined {
    for (let slash = text.lastIndexOf('/'); slash > 0; slash = text.lastIndexOf('/', slash - 1)) {
      const shorter = this.#prefixAt(text.slice(0, slash))
      if (shorter !== undefined) return shorter
    }
    return this.root
  }

  get isEmpty(): boolean {
    const { exact, root, prefixes, patterns } = this
    return exact === undefined && root === undefined && prefixes.size + patterns.length === 0
  }

  add(candidate: Candidate<T>, { path }: Match): void {
    this.#added ??= { exact: new Map(), prefixes: new Map() }
    const { exact, prefixes } = this.#added
    if (path.kind === 'exact') push(exact, path.value, candidate)
    else if (path.kind === 'regex') this.patterns.push(candidate)
    else {
      const text = prefixOf(path.value)
      const prefix = prefixes.get(text)
      if (prefix === undefined) prefixes.set(text, new Prefix(text, candidate))
      else prefix.candidates.push(candidate)
    }
  }

  /** Completes a table: sorts best first, and links each prefix to the next shorter one. */
  seal(): void {
    const { exact, prefixes } = this.#takeAdded()
    for (const candidates of exact.values()) candidates.sort(byDetail)
    if (exact.size > 0) this.exact = LayeredMap.of(exact)
    this.patterns.sort(byDetail)
    this.root = prefixes.get('')
    const byHash = new Map<number, Prefix<T>[]>()
    for (const [text, prefix] of prefixes) {
      this.longest = Math.max(this.longest, text.length)
      prefix.candidates.sort(byDetail)
      if (text !== '') push(byHash, hashPrefix(text), prefix)
    }
    this.prefixes = LayeredMap.of(byHash)
    this.below = LayeredMap.of(countedBelow(prefixes.keys()))
    this.lengths = new Uint8Array(this.longest + 1)
    for (const [text, prefix] of prefixes) {
      this.lengths[text.length] = 1
      if (text !== '') prefix.shorter = this.#shorterThan(text)
    }
  }

  #takeAdded(): Added<T> {
    const added = this.#added ?? { exact: new Map(), prefixes: new Map() }
    this.#added = undefined
    return added
  }

  find(exchange: Exchange, rejected: T): T | undefined {
    const { path } = exchange.request
    if (this.exact !== undefined) {
      const candidates = this.exact.get(path)
      if (candidates !== undefined) {
        const found = firstOf(candidates, exchange, rejected)
        if (found !== undefined) {
          exchange.matchedPrefix = path
          return found
        }
      }
    }
    let prefix = this.longest === 0 ? this.root : this.longestPrefix(path)
    for (; prefix !== undefined; prefix = prefix.shorter) {
      const found = firstOf(prefix.candidates, exchange, rejected)
      if (found !== undefined) {
        exchange.matchedPrefix = prefix.text
        return found
      }
    }
    return this.patterns.length === 0 ? undefined : this.#matching(exchange, rejected)
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
      // A prefix ends at the end of the path or before a slash.
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

  #matching(exchange: Exchange, rejected: T): T | undefined {
    const { patterns } = this
    for (let i = 0; i < patterns.length; i++) {
      const candidate = patterns[i] as Candidate<T>
      const matched = (candidate.path as Pattern).matches(exchange.request.path)
      if (matched === false) continue
      const held = matched === undefined ? undefined : candidate.holds(exchange)
      if (held === false) continue
      exchange.matchedPrefix = ''
      return held === undefined ? rejected : candidate.target
    }
    return undefined
  }
}

/** Routes added to a table, by path. */
interface Added<T> {
  readonly exact: Map<string, Candidate<T>[]>
  readonly prefixes: Map<string, Prefix<T>>
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

/** For `/a/b/c`: `/a/b` and `/a`. */
function pathsAbove(text: string): readonly string[] {
  const found: string[] = []
  for (let slash = text.lastIndexOf('/'); slash > 0; slash = text.lastIndexOf('/', slash - 1)) {
    found.push(text.slice(0, slash))
  }
  return found
}

function countedBelow(prefixes: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of prefixes) {
    for (const path of pathsAbove(text)) counts.set(path, (counts.get(path) ?? 0) + 1)
  }
  return counts
}

/** `/a/` and `/a` match the same paths below them, and `/` matches all paths. */
function prefixOf(value: string): string {
  return value.charCodeAt(value.length - 1) === SLASH ? value.replace(/\/+$/, '') : value
}

/** The key under which a path is found; undefined for patterns, which are all tried. */
export function keyOf({ kind, value }: PathMatch): string | undefined {
  if (kind === 'regex') return undefined
  return kind === 'exact' ? `=${value}` : prefixOf(value)
}

function firstOf<T>(
  candidates: readonly Candidate<T>[],
  exchange: Exchange,
  rejected: T,
): T | undefined {
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i] as Candidate<T>
    if (candidate.isPlain) return candidate.target
    const held = candidate.holds(exchange)
    if (held === undefined) return rejected
    if (held) return candidate.target
  }
  return undefined
}

export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
