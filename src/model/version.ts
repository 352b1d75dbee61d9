import { comparedWith } from './changed-range.ts'
import { combine, hashLanes, type Lanes, textOf } from './hash.ts'
import { canonicalJson } from './json.ts'
import type { Model } from './model.ts'
import { isPlace } from './places.ts'
import type { Settings } from './settings.ts'

/**
 * The version of a thing in a Model: a hash of its content, regardless of where it was written.
 * Computed once for each, since consecutive Models share what did not change (./reconcile.ts).
 */
export function versionOf(thing: object): string {
  return textOf(lanesOf(thing))
}

const versions = new WeakMap<object, Lanes>()

function lanesOf(thing: object): Lanes {
  const known = versions.get(thing)
  if (known !== undefined) return known
  const made = hashLanes(canonicalJson(thing, isPlace))
  versions.set(thing, made)
  return made
}

/**
 * The version of a whole Model, which may be large: yields after each new thing. With settings, the
 * version of both.
 */
export function* versionOfModel(model: Model, settings?: Settings): Generator<void, string> {
  const found: Lanes[] = []
  const all = settings === undefined ? model : { ...model, settings }
  for (const [key, value] of Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))) {
    found.push(hashLanes(key))
    if (Array.isArray(value)) found.push(yield* lanesOfList(value))
    else if (value !== undefined) {
      if (!versions.has(value)) yield
      found.push(lanesOf(value))
    }
  }
  return combine(found)
}

const lists = new WeakMap<readonly object[], Lanes>()

/**
 * The sum over all things, each combined with the one before it: it depends on the order, and is
 * derived from the sum of the previous list at the cost of what changed.
 */
function* lanesOfList(things: readonly object[]): Generator<void, Lanes> {
  const known = lists.get(things)
  if (known !== undefined) return known
  const { before, range } = comparedWith(things) ?? {}
  const sum = before && lists.get(before)
  const { start, endBefore, end } =
    range !== undefined && sum !== undefined
      ? range
      : { start: 0, endBefore: 0, end: things.length }
  for (let i = firstUnknown(things, start, end); i < end; i = firstUnknown(things, i + 1, end)) {
    lanesOf(things[i] as object)
    yield
  }
  // The first thing after the range has a new predecessor, too.
  const left =
    before !== undefined && sum !== undefined ? added(sum, before, start, endBefore + 1, -1) : NONE
  const made = added(left, things, start, end + 1, 1)
  lists.set(things, made)
  return made
}

const NONE: Lanes = [0, 0, 0, 0]

/** Separate from the steps: V8 does not optimize a loop in a generator while it runs. */
function firstUnknown(things: readonly object[], from: number, end: number): number {
  let i = from
  while (i < end && versions.has(things[i] as object)) i++
  return i
}

/** Adds or subtracts these things; each is combined with the one before it. */
function added(
  sum: Lanes,
  things: readonly object[],
  from: number,
  until: number,
  by: 1 | -1,
): Lanes {
  let [a, b, c, d] = sum
  const end = Math.min(until, things.length)
  for (let i = from; i < end; i++) {
    const own = lanesOf(things[i] as object)
    const before = i === 0 ? NONE : lanesOf(things[i - 1] as object)
    a = (a + by * mixed(own[0], before[0])) | 0
    b = (b + by * mixed(own[1], before[1])) | 0
    c = (c + by * mixed(own[2], before[2])) | 0
    d = (d + by * mixed(own[3], before[3])) | 0
  }
  return [a >>> 0, b >>> 0, c >>> 0, d >>> 0]
}

/** Not symmetric. */
function mixed(own: number, before: number): number {
  const one = Math.imul(own ^ Math.imul(before, 0x9e3779b1), 0x85ebca6b)
  return Math.imul(one ^ (one >>> 15) ^ before, 0xc2b2ae35)
}
