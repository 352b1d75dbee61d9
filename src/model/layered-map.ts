/** An entry that is different in two maps; undefined: it is not there. */
export interface EntryChange<V> {
  readonly key: string
  readonly before: V | undefined
  readonly after: V | undefined
}

/**
 * A map that never changes, and that the next one is made from at the cost of what is different:
 * both share a base, and each has its own differences from it. Values are never undefined.
 */
export class LayeredMap<V> implements ReadonlyMap<string, V> {
  readonly #base: ReadonlyMap<string, V>
  readonly #top: ReadonlyMap<string, V | undefined>
  readonly size: number

  /** `base` must not change any more. */
  static of<V>(base: ReadonlyMap<string, V>): LayeredMap<V> {
    return new LayeredMap(base, new Map(), base.size)
  }

  private constructor(
    base: ReadonlyMap<string, V>,
    top: ReadonlyMap<string, V | undefined>,
    size: number,
  ) {
    this.#base = base
    this.#top = top
    this.size = size
  }

  /** With other values; undefined removes an entry. */
  with(changes: Iterable<readonly [string, V | undefined]>): LayeredMap<V> {
    const top = new Map(this.#top)
    let { size } = this
    for (const [key, value] of changes) {
      const isHere = top.has(key) ? top.get(key) !== undefined : this.#base.has(key)
      size += (value === undefined ? 0 : 1) - (isHere ? 1 : 0)
      top.set(key, value)
    }
    const made = new LayeredMap(this.#base, top, size)
    // Each difference is copied with every change, and the base once in so many changes.
    return top.size > Math.max(16, Math.sqrt(this.#base.size)) ? LayeredMap.of(new Map(made)) : made
  }

  /** What is different, compared by identity. */
  *changesTo(next: LayeredMap<V>): Generator<EntryChange<V>> {
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

  get(key: string): V | undefined {
    return this.#top.has(key) ? this.#top.get(key) : this.#base.get(key)
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  *entries(): MapIterator<[string, V]> {
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

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries()
  }
}
