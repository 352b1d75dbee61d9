import type { Model } from './model.ts'

/** The value and all that it holds, never to change again; answers the same value. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) freeze(value[i])
  else for (const key in value) freeze(value[key])
  return value
}

/** A Model in small steps, for whoever serves it already. */
export function* freezeModel(model: Model): Generator<void, void> {
  for (const route of model.routes) {
    if (Object.isFrozen(route)) continue
    freeze(route)
    yield
  }
  freeze(model)
}
