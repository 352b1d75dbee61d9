import { comparedWith } from './changed-range.ts'
import type { Model } from './model.ts'
import { isFileOrigin } from './places.ts'

/**
 * The value and all that it holds, never to change again; returns the same value. Origins in files
 * follow what they belong to: see ./moves.ts.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (isFileOrigin(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) freeze(value[i])
  else for (const key in value) freeze(value[key])
  return value
}

/** A Model in small steps, for whoever serves it already. */
export function* freezeModel(model: Model): Generator<void, void> {
  yield* freezeList(model.routes)
  yield* freezeList(model.backends)
  freeze(model)
}

function* freezeList(things: readonly object[]): Generator<void, void> {
  if (Object.isFrozen(things)) return
  const { from, end } = mayBeThawed(things)
  for (let i = firstThawed(things, from, end); i < end; i = firstThawed(things, i + 1, end)) {
    freeze(things[i])
    yield
  }
  // All that is in it is frozen: nobody needs to look through it again.
  Object.freeze(things)
}

/** What a list shares with one that is frozen is frozen. */
function mayBeThawed(things: readonly object[]): { readonly from: number; readonly end: number } {
  const known = comparedWith(things)
  if (known === undefined || !Object.isFrozen(known.before)) return { from: 0, end: things.length }
  return { from: known.range.start, end: known.range.end }
}

/** Apart from the steps: V8 does not optimize a loop of a generator while it runs. */
function firstThawed(things: readonly object[], from: number, end: number): number {
  let i = from
  while (i < end && Object.isFrozen(things[i])) i++
  return i
}
