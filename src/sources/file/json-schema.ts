import * as z from 'zod'
import {
  aliasOf,
  annotationOf,
  constraintOf,
  type ResultType,
  type Stage,
} from '../../policies/schema.ts'
import { fileSchema } from './schema.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** The JSON Schema of the file, for editors and other programs. */
export function fileJsonSchema(): JsonSchema {
  return schemaWith(() => {})
}

type Override = NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override'] & {}

function schemaWith(further: Override): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: (found) => {
      const { zodSchema, jsonSchema } = found
      further(found)
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

/** What a form must know of a value in addition to its shape; in the member `x-form`. */
export type FormHint =
  | { readonly is: 'expression'; readonly result: ResultType; readonly stage?: Stage }
  | { readonly is: 'path' | 'credential' | 'secret' | 'backend' }
  | { readonly is: 'alias'; readonly of: string }

/** The JSON Schema with what forms must know. */
export function formJsonSchema(): JsonSchema {
  return schemaWith(({ zodSchema, jsonSchema }) => {
    const hint = hintOf(zodSchema)
    if (hint !== undefined) jsonSchema['x-form'] = hint
  })
}

function hintOf(schema: z.core.$ZodType): FormHint | undefined {
  const alias = aliasOf((schema as z.ZodType).description)
  if (alias !== undefined) return { is: 'alias', of: alias }
  const annotation = annotationOf(schema)
  if (annotation === undefined) return undefined
  if (annotation.is === 'expression') return annotation
  return { is: annotation.is }
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
