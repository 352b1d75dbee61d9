/** The value and all that it holds, never to change again; answers the same value. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key in value) freeze(value[key])
  return value
}
