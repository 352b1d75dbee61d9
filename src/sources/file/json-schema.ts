import * as z from 'zod'
import { constraintOf } from '../../policies/schema.ts'
import { fileSchema } from './schema.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The JSON Schema of the file, for editors and other programs. */
export function fileJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { exactlyOne = [], default: filledIn } = constraintOf(zodSchema) ?? {}
      if (filledIn !== undefined) jsonSchema.default = filledIn as JsonSchema['default']
      if (exactlyOne.length === 0) return
      jsonSchema.allOf = exactlyOne.map((keys) => ({
        oneOf: keys.map((key) => ({ required: [key] })),
      }))
    },
  })
  return { $schema, title: 'Portcullis', ...schema } as JsonSchema
}

/** The JSON Schema for editors: in unexpanded text, variables may replace numbers and keywords. */
export function editorJsonSchema(): JsonSchema {
  return withVariables(fileJsonSchema()) as JsonSchema
}

const VARIABLE = '\\$(\\{[A-Za-z_]|[A-Za-z_][A-Za-z0-9_]*$)'

/** Members that hold values or key schemas rather than schemas of values. */
const OPAQUE: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'propertyNames'])

function withVariables(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withVariables)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, member]) => [
    key,
    OPAQUE.has(key) ? member : withVariables(member),
  ])
  const copy = Object.fromEntries(entries)
  const { type, pattern } = copy
  // Each of these members applies to one type only: numeric bounds do not affect strings.
  if (type === 'integer' || type === 'number' || type === 'boolean') {
    return { ...copy, type: [type, 'string'], pattern: VARIABLE }
  }
  if (type !== 'string' || typeof pattern !== 'string') return copy
  return { ...copy, pattern: `(?:${pattern})|${VARIABLE}` }
}
