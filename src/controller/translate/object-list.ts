import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { byAge, type KubeObject } from '../cluster/object.ts'
import type { ObjectChange } from '../cluster/snapshot.ts'

/** A part of an object that is unknown or invalid. */
export interface PartProblem {
  readonly path: readonly PropertyKey[]
  readonly diagnostic: Diagnostic
}

/** An object that matches its schema. */
export interface Read<T = unknown> {
  readonly object: KubeObject
  readonly value: T
  /** Parts that `value` lacks because they cannot be read: what they belong to fails closed. */
  readonly problems: readonly PartProblem[]
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** `namespace/name` */
  readonly key: string
}

/** The result of reading an object with a schema. */
export type Outcome = { readonly read: Read } | { readonly diagnostics: readonly Diagnostic[] }

/** If more than this change at once, the list is sorted again. */
const MAX_INSERTS = 32

/** The readable objects of a kind, oldest first, kept up to date. */
export class ObjectList {
  readonly #read: (object: KubeObject) => Outcome
  reads: readonly Read[] = []
  /** Key → why it cannot be read. */
  readonly failures = new Map<string, readonly Diagnostic[]>()

  constructor(read: (object: KubeObject) => Outcome) {
    this.#read = read
  }

  update(changes: readonly ObjectChange[]): void {
    const gone = new Set<KubeObject>()
    const added: Read[] = []
    const reads = [...this.reads]
    for (const { key, before, after } of changes) {
      this.failures.delete(key)
      const outcome = after === undefined ? undefined : this.#read(after)
      if (outcome !== undefined && 'diagnostics' in outcome) {
        this.failures.set(key, outcome.diagnostics)
      }
      const read = outcome !== undefined && 'read' in outcome ? outcome.read : undefined
      const at = before === undefined ? -1 : placeOf(reads, before)
      const isThere = at >= 0 && reads[at]?.object === before
      // Most keep their age, and so their position.
      if (isThere && read !== undefined && byAge(read.object, before as KubeObject) === 0) {
        reads[at] = read
        continue
      }
      if (isThere && before !== undefined) gone.add(before)
      if (read !== undefined) added.push(read)
    }
    const kept = gone.size === 0 ? reads : reads.filter(({ object }) => !gone.has(object))
    if (added.length > MAX_INSERTS) {
      this.reads = [...kept, ...added].sort((a, b) => byAge(a.object, b.object))
      return
    }
    for (const one of added) kept.splice(placeOf(kept, one.object), 0, one)
    this.reads = kept
  }
}

/** The position of an object in the list, or where it would be inserted. */
function placeOf(reads: readonly Read[], object: KubeObject): number {
  let [low, high] = [0, reads.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = reads[middle] as Read
    if (byAge(at.object, object) < 0) low = middle + 1
    else high = middle
  }
  return low
}
