// HOT PATH: the route of a request among those of one hostname; see match.ts.
// Guarded by bench/match.ts; equals test/fuzz/route-match.plain.ts on any input.
// Liberties: counted loops, rolling hashes in place of slices, prefixes linked to the next shorter.

import type { Pattern } from '../cel/library/regex-pattern.ts'
import type { Exchange } from '../exchange/exchange.ts'
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

/** `text.startsWith(part, at)`, which is four times as slow. */
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
  /** Undefined: none. */
  exact: Map<string, Candidate<T>[]> | undefined = undefined
  byPrefix = new Map<string, Prefix<T>>()
  prefixes = new Map<number, Prefix<T>[]>()
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

  /**
   * A copy without what is found by these keys, to be added anew; undefined where other prefixes
   * would have to be linked anew as well.
   */
  without(keys: ReadonlySet<string>): HostTable<T> | undefined {
    const prefixes = [...keys].filter((key) => !key.startsWith('='))
    if (prefixes.includes('') || this.#hasBelow(prefixes)) return undefined
    const made = this.copy()
    made.exact = this.exact && new Map(this.exact)
    made.byPrefix = new Map(this.byPrefix)
    made.prefixes = new Map(this.prefixes)
    for (const key of keys) {
      if (key.startsWith('=')) made.exact?.delete(key.slice(1))
      else if (made.byPrefix.delete(key)) {
        const hash = hashPrefix(key)
        const others = made.prefixes.get(hash)?.filter(({ text }) => text !== key) ?? []
        if (others.length === 0) made.prefixes.delete(hash)
        else made.prefixes.set(hash, others)
      }
    }
    if (made.exact?.size === 0) made.exact = undefined
    return made
  }

  #hasBelow(prefixes: readonly string[]): boolean {
    if (prefixes.length === 0) return false
    const starts = prefixes.map((text) => `${text}/`)
    for (const text of this.byPrefix.keys()) {
      for (let i = 0; i < starts.length; i++) if (text.startsWith(starts[i] as string)) return true
    }
    return false
  }

  /** Of a copy: what was added by these keys is there, best first. */
  sealKeys(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      if (key.startsWith('=')) this.exact?.get(key.slice(1))?.sort(byDetail)
      else {
        const prefix = this.byPrefix.get(key)
        if (prefix !== undefined) this.#link(prefix)
      }
    }
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
    const hash = hashPrefix(text)
    // The list may be that of the table before.
    this.prefixes.set(hash, [...(this.prefixes.get(hash) ?? []), prefix])
    prefix.shorter = this.#shorterThan(text)
  }

  #shorterThan(text: string): Prefix<T> | undefined {
    for (let slash = text.lastIndexOf('/'); slash > 0; slash = text.lastIndexOf('/', slash - 1)) {
      const shorter = this.byPrefix.get(text.slice(0, slash))
      if (shorter !== undefined) return shorter
    }
    return this.root
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
      prefix.shorter = this.#shorterThan(text)
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
  return value.charCodeAt(value.length - 1) === SLASH ? value.replace(/\/+$/, '') : value
}

/** What a path is found by; undefined: all patterns are looked at. */
export function keyOf({ kind, value }: PathMatch): string | undefined {
  if (kind === 'regex') return undefined
  return kind === 'exact' ? `=${value}` : prefixOf(value)
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

export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
