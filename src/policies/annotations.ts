import * as z from 'zod'
import type { Stage } from '../cel/index.ts'

/** What a reader of the configuration must know of a value beyond its shape. */
export type Annotation =
  | {
      readonly is: 'expression'
      readonly result: ResultType
      /** Where it is not the stage of the section that the policy stands in. */
      readonly stage?: Stage
    }
  /** The path of a file whose text becomes part of the Model. */
  | { readonly is: 'path' }
  /** The name of a backend. */
  | { readonly is: 'backend' }

export type ResultType = 'bool' | 'string' | 'any'

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

/** Every annotated value of an input that the schema accepts, in the order of the schema. */
export function findAnnotated(schema: z.core.$ZodType, input: unknown): readonly Found[] {
  const found: Found[] = []
  visit(schema, input, [])
  return found

  function visit(at: z.core.$ZodType, value: unknown, path: readonly PropertyKey[]): void {
    if (value === undefined || !holdsAnnotations(at)) return
    const annotation = annotationOf(at)
    if (annotation !== undefined) found.push({ annotation, path, value })
    for (const [inner, member, key] of partsOf(at, value)) {
      visit(inner, member, key === undefined ? path : [...path, key])
    }
  }
}

const HOLDING = new WeakMap<z.core.$ZodType, boolean>()

/** Most of a large configuration has nothing to look for. */
function holdsAnnotations(schema: z.core.$ZodType): boolean {
  const known = HOLDING.get(schema)
  if (known !== undefined) return known
  HOLDING.set(schema, false)
  const holds = annotationOf(schema) !== undefined || innerOf(schema).some(holdsAnnotations)
  HOLDING.set(schema, holds)
  return holds
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
