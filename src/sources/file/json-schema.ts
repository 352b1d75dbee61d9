import * as z from 'zod'
import { constraintOf } from '../../policies/schema.ts'
import { fileSchema } from './schema.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The file as JSON Schema, for editors and other programs. */
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
