// HOT PATH: finds the few rules of many that a request can match. Guarded by bench/cel.ts; equals
// the linear scan of all rules (rule-set.test.ts). Liberties: counted loops, no iterators.

import type { Evaluate, Variables } from '../emit/functions.ts'
import * as runtime from '../emit/runtime.ts'
import type { Cidr } from '../values/cidr.ts'
import { Ip } from '../values/ip.ts'
import type { Value } from '../values/value.ts'

/**
 * A rule without further tests is its number; a rule with one more of the usual test is a number
 * below -1, its place in the lookup's Remainder; anything else is a matcher that tests the rest.
 */
export type Bucket = number | Matcher

/**
 * The rest of the rules of one lookup, if it is a single test of the same attribute: columns
 * instead of an object for each, since with 100,000 rules the cost of a hit is memory that is not
 * in the cache.
 */
export interface Remainder {
  readonly kind: 'equal' | 'prefix'
  readonly read: Evaluate
  readonly keys: Value[]
  readonly rules: number[]
}

/** Adds a rule to the remainder and returns its bucket. */
export function remain(remainder: Remainder, rule: number, key: Value): Bucket {
  remainder.keys.push(key)
  return -1 - remainder.rules.push(rule)
}

function finish(remainder: Remainder, bucket: number, variables: Variables): number {
  const place = -2 - bucket
  const key = remainder.keys[place]
  const value = remainder.read(variables)
  if (remainder.kind === 'equal') return value === key ? (remainder.rules[place] as number) : -1
  const prefix = key as string
  // A slice and a comparison of the two are the fastest way in V8.
  const isFound = typeof value === 'string' && value.slice(0, prefix.length) === prefix
  return isFound ? (remainder.rules[place] as number) : -1
}

export interface Matcher {
  /** The number of a rule that is definitely true, or -1. */
  match(variables: Variables): number
}

export function enter(
  bucket: Bucket,
  variables: Variables,
  remainder: Remainder | undefined,
): number {
  if (typeof bucket !== 'number') return bucket.match(variables)
  return bucket >= 0 ? bucket : finish(remainder as Remainder, bucket, variables)
}

/** `path == 'a'`, `path in ['a', 'b']` */
export class EqualLookup implements Matcher {
  readonly #read: Evaluate
  readonly #remainder: Remainder | undefined
  readonly #buckets: ReadonlyMap<Value, Bucket>

  constructor(
    read: Evaluate,
    buckets: ReadonlyMap<Value, Bucket>,
    remainder: Remainder | undefined,
  ) {
    this.#read = read
    this.#remainder = remainder
    this.#buckets = buckets
  }

  match(variables: Variables): number {
    const bucket = this.#buckets.get(this.#read(variables) as Value)
    return bucket === undefined ? -1 : enter(bucket, variables, this.#remainder)
  }
}

/** `'a' in path`, `path.exists(x, x == 'a')` */
export class ElementLookup implements Matcher {
  readonly #read: Evaluate
  readonly #remainder: Remainder | undefined
  readonly #buckets: ReadonlyMap<Value, Bucket>

  constructor(
    read: Evaluate,
    buckets: ReadonlyMap<Value, Bucket>,
    remainder: Remainder | undefined,
  ) {
    this.#read = read
    this.#remainder = remainder
    this.#buckets = buckets
  }

  match(variables: Variables): number {
    const elements = runtime.elementsOf(this.#read(variables))
    if (elements === undefined) return -1
    for (let i = 0; i < elements.length; i++) {
      const bucket = this.#buckets.get(elements[i] as Value)
      if (bucket === undefined) continue
      const found = enter(bucket, variables, this.#remainder)
      if (found >= 0) return found
    }
    return -1
  }
}

interface RadixNode {
  readonly label: string
  bucket: Bucket | undefined
  readonly children: Map<number, RadixNode>
}

/** `path.startsWith('a')`: a radix tree, in which every prefix on the way down is a candidate. */
export class PrefixLookup implements Matcher {
  readonly #read: Evaluate
  readonly #remainder: Remainder | undefined
  readonly #root: RadixNode

  constructor(
    read: Evaluate,
    buckets: ReadonlyMap<Value, Bucket>,
    remainder: Remainder | undefined,
  ) {
    this.#read = read
    this.#remainder = remainder
    this.#root = buildRadix(buckets)
  }

  match(variables: Variables): number {
    const text = this.#read(variables)
    if (typeof text !== 'string') return -1
    let node = this.#root
    let at = 0
    for (;;) {
      if (node.bucket !== undefined) {
        const found = enter(node.bucket, variables, this.#remainder)
        if (found >= 0) return found
      }
      if (at === text.length) return -1
      const next = node.children.get(text.charCodeAt(at))
      if (next === undefined || !text.startsWith(next.label, at)) return -1
      at += next.label.length
      node = next
    }
  }
}

/** Sorted keys share prefixes with their neighbors, so one pass builds the tree. */
function buildRadix(buckets: ReadonlyMap<Value, Bucket>): RadixNode {
  const entries = ([...buckets] as [string, Bucket][]).sort(([a], [b]) => (a < b ? -1 : 1))
  const node = (label: string, from: number, to: number, depth: number): RadixNode => {
    const children = new Map<number, RadixNode>()
    const own: RadixNode = { label, bucket: undefined, children }
    let i = from
    if (i < to && entries[i]?.[0].length === depth) own.bucket = entries[i++]?.[1]
    while (i < to) {
      const first = (entries[i] as [string, Bucket])[0]
      const code = first.charCodeAt(depth)
      let end = i + 1
      while (end < to && entries[end]?.[0].charCodeAt(depth) === code) end++
      const last = (entries[end - 1] as [string, Bucket])[0]
      const shared = sharedLength(first, last, depth)
      children.set(code, node(first.slice(depth, shared), i, end, shared))
      i = end
    }
    return own
  }
  return node('', 0, entries.length, 0)
}

function sharedLength(a: string, b: string, from: number): number {
  let at = from
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

type WordTrie = Map<number, WordTrie | Bucket>

/** All networks of one prefix length. */
interface Networks4 {
  readonly mask: number
  readonly buckets: ReadonlyMap<number, Bucket>
}

interface Networks6 {
  readonly length: number
  readonly trie: WordTrie
}

/**
 * `cidr('…').containsIP(path)`: for each prefix length in use, looks up the network's bits, 32 at a
 * time. Rules use few lengths, so this is faster than a bit-by-bit walk.
 */
export class CidrLookup implements Matcher {
  readonly #read: Evaluate
  readonly #remainder: Remainder | undefined
  readonly #v4: readonly Networks4[]
  readonly #v6: readonly Networks6[]

  constructor(
    read: Evaluate,
    buckets: ReadonlyMap<Value, Bucket>,
    remainder: Remainder | undefined,
  ) {
    this.#read = read
    this.#remainder = remainder
    const v4 = new Map<number, Map<number, Bucket>>()
    const v6 = new Map<number, WordTrie>()
    for (const [key, bucket] of buckets) {
      const { ip, prefixLength } = (key as Cidr).masked()
      if (ip.family === 4) entry(v4, prefixLength).set(ip.w3, bucket)
      else insert(entry(v6, prefixLength), ip, prefixLength, bucket)
    }
    this.#v4 = [...v4].map(([length, map]) => ({ mask: maskOf(length), buckets: map }))
    this.#v6 = [...v6].map(([length, trie]) => ({ length, trie }))
  }

  match(variables: Variables): number {
    const ip = this.#read(variables)
    if (!(ip instanceof Ip)) return -1
    return ip.family === 4 ? this.#match4(ip, variables) : this.#match6(ip, variables)
  }

  #match4(ip: Ip, variables: Variables): number {
    for (let i = 0; i < this.#v4.length; i++) {
      const { mask, buckets } = this.#v4[i] as Networks4
      const bucket = buckets.get(ip.w3 & mask)
      if (bucket === undefined) continue
      const found = enter(bucket, variables, this.#remainder)
      if (found >= 0) return found
    }
    return -1
  }

  #match6(ip: Ip, variables: Variables): number {
    for (let i = 0; i < this.#v6.length; i++) {
      const { length, trie } = this.#v6[i] as Networks6
      let at: WordTrie | Bucket | undefined = trie
      for (let word = 0; at instanceof Map; word++) {
        at = at.get(wordOf(ip, word) & maskOf(length - 32 * word))
      }
      if (at === undefined) continue
      const found = enter(at, variables, this.#remainder)
      if (found >= 0) return found
    }
    return -1
  }
}

function entry<V>(maps: Map<number, Map<number, V>>, key: number): Map<number, V> {
  const known = maps.get(key)
  if (known !== undefined) return known
  const made = new Map<number, V>()
  maps.set(key, made)
  return made
}

function insert(trie: WordTrie, ip: Ip, length: number, bucket: Bucket): void {
  const words = Math.max(1, Math.ceil(length / 32))
  let at = trie
  for (let word = 0; word < words - 1; word++)
    at = entry(at as Map<number, WordTrie>, wordOf(ip, word))
  at.set(wordOf(ip, words - 1) & maskOf(length - 32 * (words - 1)), bucket)
}

function wordOf(ip: Ip, word: number): number {
  return word === 0 ? ip.w0 : word === 1 ? ip.w1 : word === 2 ? ip.w2 : ip.w3
}

/** The first `bits` of 32 set, as a signed int, as JavaScript's & requires. */
function maskOf(bits: number): number {
  return bits <= 0 ? 0 : bits >= 32 ? -1 : -1 << (32 - bits)
}
