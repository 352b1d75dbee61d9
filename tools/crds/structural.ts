import * as z from 'zod'
import { constraintOf } from '../../src/policies/schema.ts'

/** A part of a structural schema, in the form that the API server requires. */
export interface Structural {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Structural>>
  readonly required?: readonly string[]
  readonly items?: Structural
  readonly additionalProperties?: Structural
  readonly 'x-kubernetes-validations'?: readonly Validation[]
  readonly [key: string]: unknown
}

/** A CEL rule, and the message if it is violated. */
export interface Validation {
  readonly rule: string
  readonly message: string
}

type Json = Readonly<Record<string, unknown>>

/**
 * Converts a schema of the configuration file to canonical spelling: no key aliases, no words in
 * several cases, and no unions. `replaced` maps the path of a field to its form in Kubernetes,
 * which unions require; undefined leaves the field out.
 */
export function toStructural(
  schema: z.ZodType,
  replaced: Readonly<Record<string, Structural | undefined>> = {},
): Structural {
  const whole = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // A wrapper schema overrides the inner one only if it has its own constraints.
      const { aliases, exactlyOne, default: filledIn } = constraintOf(zodSchema) ?? {}
      if (filledIn !== undefined) jsonSchema.default = filledIn as never
      if (aliases !== undefined) Object.assign(jsonSchema, { [ALIASES]: Object.keys(aliases) })
      if (exactlyOne !== undefined) Object.assign(jsonSchema, { [EXACTLY_ONE]: exactlyOne })
    },
  }) as Json
  const unused = new Set(Object.keys(replaced))
  const converted = convert(whole, '')
  if (unused.size > 0) throw new Error(`nothing to replace at ${[...unused].join(', ')}`)
  return converted

  function convert(written: Json, path: string): Structural {
    const part = inline(written)
    const { description } = part
    const reported = typeof description === 'string' ? { description } : {}
    if (part === ANYTHING) return { ...reported, 'x-kubernetes-preserve-unknown-fields': true }
    if (part['anyOf'] !== undefined) {
      const several = listOption(part)
      if (several !== undefined) return { ...reported, ...convert(several, path) }
      return { ...reported, ...sizeOrNumber(part, path) }
    }
    if (part['type'] === 'object') return { ...reported, ...convertObject(part, path) }
    if (part['type'] === 'array') {
      const items = convert(part['items'] as Json, `${path}[]`)
      return { ...reported, type: 'array', ...pick(part, ['minItems', 'maxItems']), items }
    }
    return { ...reported, ...convertScalar(part, path) }
  }

  function convertObject(part: Json, path: string): Structural {
    const { additionalProperties } = part
    if (typeof additionalProperties === 'object' && additionalProperties !== null) {
      const values = convert(additionalProperties as Json, `${path}{}`)
      return { type: 'object', maxProperties: 256, additionalProperties: values }
    }
    const aliases = (part[ALIASES] ?? []) as readonly string[]
    const properties: Record<string, Structural> = {}
    for (const [name, member] of Object.entries((part['properties'] ?? {}) as Json)) {
      const at = path === '' ? name : `${path}.${name}`
      if (aliases.includes(name)) continue
      if (at in replaced) {
        unused.delete(at)
        const own = replaced[at]
        if (own !== undefined) properties[name] = own
      } else properties[name] = convert(member as Json, at)
    }
    const required = ((part['required'] ?? []) as string[]).filter((name) => name in properties)
    const groups = ((part[EXACTLY_ONE] ?? []) as string[][]).map((keys) => {
      return keys.filter((key) => key in properties)
    })
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      properties,
      ...validated(groups.filter((keys) => keys.length > 0).map(exactlyOne)),
    }
  }

  function inline(part: Json): Json {
    const ref = part['$ref']
    if (typeof ref !== 'string') return part
    const name = ref.replace('#/$defs/', '')
    if (name === 'anything') return ANYTHING
    const found = (whole['$defs'] as Json | undefined)?.[name]
    if (found === undefined) throw new Error(`no definition of ${name}`)
    const { $ref: _, ...own } = part
    return { ...inline(found as Json), ...own }
  }
}

const ALIASES = 'x-aliases'
const EXACTLY_ONE = 'x-exactly-one'
const ANYTHING: Json = {}

/** Picks the list if a file accepts one item or a list. */
function listOption(part: Json): Json | undefined {
  const options = part['anyOf'] as readonly Json[]
  return options.length === 2 ? options.find(({ type }) => type === 'array') : undefined
}

/** A size is a number of bytes or a string: the only union that Kubernetes supports, too. */
function sizeOrNumber(part: Json, path: string): Structural {
  const options = part['anyOf'] as readonly Json[]
  const [number, text] = options
  if (options.length !== 2 || number?.['type'] !== 'integer' || text?.['type'] !== 'string') {
    throw new Error(`${path} may be several things: say which one it is in Kubernetes`)
  }
  return {
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern: text['pattern'],
    ...defaultOf(part),
  }
}

function convertScalar(part: Json, path: string): Structural {
  const { type, const: only } = part
  const words = only === undefined ? part['enum'] : [only]
  const kind = type ?? typeof (words as readonly unknown[] | undefined)?.[0]
  if (kind !== 'string' && kind !== 'integer' && kind !== 'number' && kind !== 'boolean') {
    throw new Error(`${path} has no type that Kubernetes knows`)
  }
  return {
    type: Array.isArray(words) && words.every(Number.isInteger) ? 'integer' : kind,
    ...(Array.isArray(words) ? { enum: canonical(words) } : {}),
    ...pick(part, ['pattern', 'minLength', 'maxLength', 'minimum', 'maximum']),
    ...defaultOf(part),
  }
}

/** Keeps `Strict` and drops its alias `strict`. */
function canonical(words: readonly unknown[]): readonly unknown[] {
  const byLowerCase = new Map<unknown, unknown>()
  for (const word of words) {
    const key = typeof word === 'string' ? word.toLowerCase() : word
    if (!byLowerCase.has(key)) byLowerCase.set(key, word)
  }
  return [...byLowerCase.values()]
}

function defaultOf({ default: value }: Json): { readonly default?: unknown } {
  return value === undefined || typeof value === 'object' ? {} : { default: value }
}

/** Leaves out bounds that are only the limits of JavaScript numbers. */
function pick(part: Json, keys: readonly string[]): Json {
  const own = keys.filter((key) => {
    return part[key] !== undefined && Math.abs(Number(part[key])) !== Number.MAX_SAFE_INTEGER
  })
  return Object.fromEntries(own.map((key) => [key, part[key]]))
}

export function exactlyOne(keys: readonly string[]): Validation {
  return { rule: `${countOf(keys)} == 1`, message: `exactly one of ${listOf(keys)} must be set` }
}

export function atMostOne(...keys: readonly string[]): Validation {
  return { rule: `${countOf(keys)} <= 1`, message: `at most one of ${listOf(keys)} can be set` }
}

export function atLeastOne(...keys: readonly string[]): Validation {
  const rule = keys.map((key) => `has(self.${key})`).join(' || ')
  return { rule, message: `at least one of ${listOf(keys)} must be set` }
}

function countOf(keys: readonly string[]): string {
  return `[${keys.map((key) => `has(self.${key})`).join(', ')}].filter(isSet, isSet).size()`
}

function listOf(keys: readonly string[]): string {
  return keys.join(', ')
}

export function validated(validations: readonly Validation[]) {
  return validations.length === 0 ? {} : { 'x-kubernetes-validations': validations }
}

/** A mapping; members whose name ends with `!` are required. */
export function object(
  description: string,
  members: Readonly<Record<string, Structural>>,
  ...validations: readonly Validation[]
): Structural {
  const names = Object.keys(members)
  const required = names.filter((name) => name.endsWith('!')).map((name) => name.slice(0, -1))
  return {
    description,
    type: 'object',
    ...(required.length > 0 ? { required } : {}),
    properties: Object.fromEntries(
      Object.entries(members).map(([name, member]) => [name.replace(/!$/, ''), member]),
    ),
    ...validated(validations),
  }
}

export function list(
  description: string,
  items: Structural,
  minItems: number,
  maxItems: number,
): Structural {
  return { description, type: 'array', minItems, maxItems, items }
}

export function text(
  description: string,
  rest: Readonly<Record<string, unknown>> = {},
): Structural {
  return { description, type: 'string', minLength: 1, maxLength: 1024, ...rest }
}

export function words(
  description: string,
  values: readonly string[],
  initial?: string,
): Structural {
  return {
    description,
    type: 'string',
    enum: values,
    ...(initial === undefined ? {} : { default: initial }),
  }
}

export function flag(description: string, initial?: boolean): Structural {
  return { description, type: 'boolean', ...(initial === undefined ? {} : { default: initial }) }
}

export function number(description: string, minimum: number, maximum: number): Structural {
  return { description, type: 'integer', format: 'int32', minimum, maximum }
}

/** An object whose content is validated elsewhere. */
export function opaque(description: string): Structural {
  return { description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
}
