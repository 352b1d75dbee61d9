import type { Model } from './model.ts'
import { Moves, placesIn } from './moves.ts'

/** So many of the list before, from this place on. */
interface Run {
  readonly from: number
  readonly count: number
  /** Of their origins in files, one thing after the other, where any of them was moved. */
  readonly lines?: Int32Array
}

/** Things that the list before does not have. */
interface Added {
  readonly things: readonly object[]
}

type ListPatch = readonly (Run | Added)[]

/** What makes one Model of another: it costs what is different, wherever it is sent. */
export interface ModelPatch {
  /** Sections with several things. */
  readonly lists: readonly (readonly [section: keyof Model, patch: ListPatch])[]
  /** Sections that are one thing; undefined: it is gone. */
  readonly wholes: readonly (readonly [section: keyof Model, value: object | undefined])[]
}

const NO_MODEL: Partial<Model> = {}

/**
 * By identity: Models that follow each other share what did not change. `isMoved`: what they share
 * may be on other lines of its file than it was when the first one was sent.
 */
export function patchBetween(before: Model | undefined, next: Model, isMoved = false): ModelPatch {
  const known = before ?? NO_MODEL
  const lists: [keyof Model, ListPatch][] = []
  const wholes: [keyof Model, object | undefined][] = []
  for (const section of Object.keys({ ...known, ...next }) as (keyof Model)[]) {
    const [old, young] = [known[section], next[section]]
    if (!isMoved && old === young && section in known === section in next) continue
    if (Array.isArray(young)) {
      const patch = patchOf(Array.isArray(old) ? old : [], young)
      lists.push([section, isMoved ? patch.map((one) => withLines(one, old as Things)) : patch])
    } else wholes.push([section, young as object | undefined])
  }
  return { lists, wholes }
}

type Things = readonly object[]

function withLines(one: Run | Added, old: Things): Run | Added {
  if ('things' in one) return one
  const { from, count } = one
  const lines: number[] = []
  for (let i = from; i < from + count; i++) {
    for (const { line } of placesIn(old[i] as object)) lines.push(line)
  }
  return lines.length === 0 ? one : { from, count, lines: Int32Array.from(lines) }
}

/** `before`: what the patch was made from, or a copy of it; its things are told their lines. */
export function patched(
  before: Model | undefined,
  { lists, wholes }: ModelPatch,
  moves = new Moves(),
): Model {
  const made: Partial<Record<keyof Model, unknown>> = { ...(before ?? NO_MODEL) }
  for (const [section, patch] of lists) {
    const old = (made[section] ?? []) as readonly object[]
    const young: object[] = []
    for (const one of patch) {
      if ('things' in one) for (const thing of one.things) young.push(thing)
      else takeRun(one, old, young, moves)
    }
    made[section] = young
  }
  for (const [section, value] of wholes) {
    if (value === undefined) delete made[section]
    else made[section] = value
  }
  return made as Model
}

function takeRun({ from, count, lines }: Run, old: Things, young: object[], moves: Moves): void {
  let at = 0
  for (let i = from; i < from + count; i++) {
    const thing = old[i] as object
    young.push(thing)
    if (lines === undefined) continue
    moves.moveTo(thing, lines, at)
    at += placesIn(thing).length
  }
}

/** All that is new in the other Model; what has secrets of its own. */
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

/** What stands between the parts at both ends that stayed. */
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
