import type { JsonObject, Value } from '../../cel/values/value.ts'
import type { Assignment } from './solve.ts'
import type { Possibility } from './unknown.ts'

/** Attributes of one request: variables as expressions read them, as far as they are known. */
export type World = JsonObject

/** Contains only what the assignment defines; what it leaves open is absent. */
export function worldOf(assignment: Assignment): World {
  const world: Record<string, Value> = {}
  for (const [{ steps }, possibility] of assignment) {
    switch (possibility.kind) {
      case 'value':
        place(world, steps, possibility.value)
        break
      case 'map':
        place(world, steps, at(world, steps) ?? {})
        break
      case 'list':
        place(world, steps, at(world, steps) ?? [])
        break
      case 'held': {
        const list = (at(world, steps) ?? []) as readonly Value[]
        place(world, steps, [...list, possibility.element])
      }
    }
  }
  for (const [{ steps }, possibility] of assignment) {
    if (possibility.kind === 'count') place(world, steps, filled(at(world, steps), possibility))
  }
  return world
}

/** Adds elements up to the required count: a list repeats one, an object gets others. */
function filled(
  value: Value | undefined,
  { count, names }: Extract<Possibility, { kind: 'count' }>,
): Value {
  if (Array.isArray(value)) {
    const last = value.at(-1) as Value
    return [...value, ...Array.from({ length: count - value.length }, () => last)]
  }
  const object: Record<string, Value> = { ...(value as JsonObject) }
  for (const name of names) {
    if (Object.keys(object).length >= count) break
    object[name] ??= null
  }
  return object
}

function at(world: JsonObject, steps: readonly string[]): Value | undefined {
  let value: Value | undefined = world
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as JsonObject)[step]
  }
  return value
}

function place(world: Record<string, Value>, steps: readonly string[], value: Value): void {
  let inner = world
  for (const step of steps.slice(0, -1)) {
    if (!Object.hasOwn(inner, step)) inner[step] = {}
    inner = inner[step] as Record<string, Value>
  }
  inner[steps.at(-1) as string] = value
}
