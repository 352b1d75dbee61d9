import { changedRange, replacedAt } from '../model/changed-range.ts'
import { LayeredMap } from '../model/layered-map.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { HeadersRead } from './headers-read.ts'
import { type AllUses, allUses, type Uses } from './uses.ts'

/** Parts of a Program in order, such as the routes of a listener. */
export type UsesList = readonly { readonly uses: Uses }[]

/**
 * Computes `allUses` of successive Programs at the cost of the parts that differ: an edit of one
 * route among thousands must not visit all of them. The counts are stored in the uses themselves,
 * so these belong to one tally; Programs that reuse parts share it.
 */
export class UsesTally {
  /** What is currently counted, by arbitrary names. */
  #lists: ReadonlyMap<string, UsesList> = new Map()
  readonly #state = new CountedEntries<unknown>()
  readonly #clusters = new CountedEntries<Cluster>()
  readonly #names = new Map<string, number>()
  #headersRead: HeadersRead | undefined
  /** How many read all headers. */
  #readAll = 0
  #diagnostics = 0

  update(lists: ReadonlyMap<string, UsesList>): AllUses {
    const before = this.#lists
    // Additions first, so that what stays in use never drops to zero.
    for (const [name, list] of lists) {
      const known = before.get(name) ?? NO_PARTS
      const { start, end } = changedRange(known, list)
      this.#countAll(list, replacedAt(known, list) ?? between(start, end), 1)
    }
    for (const [name, list] of before) {
      const now = lists.get(name)
      const { start, endBefore } =
        now === undefined ? { start: 0, endBefore: list.length } : changedRange(list, now)
      const places = now && replacedAt(list, now)
      this.#countAll(list, places ?? between(start, endBefore), -1)
    }
    this.#lists = lists
    const [state, clusters] = [this.#state.entries(), this.#clusters.entries()]
    // Diagnostics appear in the order of the parts, and if two parts keep something under one name,
    // the last one wins: this requires visiting all of them.
    if (this.#diagnostics > 0 || state === undefined || clusters === undefined) {
      return allUses(lists.values())
    }
    this.#headersRead ??= { names: new Set(this.#names.keys()), all: this.#readAll > 0 }
    return { state, clusters, headersRead: this.#headersRead, diagnostics: NO_DIAGNOSTICS }
  }

  #countAll(list: UsesList, places: Iterable<number>, by: 1 | -1): void {
    for (const place of places) this.#count(usesAt(list, place), by)
  }

  #count(uses: Uses, by: 1 | -1): void {
    const before = uses.references
    uses.references += by
    if (before !== 0 && uses.references !== 0) return
    for (const [key, kept] of uses.state) this.#state.count(key, kept, by)
    for (const [key, cluster] of uses.clusters) this.#clusters.count(key, cluster, by)
    for (const reads of uses.headers) {
      if (reads.all) this.#countReadAll(by)
      for (const name of reads.names) this.#countName(name, by)
    }
    this.#diagnostics += by * uses.diagnostics.length
    for (const part of uses.parts) this.#count(part, by)
  }

  #countReadAll(by: 1 | -1): void {
    const before = this.#readAll
    this.#readAll += by
    if (before === 0 || this.#readAll === 0) this.#headersRead = undefined
  }

  #countName(name: string, by: 1 | -1): void {
    const before = this.#names.get(name) ?? 0
    const now = before + by
    if (now === 0) this.#names.delete(name)
    else this.#names.set(name, now)
    if (before === 0 || now === 0) this.#headersRead = undefined
  }
}

const NO_PARTS: UsesList = []
const NO_DIAGNOSTICS: AllUses['diagnostics'] = []

function usesAt(list: UsesList, index: number): Uses {
  return (list[index] as UsesList[number]).uses
}

function* between(start: number, end: number): Generator<number, void> {
  for (let i = start; i < end; i++) yield i
}

interface Counted<T> {
  readonly value: T
  count: number
}

/** Values by key, with the number of their uses. */
class CountedEntries<T> {
  readonly #counted = new Map<string, Counted<T>[]>()
  /** Keys with more than one value. */
  #ambiguous = 0
  #entries = LayeredMap.of<T>(new Map())
  /** Keys whose values may differ from those in the entries. */
  readonly #changed = new Set<string>()

  count(key: string, value: T, by: 1 | -1): void {
    const known = this.#counted.get(key) ?? []
    const found = known.find((one) => one.value === value)
    if (found !== undefined) found.count += by
    if (found !== undefined && found.count > 0) return
    this.#changed.add(key)
    const wasAmbiguous = known.length > 1
    if (found === undefined) known.push({ value, count: by })
    else known.splice(known.indexOf(found), 1)
    if (known.length === 0) this.#counted.delete(key)
    else this.#counted.set(key, known)
    this.#ambiguous += Number(known.length > 1) - Number(wasAmbiguous)
  }

  /** The same object as long as the entries are equal; undefined if a key has several values. */
  entries(): ReadonlyMap<string, T> | undefined {
    if (this.#ambiguous > 0) return undefined
    const changes = [...this.#changed].flatMap((key) => {
      const value = this.#counted.get(key)?.[0]?.value
      return value === this.#entries.get(key) ? [] : [[key, value] as const]
    })
    this.#changed.clear()
    if (changes.length > 0) this.#entries = this.#entries.with(changes)
    return this.#entries
  }
}
