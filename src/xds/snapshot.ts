import { type Lanes, textOf } from '../model/hash.ts'
import type { Model } from '../model/model.ts'
import { type Part, partsOf } from './parts.ts'

/** All resources of one Gateway at one time. It never changes, so that streams share it. */
export interface Snapshot {
  readonly parts: ReadonlyMap<string, Part>
  /** Of the whole set: whoever has the same resources in the same versions computes the same. */
  readonly version: string
}

export interface Delta {
  readonly changed: readonly Part[]
  readonly removed: readonly string[]
}

export function snapshotOf(model: Model, previous?: Snapshot): Snapshot {
  const parts = partsOf(model, previous?.parts)
  return { parts, version: versionOfSet(parts.values()) }
}

/** Independent of the order, in which resources come as they come. */
export function versionOfSet(parts: Iterable<{ readonly lanes: Lanes }>): string {
  let [a, b, c, d] = [0, 0, 0, 0]
  for (const { lanes } of parts) {
    a ^= lanes[0]
    b ^= lanes[1]
    c ^= lanes[2]
    d ^= lanes[3]
  }
  return textOf([a >>> 0, b >>> 0, c >>> 0, d >>> 0])
}

/** What somebody lacks who has these versions. */
export function deltaFrom(known: ReadonlyMap<string, string>, { parts }: Snapshot): Delta {
  const changed: Part[] = []
  for (const part of parts.values()) if (known.get(part.name) !== part.version) changed.push(part)
  const removed = [...known.keys()].filter((name) => !parts.has(name))
  return { changed, removed }
}

const between = new WeakMap<Snapshot, WeakMap<Snapshot, Delta>>()

/** Most proxies go from one snapshot to the same next one: the difference is computed once. */
export function deltaBetween(before: Snapshot, after: Snapshot): Delta {
  let known = between.get(after)
  if (known === undefined) between.set(after, (known = new WeakMap()))
  const computed = known.get(before)
  if (computed !== undefined) return computed
  const changed: Part[] = []
  for (const part of after.parts.values()) {
    const old = before.parts.get(part.name)
    if (old !== part && old?.version !== part.version) changed.push(part)
  }
  const removed: string[] = []
  for (const name of before.parts.keys()) if (!after.parts.has(name)) removed.push(name)
  const delta = { changed, removed }
  known.set(before, delta)
  return delta
}
