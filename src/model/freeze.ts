import type { Model } from './model.ts'
import { isFileOrigin } from './moves.ts'

/**
 * The value and all that it holds, never to change again; answers the same value. Origins in files
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
  const { routes } = model
  for (let i = firstThawed(routes, 0); i < routes.length; i = firstThawed(routes, i + 1)) {
    freeze(routes[i])
    yield
  }
  // All that is in it is frozen: nobody needs to look through it again.
  Object.freeze(routes)
  freeze(model)
}

/** Apart from the steps: V8 does not optimize a loop of a generator while it runs. */
function firstThawed(things: readonly object[], from: number): number {
  let i = from
  while (i < things.length && Object.isFrozen(things[i])) i++
  return i
}
