import { hashOf, hashText } from './hash.ts'
import type { Model } from './model.ts'

/** Where a thing was written says nothing about what it does. */
export const PLACES: ReadonlySet<string> = new Set(['origin', 'diagnostics'])

const versions = new WeakMap<object, string>()

/**
 * The version of a thing in a Model: a hash of its content, wherever it was written. Computed once
 * for each, since Models that follow each other share what did not change (./reconcile.ts).
 */
export function versionOf(thing: object): string {
  const known = versions.get(thing)
  if (known !== undefined) return known
  const made = hashOf(thing, PLACES)
  versions.set(thing, made)
  return made
}

/** The version of a whole Model, which may be large: in small steps, one for each thing in it. */
export function* versionOfModel(model: Model): Generator<void, string> {
  let text = ''
  for (const [key, value] of Object.entries(model).sort(([a], [b]) => (a < b ? -1 : 1))) {
    text += `${key}:`
    for (const thing of Array.isArray(value) ? value : [value]) {
      if (thing === undefined) continue
      text += `${versionOf(thing)} `
      yield
    }
  }
  return hashText(text)
}
