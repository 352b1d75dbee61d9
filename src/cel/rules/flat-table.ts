// HOT PATH: strings and the rest of their rules side by side in two arrays of numbers. With 100,000
// rules, a hit in a Map reads the Map's bucket and entry, the key, and the columns of the
// remainder, each in memory that is not in the cache; here it reads a slot and an entry. Guarded by
// bench/cel.ts; equals a Map (flat-table.test.ts) and the linear scan (rule-set.test.ts).
// Liberties: hand-written hashing and comparing, numbers in place of objects.

import type { Evaluate, Variables } from '../emit/functions.ts'
import type { Matcher } from './lookups.ts'

/** What is left of most rules after the lookup: one more string test, on one attribute. */
export interface TextTest {
  readonly kind: 'equal' | 'prefix'
  readonly read: Evaluate
}

/** What a key maps to: a rule, possibly with one more string test, or a matcher for the rest. */
export type FlatBucket = FlatRule | Matcher

export interface FlatRule {
  readonly rule: number
  /** The string for the table's TextTest; `undefined`: the rule matches. */
  readonly text: string | undefined
}

/** Longer strings require a Map. */
export const MAX_TEXT = 0xfffe

const NO_TEXT = 0xffff

/** In an entry: the key's length, the bucket's number in two halves, the other string's length. */
const HEAD = 4

export class FlatTable {
  /** For each slot, the hash of the key and the offset of its entry, or -1. */
  readonly #slots: Int32Array
  readonly #mask: number
  readonly #units: Uint16Array
  readonly #matchers: readonly Matcher[]
  readonly #test: TextTest | undefined
  readonly longest: number

  constructor(entries: Iterable<readonly [string, FlatBucket]>, test: TextTest | undefined) {
    const { units, places, hashes, matchers, longest } = write(entries)
    this.#units = units
    this.#matchers = matchers
    this.#test = test
    this.longest = longest
    this.#mask = 2 ** Math.ceil(Math.log2(Math.max(4, places.length * 2))) - 1
    this.#slots = new Int32Array(2 * (this.#mask + 1)).fill(-1)
    for (const [i, place] of places.entries()) this.#insert(hashes[i] as number, place)
  }

  #insert(hash: number, place: number): void {
    let slot = hash & this.#mask
    while ((this.#slots[2 * slot + 1] as number) >= 0) slot = (slot + 1) & this.#mask
    this.#slots[2 * slot] = hash
    this.#slots[2 * slot + 1] = place
  }

  /** The offset of the entry whose key is the first `length` units of `text`, or -1. */
  find(text: string, length: number, hash: number): number {
    const slots = this.#slots
    const units = this.#units
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = slots[2 * slot + 1] as number
      if (place < 0) return -1
      if (slots[2 * slot] === hash && units[place] === length) {
        if (begins(text, units, place + HEAD, length)) return place
      }
    }
  }

  /** The rule of the entry if its remaining test passes; else -1. */
  enter(place: number, variables: Variables): number {
    const units = this.#units
    const bucket = (units[place + 1] as number) | ((units[place + 2] as number) << 16)
    if (bucket < 0) return (this.#matchers[-1 - bucket] as Matcher).match(variables)
    const length = units[place + 3] as number
    if (length === NO_TEXT) return bucket
    const { kind, read } = this.#test as TextTest
    const value = read(variables)
    if (typeof value !== 'string' || value.length < length) return -1
    if (kind === 'equal' && value.length !== length) return -1
    return begins(value, units, place + HEAD + (units[place] as number), length) ? bucket : -1
  }
}

function begins(text: string, units: Uint16Array, from: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== units[from + i]) return false
  return true
}

/** Where the hash of a string starts. Each step also yields the hash of the prefix up to there. */
export const HASH_START = 0x811c9dc5 | 0

export function hashStep(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193)
}

/** The hash that tables use: mixes the bits of the steps, so that the low ones distinguish keys. */
export function hashEnd(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}

export function hashOf(text: string): number {
  let hash = HASH_START
  for (let i = 0; i < text.length; i++) hash = hashStep(hash, text.charCodeAt(i))
  return hashEnd(hash)
}

/** Writes entries one after another; a first pass measures them, so that no array has to grow. */
function write(entries: Iterable<readonly [string, FlatBucket]>) {
  const all = [...entries]
  const size = all.reduce(
    (sum, [key, bucket]) => sum + HEAD + key.length + textOf(bucket).length,
    0,
  )
  const units = new Uint16Array(size)
  const places = new Int32Array(all.length)
  const hashes = new Int32Array(all.length)
  const matchers: Matcher[] = []
  let longest = 0
  let at = 0
  for (const [i, [key, bucket]] of all.entries()) {
    const isRule = 'rule' in bucket
    const number = isRule ? bucket.rule : -matchers.push(bucket)
    const text = textOf(bucket)
    places[i] = at
    hashes[i] = hashOf(key)
    longest = Math.max(longest, key.length)
    units[at] = key.length
    units[at + 1] = number & 0xffff
    units[at + 2] = (number >>> 16) & 0xffff
    units[at + 3] = isRule && bucket.text !== undefined ? text.length : NO_TEXT
    at = put(units, put(units, at + HEAD, key), text)
  }
  return { units, places, hashes, matchers, longest }
}

function textOf(bucket: FlatBucket): string {
  return 'rule' in bucket ? (bucket.text ?? '') : ''
}

function put(units: Uint16Array, from: number, text: string): number {
  for (let i = 0; i < text.length; i++) units[from + i] = text.charCodeAt(i)
  return from + text.length
}
