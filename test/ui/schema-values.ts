import fc from 'fast-check'
import { fileJsonSchema } from '../../src/sources/file/json-schema.ts'

/** JSON Schema, as far as the schema of the file uses it. */
export interface RawSchema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, RawSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: RawSchema | boolean
  readonly items?: RawSchema
  readonly anyOf?: readonly RawSchema[]
  readonly allOf?: readonly RawSchema[]
  readonly oneOf?: readonly { readonly required: readonly string[] }[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly minItems?: number
  readonly $defs?: Readonly<Record<string, RawSchema>>
}

/** The schema that editors get. */
const FILE_SCHEMA = fileJsonSchema() as RawSchema

/** The schema of one resource of the kind. */
export function schemaOfResource(kind: string): RawSchema {
  const section = FILE_SCHEMA.properties?.[kind] ?? {}
  const { items, additionalProperties } = section
  return items ?? (typeof additionalProperties === 'object' ? additionalProperties : section)
}

const DEEPEST = 6

/** Random values of a schema, made from its text alone; `plain`: none is free of a schema. */
export function valuesOf(schema: RawSchema, depth = 0, plain = false): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/$defs/', '')
    if (name === 'anything' || name.startsWith('__schema')) return json(depth, plain)
    const { $ref: _, ...beside } = schema
    return valuesOf({ ...FILE_SCHEMA.$defs?.[name], ...beside }, depth, plain)
  }
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((one) => valuesOf(one, depth, plain)))
  }
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  switch (schema.type) {
    case 'object':
      return objectsOf(schema, depth, plain)
    case 'array': {
      const { items = {}, minItems = 0 } = schema
      const maxLength = Math.max(minItems, depth > DEEPEST ? 1 : 3)
      return fc.array(valuesOf(items, depth + 1, plain), { minLength: minItems, maxLength })
    }
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 1e6, 1e6) })
    case 'number':
      return fc.double({
        noNaN: true,
        noDefaultInfinity: true,
        min: schema.minimum ?? -10,
        max: 1e3,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return textsOf(schema)
    default:
      return json(depth, plain)
  }
}

function textsOf({ pattern, minLength = 0 }: RawSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) {
    try {
      return fc.stringMatching(new RegExp(pattern), { maxLength: 40 })
    } catch {
      // A pattern that fast-check does not know: any text exercises the form just as well.
    }
  }
  const words = fc.constantFrom(
    'a',
    'true',
    '1',
    '1.0',
    'null',
    '#x',
    'a: b',
    '- a',
    '$X',
    ' x ',
    'two\nlines',
  )
  return fc.oneof(words, fc.string({ minLength: Math.max(1, minLength), maxLength: 12 }))
}

function objectsOf(schema: RawSchema, depth: number, plain: boolean): fc.Arbitrary<unknown> {
  const { properties, required = [], additionalProperties, allOf = [] } = schema
  if (properties === undefined) {
    const inner = typeof additionalProperties === 'object' ? additionalProperties : {}
    const keys = fc.stringMatching(/^[a-z]{1,6}([.-][a-z0-9]{1,3})?$/)
    return fc.dictionary(keys, valuesOf(inner, depth + 1, plain), {
      maxKeys: 3,
      noNullPrototype: true,
    })
  }
  const groups = allOf.flatMap(({ oneOf }) =>
    oneOf === undefined ? [] : [oneOf.flatMap((one) => one.required)],
  )
  const grouped = new Set(groups.flat())
  const optional = Object.keys(properties).filter(
    (key) => !required.includes(key) && !grouped.has(key),
  )
  const more = fc.subarray(optional, {
    maxLength: depth > DEEPEST ? 0 : Math.min(3, optional.length),
  })
  return fc
    .tuple(more, ...groups.map((keys) => fc.constantFrom(...keys)))
    .chain(([own, ...one]) => {
      const keys = [...new Set([...required, ...own, ...one])]
      const entries = keys.map(
        (key) => [key, valuesOf(properties[key] ?? {}, depth + 1, plain)] as const,
      )
      return fc.record(Object.fromEntries(entries), { noNullPrototype: true })
    })
}

function json(depth: number, plain: boolean): fc.Arbitrary<unknown> {
  return plain
    ? fc.oneof(fc.integer(), fc.boolean())
    : fc.jsonValue({ maxDepth: depth > DEEPEST ? 0 : 1 })
}
