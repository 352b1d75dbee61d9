import { comparedWith } from './changed-range.ts'
import type { Model } from './model.ts'

/** Freezes the value and everything in it, and returns the same value. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) freeze(value[i])
  else for (const key in value) freeze(value[key])
  return value
}

/** Freezes a Model in small steps, for processes that already serve it. */
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
  // Everything in the list is frozen: it does not need to be traversed again.
  Object.freeze(things)
}

/** Items that a list shares with a frozen list are already frozen. */
function mayBeThawed(things: readonly object[]): { readonly from: number; readonly end: number } {
  const known = comparedWith(things)
  if (known === undefined || !Object.isFrozen(known.before)) return { from: 0, end: things.length }
  return { from: known.range.start, end: known.range.end }
}

/** Separate from the steps: V8 does not optimize a loop in a generator while it runs. */
function firstThawed(things: readonly object[], from: number, end: number): number {
  let i = from
  while (i < end && Object.isFrozen(things[i])) i++
  return i
}
