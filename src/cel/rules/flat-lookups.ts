// HOT PATH: the lookups of ./lookups.ts for very many strings, over a FlatTable. Guarded by
// bench/cel.ts; equal to the linear scan of all rules (rule-set.test.ts).

import type { Evaluate, Variables } from '../emit/functions.ts'
import { type FlatTable, HASH_START, hashEnd, hashOf, hashStep } from './flat-table.ts'
import type { Matcher } from './lookups.ts'

/** `path == 'a'`, `path in ['a', 'b']` */
export class FlatEqualLookup implements Matcher {
  readonly #read: Evaluate
  readonly #table: FlatTable

  constructor(read: Evaluate, table: FlatTable) {
    this.#read = read
    this.#table = table
  }

  match(variables: Variables): number {
    const text = this.#read(variables)
    const table = this.#table
    if (typeof text !== 'string' || text.length > table.longest) return -1
    const place = table.find(text, text.length, hashOf(text))
    return place < 0 ? -1 : table.enter(place, variables)
  }
}

/** Rules use few prefix lengths; with more of them a radix tree is faster. */
export const MAX_LENGTHS = 24

/** `path.startsWith('a')`: looks up each length that a prefix has, in one pass over the string. */
export class FlatPrefixLookup implements Matcher {
  readonly #read: Evaluate
  readonly #table: FlatTable
  /** In ascending order. */
  readonly #lengths: readonly number[]

  constructor(read: Evaluate, table: FlatTable, lengths: readonly number[]) {
    this.#read = read
    this.#table = table
    this.#lengths = lengths
  }

  match(variables: Variables): number {
    const text = this.#read(variables)
    if (typeof text !== 'string') return -1
    const lengths = this.#lengths
    let hash = HASH_START
    let at = 0
    for (let i = 0; i < lengths.length; i++) {
      const length = lengths[i] as number
      if (length > text.length) return -1
      for (; at < length; at++) hash = hashStep(hash, text.charCodeAt(at))
      const place = this.#table.find(text, length, hashEnd(hash))
      if (place < 0) continue
      const found = this.#table.enter(place, variables)
      if (found >= 0) return found
    }
    return -1
  }
}
