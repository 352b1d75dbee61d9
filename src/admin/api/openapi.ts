import * as z from 'zod'
import type { Endpoint, ResponseShape } from './define.ts'
import { problemSchema } from './define.ts'

type Json = Readonly<Record<string, unknown>>

/** Renders the API as an OpenAPI 3.1 document. */
export function openApiOf(endpoints: readonly Endpoint[], version: string): Json {
  const schemas: Record<string, unknown> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output') => jsonSchemaOf(schema, io, schemas)
  for (const endpoint of endpoints) {
    const { method, path, summary, role, body, bodyType, responses } = endpoint
    const operation = {
      operationId: operationId(endpoint),
      summary,
      description: `Requires the role \`${role}\`.`,
      tags: [path.split('/')[2]],
      parameters: parametersOf(endpoint, schemaOf),
      ...(body === undefined
        ? {}
        : {
            requestBody: {
              required: true,
              content: { [bodyType ?? 'application/json']: { schema: schemaOf(body, 'input') } },
            },
          }),
      responses: {
        ...Object.fromEntries(
          Object.entries(responses).map(([status, shape]) => [status, responseOf(shape, schemaOf)]),
        ),
        default: {
          description: 'A problem.',
          content: { 'application/problem+json': { schema: schemaOf(problemSchema, 'output') } },
        },
      },
    }
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Portcullis admin API',
      version,
      description:
        'Inspects and changes the configuration of a gateway and shows its decisions. It listens ' +
        'only on localhost by default; on other addresses, callers must send a token.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operationId({ method, path }: Endpoint): string {
  const words = path
    .split('/')
    .slice(2)
    .map((part) => part.replaceAll(/[{}]|\.json$/g, ''))
  return [method.toLowerCase(), ...words].join('-')
}

type SchemaOf = (schema: z.ZodType, io: 'input' | 'output') => unknown

function parametersOf({ path, query, headers = {} }: Endpoint, schemaOf: SchemaOf): unknown[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...json } = schemaOf(schema as z.ZodType, 'input') as Json
    return {
      name,
      in: 'query',
      required: false,
      ...(description === undefined ? {} : { description }),
      schema: json,
    }
  })
  const inHeaders = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  return [...inPath, ...inQuery, ...inHeaders]
}

function responseOf({ description, schema, type }: ResponseShape, schemaOf: SchemaOf): Json {
  if (schema === undefined && type === undefined) return { description }
  const shape = schema === undefined ? { type: 'string' } : schemaOf(schema, 'output')
  return { description, content: { [type ?? 'application/json']: { schema: shape } } }
}

/** Named schemas become components; the rest is inlined. */
function jsonSchemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Record<string, unknown>,
): unknown {
  // Wrapped in an object, since the converted schema itself is never a reference.
  const whole = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any' })
  const { $defs = {}, properties } = whole
  const moved = (value: unknown) =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
  for (const [name, shape] of Object.entries($defs)) schemas[name] = moved(shape)
  return moved(properties?.['it'])
}
