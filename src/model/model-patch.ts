import type { Model } from './model.ts'

/** `count` things of the previous list, from index `from` on. */
interface Run {
  readonly from: number
  readonly count: number
}

/** Things that the previous list does not have. */
interface Added {
  readonly things: readonly object[]
}

type ListPatch = readonly (Run | Added)[]

/**
 * The difference that turns one Model into another; it costs only what changed, wherever that is.
 */
export interface ModelPatch {
  /** Sections that are lists. */
  readonly lists: readonly (readonly [section: keyof Model, patch: ListPatch])[]
  /** Sections that are a single value; undefined: removed. */
  readonly wholes: readonly (readonly [section: keyof Model, value: object | undefined])[]
}

const NO_MODEL: Partial<Model> = {}

/** Compares by identity: consecutive Models share what did not change. */
export function patchBetween(before: Model | undefined, next: Model): ModelPatch {
  const known = before ?? NO_MODEL
  const lists: [keyof Model, ListPatch][] = []
  const wholes: [keyof Model, object | undefined][] = []
  for (const section of Object.keys({ ...known, ...next }) as (keyof Model)[]) {
    const [old, young] = [known[section], next[section]]
    if (old === young && section in known === section in next) continue
    if (Array.isArray(young)) {
      lists.push([section, patchOf(Array.isArray(old) ? old : [], young)])
    } else wholes.push([section, young as object | undefined])
  }
  return { lists, wholes }
}

type Things = readonly object[]

/** `before` is the Model that the patch was made from, or a copy. */
export function patched(before: Model | undefined, { lists, wholes }: ModelPatch): Model {
  const made: Partial<Record<keyof Model, unknown>> = { ...(before ?? NO_MODEL) }
  for (const [section, patch] of lists) {
    const old = (made[section] ?? []) as readonly object[]
    const young: object[] = []
    for (const one of patch) {
      if ('things' in one) for (const thing of one.things) young.push(thing)
      else for (let i = 0; i < one.count; i++) young.push(old[one.from + i] as object)
    }
    made[section] = young
  }
  for (const [section, value] of wholes) {
    if (value === undefined) delete made[section]
    else made[section] = value
  }
  return made as Model
}

/** Everything that is new in the other Model; only this can bring new secrets. */
export function addedIn({ lists, wholes }: ModelPatch): readonly object[] {
  const things = lists.flatMap(([, patch]) =>
    patch.flatMap((one) => ('things' in one ? one.things : [])),
  )
  return [...things, ...wholes.flatMap(([, value]) => value ?? [])]
}

function patchOf(old: Things, young: Things): ListPatch {
  const max = Math.min(old.length, young.length)
  let start = 0
  while (start < max && old[start] === young[start]) start++
  let end = 0
  while (end < max - start && old[old.length - 1 - end] === young[young.length - 1 - end]) end++
  const patch: (Run | Added)[] = []
  if (start > 0) patch.push({ from: 0, count: start })
  if (start + end < young.length) patch.push(...between(old, young, start, end))
  if (end > 0) patch.push({ from: old.length - end, count: end })
  return patch
}

/** What lies between the unchanged parts at both ends. */
function* between(
  old: readonly object[],
  young: readonly object[],
  start: number,
  end: number,
): Generator<Run | Added> {
  const places = new Map<object, number>()
  for (let i = start; i < old.length - end; i++) places.set(old[i] as object, i)
  const limit = young.length - end
  for (let i = start; i < limit; ) {
    const thing = young[i] as object
    const from = places.get(thing)
    const first = i
    if (from === undefined) {
      while (i < limit && !places.has(young[i] as object)) i++
      yield { things: young.slice(first, i) }
    } else {
      while (i < limit && old[from + i - first] === young[i]) i++
      yield { from, count: i - first }
    }
  }
}
