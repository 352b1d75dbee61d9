import { type Lanes, textOf } from '../model/hash.ts'
import { LayeredMap } from '../model/layered-map.ts'
import type { Model } from '../model/model.ts'
import { changedParts, hasUniqueNames, type Part, partsOf } from './parts.ts'

/** All resources of one Gateway at one time. It is immutable, so that streams share it. */
export interface Snapshot {
  readonly parts: ReadonlyMap<string, Part>
  /** The version of the whole set: the same resources in the same versions give the same value. */
  readonly version: string
}

export interface Delta {
  readonly changed: readonly Part[]
  readonly removed: readonly string[]
}

export function snapshotOf(model: Model, previous?: Snapshot): Snapshot {
  const known = previous && MADE_OF.get(previous)
  const changes = known && changedParts(known.model, model, previous.parts)
  if (changes === undefined) return fromScratch(model, previous)
  const parts = (known as MadeOf).parts
  const delta: { changed: Part[]; removed: string[] } = { changed: [], removed: [] }
  const sums = [...(known as MadeOf).sums] as [number, number, number, number]
  const add = ({ lanes }: Part) => {
    for (const lane of LANES) sums[lane] ^= lanes[lane]
  }
  for (const [name, part] of changes) {
    const before = parts.get(name)
    if (before !== undefined) add(before)
    if (part !== undefined) add(part)
    if (part === undefined) delta.removed.push(name)
    else if (part.version !== before?.version) delta.changed.push(part)
  }
  const next = made(model, parts.with(changes), sums)
  between.set(next, new WeakMap([[previous as Snapshot, delta]]))
  return next
}

/** Reuses unchanged resources of the previous snapshot. */
function fromScratch(model: Model, previous: Snapshot | undefined): Snapshot {
  const all = [...partsOf(model)].map(([name, part]) => {
    const before = previous?.parts.get(name)
    return [name, before?.version === part.version ? before : part] as const
  })
  const parts = LayeredMap.of(new Map(all))
  return hasUniqueNames(model)
    ? made(model, parts)
    : { parts, version: versionOfSet(parts.values()) }
}

interface MadeOf {
  readonly model: Model
  readonly parts: LayeredMap<Part>
  readonly sums: Lanes
}

/** What the next snapshot is made from. */
const MADE_OF = new WeakMap<Snapshot, MadeOf>()
const LANES = [0, 1, 2, 3] as const

function made(
  model: Model,
  parts: LayeredMap<Part>,
  sums: Lanes = sumsOf(parts.values()),
): Snapshot {
  const snapshot = { parts, version: textOfSums(sums) }
  MADE_OF.set(snapshot, { model, parts, sums })
  return snapshot
}

/** The version of a changing set of parts, updated incrementally. */
export class PartSum {
  readonly #sums: [number, number, number, number] = [0, 0, 0, 0]

  /** Adds or removes the part. */
  toggle({ lanes }: { readonly lanes: Lanes }): void {
    for (const lane of LANES) this.#sums[lane] ^= lanes[lane]
  }

  get version(): string {
    return textOfSums(this.#sums)
  }
}

/** Independent of the order, since resources arrive in any order. */
export function versionOfSet(parts: Iterable<{ readonly lanes: Lanes }>): string {
  return textOfSums(sumsOf(parts))
}

function sumsOf(parts: Iterable<{ readonly lanes: Lanes }>): Lanes {
  let [a, b, c, d] = [0, 0, 0, 0]
  for (const { lanes } of parts) {
    a ^= lanes[0]
    b ^= lanes[1]
    c ^= lanes[2]
    d ^= lanes[3]
  }
  return [a, b, c, d]
}

function textOfSums([a, b, c, d]: Lanes): string {
  return textOf([a >>> 0, b >>> 0, c >>> 0, d >>> 0])
}

/** The changes for a client that has these versions. */
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
