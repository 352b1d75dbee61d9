import { type KubeObject, keyOf } from './object.ts'

/** `namespace/name` → the object. */
export type Objects = ReadonlyMap<string, KubeObject>

/** What was known of the cluster at one moment; it never changes. */
export interface Snapshot {
  readonly kinds: ReadonlyMap<string, Objects>
}

const NO_OBJECTS: Objects = new Map()

export function objectsOf({ kinds }: Snapshot, kind: string): Objects {
  return kinds.get(kind) ?? NO_OBJECTS
}

/** A Snapshot of objects that are at hand, from manifests for one. */
export function snapshotOf(objects: Iterable<KubeObject>): Snapshot {
  const kinds = new Map<string, Map<string, KubeObject>>()
  for (const object of objects) {
    const known = kinds.get(object.kind) ?? new Map<string, KubeObject>()
    kinds.set(object.kind, known.set(keyOf(object.metadata), object))
  }
  return { kinds }
}

/** The objects that informers write, and Snapshots of them: kinds without a change are shared. */
export class SnapshotStore {
  readonly #live = new Map<string, Map<string, KubeObject>>()
  readonly #taken = new Map<string, Objects>()

  put(kind: string, object: KubeObject): void {
    this.#of(kind).set(keyOf(object.metadata), object)
    this.#taken.delete(kind)
  }

  remove(kind: string, object: KubeObject): void {
    this.#of(kind).delete(keyOf(object.metadata))
    this.#taken.delete(kind)
  }

  /**
   * All objects of a kind. Those that did not change stay the same, so that whatever was derived
   * from them is found again. Returns whether there was a difference.
   */
  replace(kind: string, objects: readonly KubeObject[]): boolean {
    const before = this.#of(kind)
    const after = new Map<string, KubeObject>()
    let isChanged = before.size !== objects.length
    for (const object of objects) {
      const key = keyOf(object.metadata)
      const known = before.get(key)
      const isSame = known !== undefined && versionOf(known) === versionOf(object)
      isChanged ||= !isSame
      after.set(key, isSame ? known : object)
    }
    if (!isChanged) return false
    this.#live.set(kind, after)
    this.#taken.delete(kind)
    return true
  }

  count(kind: string): number {
    return this.#live.get(kind)?.size ?? 0
  }

  take(): Snapshot {
    const kinds = new Map<string, Objects>()
    for (const [kind, objects] of this.#live) {
      const taken = this.#taken.get(kind) ?? new Map(objects)
      this.#taken.set(kind, taken)
      kinds.set(kind, taken)
    }
    return { kinds }
  }

  #of(kind: string): Map<string, KubeObject> {
    const known = this.#live.get(kind)
    if (known !== undefined) return known
    const made = new Map<string, KubeObject>()
    this.#live.set(kind, made)
    return made
  }
}

function versionOf({ metadata }: KubeObject): string | undefined {
  return `${metadata.uid}/${metadata.resourceVersion}`
}
