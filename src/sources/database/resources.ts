import type { JsonObject, JsonValue } from '../../model/json.ts'
import { RESOURCE_KINDS, type ResourceKind, SINGLE_ID, shapeOf, UNNAMED } from './resource-kinds.ts'

/** A part of a configuration that is edited as a unit. */
export interface Resource {
  readonly kind: ResourceKind
  readonly id: string
  readonly value: JsonValue
}

export type ResourceKey = `${ResourceKind}/${string}`

export function keyOf({ kind, id }: { readonly kind: ResourceKind; readonly id: string }) {
  return `${kind}/${id}` satisfies ResourceKey as ResourceKey
}

/** The resources of a configuration, in file order. */
export function resourcesOf(configuration: unknown): ReadonlyMap<ResourceKey, Resource> {
  const found = new Map<ResourceKey, Resource>()
  const add = (kind: ResourceKind, name: string, value: JsonValue) => {
    let id = name
    // Duplicate names are an error of the file; this must not lose any resource.
    for (let n = 2; found.has(keyOf({ kind, id })); n++) id = `${name}~${n}`
    found.set(keyOf({ kind, id }), { kind, id, value })
  }
  if (!isObject(configuration)) return found
  for (const kind of RESOURCE_KINDS) {
    const section = configuration[kind]
    if (section === undefined) continue
    const shape = shapeOf(kind)
    if (shape === 'single') add(kind, SINGLE_ID, section)
    else if (shape === 'record' && isObject(section)) {
      for (const [id, value] of Object.entries(section)) add(kind, id, value ?? null)
    } else if (Array.isArray(section)) {
      for (const [index, item] of section.entries()) {
        add(kind, nameIn(item) ?? `${UNNAMED[kind]}-${index}`, item)
      }
    }
  }
  return found
}

/** The name by which an item of a list is edited; undefined if it has none. */
export function nameIn(item: unknown): string | undefined {
  if (!isObject(item)) return undefined
  const { name, namespace, ruleName } = item
  if (isObject(name)) return nameIn(name)
  if (typeof name !== 'string' || name === '') return undefined
  const own = typeof namespace === 'string' ? `${namespace}/${name}` : name
  return typeof ruleName === 'string' ? `${own}#${ruleName}` : own
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
