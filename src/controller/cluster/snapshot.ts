import { type EntryChange, LayeredMap } from '../../model/layered-map.ts'
import { type KubeObject, keyOf } from './object.ts'

/** `namespace/name` → the object. */
export type Objects = LayeredMap<KubeObject>

/** The known state of the cluster at one moment; immutable. */
export interface Snapshot {
  readonly kinds: ReadonlyMap<string, Objects>
}

const NO_OBJECTS: Objects = LayeredMap.of(new Map())

export const EMPTY_SNAPSHOT: Snapshot = { kinds: new Map() }

export function objectsOf({ kinds }: Snapshot, kind: string): Objects {
  return kinds.get(kind) ?? NO_OBJECTS
}

/** A Snapshot of given objects, for instance from manifests. */
export function snapshotOf(objects: Iterable<KubeObject>): Snapshot {
  const kinds = new Map<string, Map<string, KubeObject>>()
  for (const object of objects) {
    const known = kinds.get(object.kind) ?? new Map<string, KubeObject>()
    kinds.set(object.kind, known.set(keyOf(object.metadata), object))
  }
  return { kinds: new Map([...kinds].map(([kind, known]) => [kind, LayeredMap.of(known)])) }
}

export interface ObjectChange extends EntryChange<KubeObject> {
  readonly kind: string
}

/** The objects that differ; only these cost time if one snapshot was taken after the other. */
export function* changesBetween(before: Snapshot, after: Snapshot): Generator<ObjectChange> {
  for (const kind of new Set([...before.kinds.keys(), ...after.kinds.keys()])) {
    const changes = objectsOf(before, kind).changesTo(objectsOf(after, kind))
    for (const change of changes) yield { kind, ...change }
  }
}

/** The objects that informers write, and Snapshots of them, which share everything unchanged. */
export class SnapshotStore {
  readonly #live = new Map<string, Map<string, KubeObject>>()
  readonly #taken = new Map<string, Objects>()
  /** Kind → changes since a Snapshot was taken. */
  readonly #changed = new Map<string, Map<string, KubeObject | undefined>>()

  put(kind: string, object: KubeObject): void {
    const key = keyOf(object.metadata)
    this.#of(kind).set(key, object)
    this.#note(kind, key, object)
  }

  remove(kind: string, object: KubeObject): void {
    const key = keyOf(object.metadata)
    this.#of(kind).delete(key)
    this.#note(kind, key, undefined)
  }

  /**
   * Replaces all objects of a kind, or those in one namespace. Unchanged objects keep their
   * identity, so that values derived from them stay cached. Returns whether anything changed.
   */
  replace(kind: string, objects: readonly KubeObject[], namespace?: string): boolean {
    const all = this.#of(kind)
    const before = namespace === undefined ? all : within(all, namespace)
    const after = namespace === undefined ? new Map<string, KubeObject>() : new Map(all)
    for (const key of namespace === undefined ? [] : before.keys()) after.delete(key)
    const kept = new Set<string>()
    let isChanged = before.size !== objects.length
    for (const object of objects) {
      const key = keyOf(object.metadata)
      const known = before.get(key)
      const isSame = known !== undefined && versionOf(known) === versionOf(object)
      if (!isSame) this.#note(kind, key, object)
      isChanged ||= !isSame
      after.set(key, isSame ? known : object)
      kept.add(key)
    }
    if (!isChanged) return false
    for (const key of before.keys()) if (!kept.has(key)) this.#note(kind, key, undefined)
    this.#live.set(kind, after)
    return true
  }

  count(kind: string): number {
    return this.#live.get(kind)?.size ?? 0
  }

  take(): Snapshot {
    for (const kind of this.#live.keys()) {
      const known = this.#taken.get(kind) ?? NO_OBJECTS
      const changes = this.#changed.get(kind)
      this.#taken.set(kind, changes === undefined ? known : known.with(changes))
    }
    this.#changed.clear()
    return { kinds: new Map(this.#taken) }
  }

  #note(kind: string, key: string, object: KubeObject | undefined): void {
    const known = this.#changed.get(kind) ?? new Map<string, KubeObject | undefined>()
    this.#changed.set(kind, known.set(key, object))
  }

  #of(kind: string): Map<string, KubeObject> {
    const known = this.#live.get(kind)
    if (known !== undefined) return known
    const made = new Map<string, KubeObject>()
    this.#live.set(kind, made)
    return made
  }
}

/** A namespace is in itself. */
function within(all: ReadonlyMap<string, KubeObject>, namespace: string) {
  const found = new Map<string, KubeObject>()
  for (const [key, object] of all) {
    if ((object.metadata.namespace || object.metadata.name) === namespace) found.set(key, object)
  }
  return found
}

function versionOf({ metadata }: KubeObject): string | undefined {
  return `${metadata.uid}/${metadata.resourceVersion}`
}
