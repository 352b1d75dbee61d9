import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { nearestName } from '../../diagnostics/nearest.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import type { Attached, Level, Section } from '../../model/policy.ts'
import {
  checkExpression,
  findAnnotated,
  isConditional,
  POLICY_SCHEMAS,
  type PolicySchema,
  STAGE_OF_SECTION,
} from '../../policies/schema.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import { type Converted, NotConvertible } from './converter.ts'
import { wordsFor } from './issues.ts'
import { CONVERTERS, isAsInFile } from './policy-values.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import { type ClusterView, complaint, fieldOf, originOf, type Read } from './view.ts'

export interface SectionContext {
  readonly view: ClusterView
  /** The object that contains the policies. */
  readonly read: Read
  readonly resolve: (ref: ObjectBackendRef, field: string) => ResolvedRef
}

export interface SectionPlace {
  /** `spec.traffic` */
  readonly field: string
  readonly section: Section
  readonly level: Level
  /** The name of the policy in the Model. */
  readonly policy: string
}

export interface ReadSection {
  readonly policies: readonly Attached[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The policies of a section of an object, each read separately, in the order of execution: an
 * invalid policy denies what it guards, and the others still apply.
 */
export function readPolicySection(
  context: SectionContext,
  value: unknown,
  place: SectionPlace,
): ReadSection {
  const found: { readonly policy: Attached; readonly order: number }[] = []
  const diagnostics: Diagnostic[] = []
  for (const [key, written] of Object.entries((value ?? {}) as Readonly<Record<string, unknown>>)) {
    if (written === undefined) continue
    for (const converted of convert(context, key, written, place)) {
      const one = readOne(context, converted, place)
      diagnostics.push(...one.diagnostics)
      const order = POLICY_SCHEMAS.findIndex(({ kind }) => kind === converted.kind)
      found.push({ policy: one.policy, order })
    }
  }
  found.sort((a, b) => a.order - b.order)
  return { policies: found.map(({ policy }) => policy), diagnostics }
}

export type Attempt =
  | Converted
  | { readonly kind: string; readonly field: string; readonly problem: Diagnostic }

/** Converts a Kubernetes key to the form in files. */
function convert(
  { view, read, resolve }: SectionContext,
  key: string,
  value: unknown,
  { field, section }: SectionPlace,
): readonly Attempt[] {
  const at = `${field}.${key}`
  const converter = CONVERTERS[section][key]
  if (converter === undefined && isAsInFile(key, section)) return [{ kind: key, field: at, value }]
  if (converter === undefined) {
    const known = [...Object.keys(CONVERTERS[section])]
    const meant = nearestName(key, known)
    const hint =
      meant === undefined ? `available: ${known.join(', ')}` : `did you mean \`${meant}\`?`
    const problem = complaint(read, at, 'PC0701', `unknown policy \`${key}\``, hint)
    // It is unknown what the policy should guard, so everything is denied.
    return [
      {
        kind: section === 'frontend' ? 'networkAuthorization' : 'authorization',
        field: at,
        problem,
      },
    ]
  }
  try {
    return converter(value, {
      field: at,
      namespace: read.namespace,
      view,
      resolve: (ref, inner) => resolve(ref, `${at}.${inner}`),
    })
  } catch (error) {
    if (!(error instanceof NotConvertible)) throw error
    const problem = complaint(read, error.field, error.code, error.message, error.hint)
    return [{ kind: error.kind, field: at, problem }]
  }
}

/** One policy, whatever it was converted from. */
export function readOne(
  { read }: Pick<SectionContext, 'read'>,
  converted: Attempt,
  { section, level, policy }: Omit<SectionPlace, 'field'>,
): ReadPolicy {
  const { kind, field } = converted
  const identity = { kind, section, level, policy, origin: originOf(read, field) }
  const invalid = (diagnostics: readonly Diagnostic[]) => ({
    policy: { ...identity, state: 'invalid', diagnostics } as const,
    diagnostics,
  })
  if ('problem' in converted) return invalid([converted.problem])
  const record = POLICY_SCHEMAS.find((one) => one.kind === kind) as PolicySchema
  if (!record.sections[section]?.includes(level)) {
    const levels = record.sections[section]?.join(', ') ?? 'other sections'
    const message = `\`${kind}\` cannot be set on this target; available targets: ${levels}`
    return invalid([complaint(read, field, 'PC0707', message)])
  }
  const checked = check(read, converted, record, section)
  // The same policy at the same place is the same object again, so that its users can be reused,
  // too.
  const place = `${level} ${policy}`
  const known = checked.placed.get(place)
  if (known !== undefined) return known
  const made =
    checked.value === undefined
      ? invalid(checked.diagnostics)
      : {
          policy: { ...identity, state: 'valid', value: checked.value } as const,
          diagnostics: checked.diagnostics,
        }
  checked.placed.set(place, made)
  return made
}

interface Checked {
  readonly value?: unknown
  readonly diagnostics: readonly Diagnostic[]
  /** Keyed by level and name. */
  readonly placed: Map<string, ReadPolicy>
}

interface ReadPolicy {
  readonly policy: Attached
  readonly diagnostics: readonly Diagnostic[]
}

interface Memory {
  readonly value: unknown
  readonly text: string
  readonly result: Checked
}

/** Object → place → the input and the result: compiling expressions is slow. */
const CHECKED = new WeakMap<object, Map<string, Memory>>()

function check(read: Read, converted: Converted, record: PolicySchema, section: Section): Checked {
  const { value, kind, field } = converted
  const id = `${section} ${kind} ${field}`
  let known = CHECKED.get(read.object)
  if (known === undefined) CHECKED.set(read.object, (known = new Map()))
  const found = known.get(id)
  // Most values are parts of the object itself; the others include values from Secrets.
  if (found !== undefined && found.value === value) return found.result
  const text = JSON.stringify(value)
  if (found !== undefined && found.text === text) return found.result
  const result = { ...checkAnew(read, converted, record, section), placed: new Map() }
  known.set(id, { value, text, result })
  return result
}

function checkAnew(
  read: Read,
  { value, field, places }: Converted,
  record: PolicySchema,
  section: Section,
): Omit<Checked, 'placed'> {
  const schema = formOf(record, value)
  const placeOf = (path: readonly PropertyKey[]) => {
    const inner = fieldOf(path)
    const renamed = places?.(inner) ?? inner
    return renamed === '' ? field : `${field}${renamed.startsWith('[') ? '' : '.'}${renamed}`
  }
  const parsed = z.safeParse(schema, value)
  if (!parsed.success) {
    const diagnostics = wordsFor(parsed.error.issues, value, schema).map((one) =>
      complaint(read, placeOf(one.path), 'PC0701', one.message, one.hint),
    )
    return { diagnostics }
  }
  const usual = record.stage ?? STAGE_OF_SECTION[section]
  const diagnostics = findAnnotated(schema, value).flatMap(({ annotation, path, value: inner }) => {
    if (annotation.is !== 'expression' || typeof inner !== 'string') return []
    const { result, stage = usual } = annotation
    const origin = originOf(read, placeOf(path))
    return checkExpression(inner, stage, result, () => origin)
  })
  if (hasErrors(diagnostics)) return { diagnostics }
  return { value: parsed.data, diagnostics }
}

/** The schema of the form that was used, so that messages mention only that form. */
function formOf({ schema, plain }: PolicySchema, value: unknown): z.ZodType {
  if (plain === undefined) return schema
  if (!isConditional(value)) return plain
  const listed = schema instanceof z.ZodUnion ? schema.options.at(-1) : undefined
  return listed instanceof z.ZodType ? listed : schema
}
