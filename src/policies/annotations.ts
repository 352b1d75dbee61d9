import * as z from 'zod'
import type { Stage } from '../cel/index.ts'

/** What a reader of the configuration must know about a value beyond its shape. */
export type Annotation =
  | {
      readonly is: 'expression'
      readonly result: ResultType
      /** If it differs from the stage of the section that contains the policy. */
      readonly stage?: Stage
    }
  /** The path of a file whose content becomes part of the Model. */
  | { readonly is: 'path'; readonly check?: CheckText }
  /** Usable by anyone who can read the file, unless it comes from the environment. */
  | { readonly is: 'credential'; readonly hint: string }
  /** Never shown, and encrypted at rest. */
  | { readonly is: 'secret' }
  /** The name of a backend. */
  | { readonly is: 'backend' }

/** Returns what is wrong with the content of a file, if anything. */
export type CheckText = (
  text: string,
) => { readonly message: string; readonly hint: string } | undefined

/** `rule` is a bool that has the same value for the same request whenever it is evaluated. */
export type ResultType = 'bool' | 'rule' | 'string' | 'any'

const ANNOTATIONS = z.registry<Annotation>()

export function annotate<T extends z.ZodType>(schema: T, annotation: Annotation): T {
  ANNOTATIONS.add(schema, annotation)
  return schema
}

export function annotationOf(schema: z.core.$ZodType): Annotation | undefined {
  return ANNOTATIONS.get(schema as z.ZodType)
}

export interface Found {
  readonly annotation: Annotation
  readonly path: readonly PropertyKey[]
  readonly value: unknown
}

/** Every annotated value of an input that the schema accepts, in schema order. */
export function findAnnotated(schema: z.core.$ZodType, input: unknown): readonly Found[] {
  const found: Found[] = []
  visit(schema, input, [])
  return found

  function visit(at: z.core.$ZodType, value: unknown, path: readonly PropertyKey[]): void {
    if (value === undefined) return
    const { annotation, holds } = known(at)
    if (!holds) return
    if (annotation !== undefined) found.push({ annotation, path, value })
    for (const [inner, member, key] of partsOf(at, value)) {
      visit(inner, member, key === undefined ? path : [...path, key])
    }
  }
}

/** What is known about a schema, computed once: most of a configuration contains no annotations. */
interface Known {
  readonly annotation: Annotation | undefined
  holds: boolean
}

const KNOWN = new WeakMap<z.core.$ZodType, Known>()

function known(schema: z.core.$ZodType): Known {
  const found = KNOWN.get(schema)
  if (found !== undefined) return found
  const annotation = ANNOTATIONS.get(schema as z.ZodType)
  const made: Known = { annotation, holds: annotation !== undefined }
  KNOWN.set(schema, made)
  made.holds ||= innerOf(schema).some((inner) => known(inner).holds)
  return made
}

function innerOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'prefault':
    case 'readonly':
      return [def.innerType]
    case 'pipe':
      return [def.in]
    case 'object':
      return Object.values(def.shape)
    case 'record':
      return [def.valueType]
    case 'array':
      return [def.element]
    case 'union':
      return def.options
    default:
      return []
  }
}

type Part = readonly [schema: z.core.$ZodType, value: unknown, key?: PropertyKey]

function partsOf(schema: z.core.$ZodType, value: unknown): readonly Part[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'prefault':
    case 'readonly':
      return [[def.innerType, value]]
    case 'pipe':
      return [[def.in, value]]
    case 'object':
      return membersOf(value).flatMap(([key, member]) => {
        const inner = def.shape[key]
        return inner === undefined ? [] : [[inner, member, key] as const]
      })
    case 'record':
      return membersOf(value).map(([key, member]) => [def.valueType, member, key] as const)
    case 'array':
      if (!Array.isArray(value)) return []
      return value.map((item, index) => [def.element, item, index] as const)
    case 'union': {
      const option = def.options.find((one) => z.safeParse(one, value).success)
      return option === undefined ? [] : [[option, value]]
    }
    default:
      return []
  }
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
