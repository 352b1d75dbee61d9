import { combine, hashLanes, type Lanes, textOf } from './hash.ts'
import { canonicalJson } from './json.ts'
import type { Model } from './model.ts'
import type { Settings } from './settings.ts'

/** Where a thing was written says nothing about what it does. */
export const PLACES: ReadonlySet<string> = new Set(['origin', 'diagnostics'])

/**
 * The version of a thing in a Model: a hash of its content, wherever it was written. Computed once
 * for each, since Models that follow each other share what did not change (./reconcile.ts).
 */
export function versionOf(thing: object): string {
  return textOf(lanesOf(thing))
}

const versions = new WeakMap<object, Lanes>()

function lanesOf(thing: object): Lanes {
  const known = versions.get(thing)
  if (known !== undefined) return known
  const made = hashLanes(canonicalJson(thing, PLACES))
  versions.set(thing, made)
  return made
}

/**
 * The version of a whole Model, which may be large: in small steps, one for each new thing. With
 * settings, that of both.
 */
export function* versionOfModel(model: Model, settings?: Settings): Generator<void, string> {
  const found: Lanes[] = []
  const all = settings === undefined ? model : { ...model, settings }
  for (const [key, value] of Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))) {
    found.push(hashLanes(key))
    const things: readonly (object | undefined)[] = Array.isArray(value) ? value : [value]
    for (let i = takeKnown(things, 0, found); i < things.length; ) {
      const thing = things[i]
      if (thing !== undefined) {
        yield
        found.push(lanesOf(thing))
      }
      i = takeKnown(things, i + 1, found)
    }
  }
  return combine(found)
}

/**
 * Versions that are known already, until one is not; returns where. Apart from the steps: V8 does
 * not optimize a loop of a generator while it runs.
 */
function takeKnown(things: readonly (object | undefined)[], from: number, found: Lanes[]): number {
  for (let i = from; i < things.length; i++) {
    const thing = things[i]
    const known = thing && versions.get(thing)
    if (known === undefined) return i
    found.push(known)
  }
  return things.length
}
