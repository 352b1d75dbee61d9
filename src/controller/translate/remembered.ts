/** What was made of an object, and what else it was made of. */
interface Made {
  readonly sources: readonly unknown[]
  readonly value: unknown
}

const MADE = new WeakMap<object, Map<string, Made>>()

/**
 * What was made of the same object and the same sources before, or what is made now. Objects of a
 * Snapshot never change, so that an edit of one of them costs what it concerns.
 */
export function remembered<T>(
  object: object,
  id: string,
  sources: readonly unknown[],
  make: () => T,
): T {
  let known = MADE.get(object)
  if (known === undefined) MADE.set(object, (known = new Map()))
  const found = known.get(id)
  if (
    found !== undefined &&
    found.sources.length === sources.length &&
    found.sources.every((source, index) => source === sources[index])
  ) {
    return found.value as T
  }
  const value = make()
  known.set(id, { sources, value })
  return value
}
