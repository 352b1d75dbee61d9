import { byAge } from '../cluster/object.ts'
import type { Read } from './view.ts'

/** Parts derived from objects, in the order of the objects, kept up to date. */
export class OrderedParts<T> {
  readonly #kinds: readonly string[]
  #reads: Read[] = []
  /** A new list for each change. */
  list: readonly T[] = []

  /** `kinds`: their order decides between objects with the same age and name. */
  constructor(kinds: readonly string[]) {
    this.#kinds = kinds
  }

  /** `before`: the object that the part was derived from; undefined if it is not in the list. */
  change(before: Read | undefined, after: Read | undefined, part: T | undefined): void {
    const at = before === undefined ? -1 : this.#placeOf(before)
    const isInPlace =
      before !== undefined && after !== undefined && this.#compare(before, after) === 0
    if (isInPlace && part !== undefined) {
      this.#reads[at] = after
      if (this.list[at] !== part) this.list = this.list.with(at, part)
      return
    }
    if (before !== undefined) {
      this.#reads.splice(at, 1)
      this.list = this.list.toSpliced(at, 1)
    }
    if (after === undefined || part === undefined) return
    const place = this.#placeOf(after)
    this.#reads.splice(place, 0, after)
    this.list = this.list.toSpliced(place, 0, part)
  }

  #placeOf(read: Read): number {
    let [low, high] = [0, this.#reads.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#reads[middle] as Read, read) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare(a: Read, b: Read): number {
    const order = byAge(a.object, b.object)
    return order === 0 ? this.#kinds.indexOf(a.kind) - this.#kinds.indexOf(b.kind) : order
  }
}
