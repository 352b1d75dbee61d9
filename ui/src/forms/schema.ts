import { type FormHint, formJsonSchema } from '../../../src/sources/file/editing.ts'
import type { Change } from '../api/shapes.ts'

export type Kind = Change['kind']

/** The subset of JSON Schema that the schema of the file uses. */
export interface Schema {
  readonly $ref?: string
  readonly title?: string
  readonly description?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  /** In members of `allOf` only: exactly one of these keys is required. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly 'x-form'?: FormHint
  readonly $defs?: Readonly<Record<string, Schema>>
}

let whole: Schema | undefined

/** The schema of the file, from the same definitions that the gateway reads it with. */
export function fileSchema(): Schema {
  whole ??= formJsonSchema() as unknown as Schema
  return whole
}

/** The schema of one resource. */
export function schemaOfKind(kind: Kind): Schema {
  const section = fileSchema().properties?.[kind] ?? {}
  const { items, additionalProperties } = section
  if (items !== undefined) return items
  return typeof additionalProperties === 'object' ? additionalProperties : section
}

/** A schema with what it refers to, and the name of that. */
export interface Resolved {
  readonly schema: Schema
  readonly name: string | undefined
}

/** Follows `$ref`; members next to it take precedence. */
export function resolve(schema: Schema): Resolved {
  let name: string | undefined
  let found = schema
  while (found.$ref !== undefined) {
    const { $ref, ...beside } = found
    name = $ref.replace('#/$defs/', '')
    const definition = fileSchema().$defs?.[name]
    if (definition === undefined) throw new Error(`the schema has no definition ${name}`)
    const groups = [...(beside.allOf ?? []), ...(definition.allOf ?? [])]
    found = { ...definition, ...beside, ...(groups.length === 0 ? {} : { allOf: groups }) }
  }
  return { schema: found, name }
}
