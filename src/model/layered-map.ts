/** An entry that differs between two maps; undefined: absent from that map. */
export interface EntryChange<V, K = string> {
  readonly key: K
  readonly before: V | undefined
  readonly after: V | undefined
}

/** The differences between two maps, by identity. Related maps cost only their differences. */
export function changesBetween<V, K>(
  before: ReadonlyMap<K, V>,
  after: ReadonlyMap<K, V>,
): Iterable<EntryChange<V, K>> {
  if (before === after) return []
  if (before instanceof LayeredMap && after instanceof LayeredMap) return before.changesTo(after)
  return LayeredMap.of(before).changesTo(LayeredMap.of(after))
}

/**
 * An immutable map. Deriving the next map costs only the differences: both share a base, and each
 * has its own differences from it. Values are never undefined.
 */
export class LayeredMap<V, K = string> implements ReadonlyMap<K, V> {
  readonly #base: ReadonlyMap<K, V>
  readonly #top: ReadonlyMap<K, V | undefined>
  readonly size: number

  /** `base` must not change afterwards. */
  static of<V, K = string>(base: ReadonlyMap<K, V>): LayeredMap<V, K> {
    return new LayeredMap<V, K>(base, new Map(), base.size)
  }

  private constructor(base: ReadonlyMap<K, V>, top: ReadonlyMap<K, V | undefined>, size: number) {
    this.#base = base
    this.#top = top
    this.size = size
  }

  /** Returns a map with other values; undefined removes an entry. */
  with(changes: Iterable<readonly [K, V | undefined]>): LayeredMap<V, K> {
    const top = new Map(this.#top)
    let { size } = this
    for (const [key, value] of changes) {
      const isHere = top.has(key) ? top.get(key) !== undefined : this.#base.has(key)
      size += (value === undefined ? 0 : 1) - (isHere ? 1 : 0)
      top.set(key, value)
    }
    const made = new LayeredMap(this.#base, top, size)
    // Every change copies all differences; only one in many copies the base.
    return top.size > Math.max(16, Math.sqrt(this.#base.size)) ? LayeredMap.of(new Map(made)) : made
  }

  /** The differences, compared by identity. */
  *changesTo(next: LayeredMap<V, K>): Generator<EntryChange<V, K>> {
    if (next === this) return
    const isRelated = next.#base === this.#base
    const keys = isRelated
      ? new Set([...this.#top.keys(), ...next.#top.keys()])
      : new Set([...this.keys(), ...next.keys()])
    for (const key of keys) {
      const before = this.get(key)
      const after = next.get(key)
      if (before !== after) yield { key, before, after }
    }
  }

  /** Routes of requests are looked up here; most maps have only a base. */
  get(key: K): V | undefined {
    const top = this.#top
    return top.size > 0 && top.has(key) ? top.get(key) : this.#base.get(key)
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  *entries(): MapIterator<[K, V]> {
    const top = this.#top
    for (const entry of this.#base) {
      if (!top.has(entry[0])) yield entry
      else {
        const value = top.get(entry[0])
        if (value !== undefined) yield [entry[0], value]
      }
    }
    for (const [key, value] of top) {
      if (value !== undefined && !this.#base.has(key)) yield [key, value]
    }
  }

  *keys(): MapIterator<K> {
    for (const [key] of this.entries()) yield key
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value
  }

  /** Faster than the iterators, for callers that visit thousands of entries. */
  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    const top = this.#top
    this.#base.forEach((value, key) => {
      if (!top.has(key)) visit(value, key, this)
    })
    top.forEach((value, key) => {
      if (value !== undefined) visit(value, key, this)
    })
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
}
