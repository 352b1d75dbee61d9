import { unescapeStep } from '../../../model/json-pointer.ts'
import { type DocumentObject, isDocumentObject as isObject } from './schema.ts'

/* Converts OpenAPI schemas to JSON Schema 2020-12, which MCP clients read. */

const PREFIX = '#/components/schemas/'
const MAX_DEPTH = 64

/** References refer to `$defs` from here on. */
export function toJsonSchema(schema: unknown, depth = 0): unknown {
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema) || depth > MAX_DEPTH) return {}
  const made: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key)) continue
    if (key === '$ref') made[key] = reference(value)
    else if (MAPS.has(key) && isObject(value)) {
      const own = Object.entries(value).map(
        ([name, inner]) => [name, toJsonSchema(inner, depth + 1)] as const,
      )
      made[key] = Object.fromEntries(own)
    } else if (LISTS.has(key) && Array.isArray(value)) {
      made[key] = value.map((inner) => toJsonSchema(inner, depth + 1))
    } else if (SCHEMAS.has(key)) made[key] = toJsonSchema(value, depth + 1)
    else made[key] = value
  }
  return oldForms(schema, made)
}

/** Converts OpenAPI 3.0 forms that JSON Schema expresses differently. */
function oldForms(schema: DocumentObject, made: Record<string, unknown>): unknown {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    delete made[flag]
    if (schema[flag] === true && made[bound] !== undefined) {
      made[flag] = made[bound]
      delete made[bound]
    }
  }
  if (schema['nullable'] !== true) return made
  if (typeof made['type'] === 'string') {
    const values = Array.isArray(made['enum']) ? { enum: [...made['enum'], null] } : {}
    return { ...made, type: [made['type'], 'null'], ...values }
  }
  return { anyOf: [made, { type: 'null' }] }
}

const DROPPED: ReadonlySet<string> = new Set([
  'nullable',
  'discriminator',
  'xml',
  'externalDocs',
  'example',
])
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs'])
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'not',
  'additionalProperties',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
])

function reference(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(PREFIX)) return value
  return `#/$defs/${value.slice(PREFIX.length)}`
}

/** Returns all schemas that these refer to; undefined if a reference is broken. */
export function definitionsFor(
  document: DocumentObject,
  schemas: unknown,
): DocumentObject | undefined {
  const { components } = document
  const known = isObject(components) ? components['schemas'] : undefined
  const found = new Map<string, unknown>()
  const waiting: unknown[] = [schemas]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const ref of referencesIn(next)) {
      const name = ref.startsWith('#/$defs/') ? decodeStep(ref.slice('#/$defs/'.length)) : undefined
      if (name === undefined || !isObject(known) || !Object.hasOwn(known, name)) return undefined
      if (found.has(name)) continue
      const schema = toJsonSchema(known[name])
      found.set(name, schema)
      waiting.push(schema)
    }
  }
  return Object.fromEntries(found)
}

/** Decodes one step of a pointer in a reference; undefined if it is not encoded as one. */
export function decodeStep(step: string): string | undefined {
  try {
    return unescapeStep(decodeURIComponent(step))
  } catch {
    return undefined
  }
}

function* referencesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* referencesIn(item)
  else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      if (key === '$ref' && typeof member === 'string') yield member
      else yield* referencesIn(member)
    }
  }
}
