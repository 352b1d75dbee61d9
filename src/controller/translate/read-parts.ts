import * as z from 'zod'
import type { Field, Message } from '../../reach/checks/place.ts'
import { wordsFor } from './issues.ts'

/** A part of an object that cannot be read. */
export interface PartIssue extends Message {
  readonly path: Field
}

export interface ReadParts {
  /** Undefined if the object cannot be read at all. */
  readonly value?: unknown
  readonly issues: readonly PartIssue[]
}

/**
 * Reads an object without the parts that its schema does not know or allow, which are named by
 * `issues`. The translation rejects what such a part belongs to: it may restrict what is allowed.
 */
export function readParts(schema: z.ZodType, object: unknown): ReadParts {
  const issues: PartIssue[] = []
  const removed: Field[] = []
  let rest = object
  for (;;) {
    const parsed = z.safeParse(schema, rest)
    if (parsed.success) return { value: parsed.data, issues }
    const found = wordsFor(parsed.error.issues, rest, schema)
    // What misses a removed part is a consequence, not another mistake.
    const isNew = ({ path }: PartIssue) => !removed.some((one) => isAround(path, one))
    issues.push(...found.filter(isNew))
    const paths = parsed.error.issues.flatMap(pathsOf).map((path) => written(rest, path))
    if (paths.some((path) => path.length < 2 || path[0] !== 'spec')) return { issues }
    removed.push(...paths)
    rest = paths.reduce((value, path) => without(value, path), rest)
  }
}

function pathsOf(issue: z.core.$ZodIssue): readonly Field[] {
  return issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => [...issue.path, key])
    : [issue.path]
}

/** The innermost part around a path that is written: what is missing cannot be removed. */
function written(value: unknown, path: Field): Field {
  let at = value
  for (const [index, step] of path.entries()) {
    const isThere = typeof at === 'object' && at !== null && Object.hasOwn(at, step)
    at = isThere ? (at as Readonly<Record<PropertyKey, unknown>>)[step] : undefined
    if (at === undefined) return path.slice(0, index)
  }
  return path
}

/** Elements of lists become undefined, so that the others keep their positions. */
function without(value: unknown, [step, ...rest]: Field): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    return value.map((one, index) => (index === step ? without(one, rest) : one))
  }
  const { [step]: inner, ...others } = value as Readonly<Record<PropertyKey, unknown>>
  return rest.length === 0 ? others : { ...others, [step]: without(inner, rest) }
}

function isAround(outer: Field, inner: Field): boolean {
  return outer.every((step, index) => step === inner[index])
}
