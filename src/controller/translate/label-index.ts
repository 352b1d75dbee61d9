import type { KubeObject } from '../cluster/object.ts'
import type { ObjectChange } from '../cluster/snapshot.ts'
import type { Cells } from './cells.ts'

/** The objects of a kind by namespace and the value of one label, kept up to date. */
export class LabelIndex {
  readonly kind: string
  readonly #label: string
  readonly #cells: Cells
  /** `namespace by value` → keys. */
  readonly #keys = new Map<string, Set<string>>()

  constructor(kind: string, label: string, cells: Cells) {
    this.kind = kind
    this.#label = label
    this.#cells = cells
  }

  get(namespace: string, value: string): readonly string[] {
    return [...(this.#keys.get(`${namespace} by ${value}`) ?? [])].sort()
  }

  /** Readers of the previous label value must be updated, too. */
  update(changes: Iterable<ObjectChange>): void {
    for (const { key, before, after } of changes) {
      const [old, young] = [this.#placeOf(before), this.#placeOf(after)]
      if (old !== undefined) {
        const known = this.#keys.get(old)
        known?.delete(key)
        if (known?.size === 0) this.#keys.delete(old)
        this.#cells.touch(`${this.kind} in ${old}`)
      }
      if (young === undefined) continue
      const known = this.#keys.get(young) ?? new Set()
      this.#keys.set(young, known.add(key))
      this.#cells.touch(`${this.kind} in ${young}`)
    }
  }

  #placeOf(object: KubeObject | undefined): string | undefined {
    const value = object?.metadata.labels?.[this.#label]
    return value === undefined ? undefined : `${object?.metadata.namespace ?? ''} by ${value}`
  }
}
