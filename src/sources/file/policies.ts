import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { nearestName } from '../../diagnostics/nearest.ts'
import type { Attached, Level, Section } from '../../model/policy.ts'
import {
  describeAlias,
  POLICY_SCHEMAS,
  type PolicySchema,
  STAGE_OF_SECTION,
} from '../../policies/schema.ts'
import { complain, parseAt, type Reading } from './reading.ts'
import type { SectionNode } from './section-node.ts'
import { UNSUPPORTED_POLICIES, unsupportedPolicy } from './unsupported-keys.ts'

export interface PolicyPlace {
  /** In lookup order of keys: on a route, `traffic` before `backend`. */
  readonly sections: readonly Section[]
  readonly level: Level
  /** The name of the policy that these fields belong to; with a colon if it has no name. */
  readonly policy: string
  /** The keys of the mapping that are policies; all keys by default. */
  readonly keys?: readonly string[]
  /** Additional names of keys at this place: `tls` for `backendTLS`. */
  readonly spellings?: Readonly<Record<string, string>>
}

const anyMapping = z.looseObject({})

/** Reads the fields of a mapping, each a separate policy, in execution order. */
export function readPolicies(
  reading: Reading,
  node: SectionNode,
  place: PolicyPlace,
): readonly Attached[] {
  const { value } = node
  if (value === undefined) return []
  if (value === null) {
    const message = 'empty section: no policies are defined'
    complain(reading, node, { code: 'PC0225', severity: 'warning', message }, 'key')
    return []
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    const { diagnostics } = parseAt(reading, anyMapping, node)
    return [invalidPolicy(node, 'policies', place, diagnostics)]
  }
  const found: Found[] = []
  for (const key of Object.keys(value)) {
    if (place.keys !== undefined && !place.keys.includes(key)) continue
    const member = (value as Readonly<Record<string, unknown>>)[key]
    for (const steps of keysBehind(key, member, place)) {
      const one = readKey(reading, node.inner(...steps), steps.join('.'), place, found)
      if (one !== undefined) found.push(one)
    }
  }
  // Most places have only one.
  if (found.length > 1) found.sort((a, b) => a.order - b.order)
  return found.map(({ policy }) => policy)
}

interface Found {
  readonly kind: string
  readonly key: string
  /** The position in execution order. */
  readonly order: number
  readonly policy: Attached
}

/** Undefined if the key is skipped. */
function readKey(
  reading: Reading,
  at: SectionNode,
  key: string,
  place: PolicyPlace,
  before: readonly Found[],
): Found | undefined {
  const known = lookUp(key, place)
  if (known === undefined) {
    const said = complain(reading, at, unknownKind(key, place), 'key')
    return { kind: '', key, order: -1, policy: invalidPolicy(at, key, place, [said]) }
  }
  const [schema, section] = known
  const { kind } = schema
  const twin = before.findLast((one) => one.kind === kind)
  if (twin !== undefined) {
    const message = `\`${twin.key}\` and \`${key}\` are two names for the same setting`
    const said = complain(
      reading,
      at,
      { code: 'PC0216', message, hint: 'remove one of them' },
      'key',
    )
    return {
      kind,
      key,
      order: -1,
      policy: invalidPolicy(at, kind, place, [said], section),
    }
  }
  const policy = readOne(reading, at, schema, section, place)
  return { kind, key, order: POLICY_SCHEMAS.indexOf(schema), policy }
}

/**
 * The key of a policy. For a mapping that only groups policies, its own key and those within. A
 * policy may also contain others: `ai.promptGuard` is a separate policy.
 */
function keysBehind(
  key: string,
  value: unknown,
  place: PolicyPlace,
): readonly (readonly string[])[] {
  const grouped = GROUPS.get(key)
  if (grouped === undefined || typeof value !== 'object' || value === null) return [[key]]
  if (Array.isArray(value)) return [[key]]
  const inner = Object.keys(value)
  if (lookUp(key, place) === undefined) return inner.map((one) => [key, one])
  return [[key], ...inner.filter((one) => grouped.includes(one)).map((one) => [key, one])]
}

/** Nested keys that are separate policies, by the outer key. */
const GROUPS: ReadonlyMap<string, readonly string[]> = groupedKeys()

function groupedKeys(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const alias of POLICY_SCHEMAS.flatMap(({ aliases }) => aliases)) {
    const [outer = '', inner] = alias.split('.')
    if (inner !== undefined) found.set(outer, [...(found.get(outer) ?? []), inner])
  }
  return found
}

function readOne(
  reading: Reading,
  node: SectionNode,
  { kind, key, schema, stage, quick }: PolicySchema,
  section: Section,
  place: PolicyPlace,
): Attached {
  const except = GROUPS.get(key)
  const { value, diagnostics } = parseAt(reading, schema, node, {
    stage: stage ?? STAGE_OF_SECTION[section],
    isRepeated: true,
    quick,
    ...(except === undefined ? {} : { except }),
  })
  if (value === undefined) return invalidPolicy(node, kind, place, diagnostics, section)
  const { level, policy } = place
  const origin = node.origin
  return {
    state: 'valid',
    kind,
    section,
    level,
    policy,
    origin,
    value,
  }
}

/** A policy that denies everything it would have guarded. */
export function invalidPolicy(
  node: SectionNode,
  kind: string,
  { sections, level, policy }: PolicyPlace,
  diagnostics: readonly Diagnostic[],
  section: Section = sections[0] as Section,
): Attached {
  const origin = node.origin
  return { state: 'invalid', kind, section, level, policy, origin, diagnostics }
}

type KnownPolicy = readonly [schema: PolicySchema, section: Section]

/** The policies of a place, by key. */
const PLACED = new Map<string, ReadonlyMap<string, KnownPolicy>>()

function lookUp(key: string, { sections, level, spellings }: PolicyPlace): KnownPolicy | undefined {
  const place = `${level} ${sections.join()}`
  let known = PLACED.get(place)
  if (known === undefined) PLACED.set(place, (known = policiesAt(sections, level)))
  return known.get(spellings?.[key] ?? key)
}

function policiesAt(sections: readonly Section[], level: Level): ReadonlyMap<string, KnownPolicy> {
  const found = new Map<string, KnownPolicy>()
  for (const section of sections) {
    for (const schema of POLICY_SCHEMAS) {
      if (!schema.sections[section]?.includes(level)) continue
      for (const name of [schema.key, ...schema.aliases]) {
        if (!found.has(name)) found.set(name, [schema, section])
      }
    }
  }
  return found
}

/** The kind of policy that a key refers to at a place. */
export function kindAt(key: string, place: PolicyPlace): string | undefined {
  return lookUp(key, place)?.[0].kind
}

function isNamed({ key, aliases }: PolicySchema, name: string): boolean {
  return key === name || aliases.includes(name)
}

/** The policy keys at a place, including other spellings. */
function policyKeys(sections: readonly Section[], level: Level): readonly string[] {
  return POLICY_SCHEMAS.filter((schema) =>
    sections.some((section) => schema.sections[section]?.includes(level)),
  ).flatMap(({ key, aliases }) => [key, ...aliases])
}

function unknownKind(key: string, { sections, level }: PolicyPlace) {
  const elsewhere = POLICY_SCHEMAS.filter((schema) => isNamed(schema, key))
  if (elsewhere.length > 0) {
    const places = new Set(elsewhere.flatMap(({ sections }) => Object.keys(sections) as Section[]))
    const hint = `set it ${[...places].map((section) => PLACES[section]).join(', or ')}`
    return { code: 'PC0309', message: `\`${key}\` cannot be set here`, hint }
  }
  if (UNSUPPORTED_POLICIES.includes(key)) return unsupportedPolicy(key)
  const meant = nearestName(key, policyKeys(sections, level))
  const guess = meant === undefined ? undefined : `did you mean \`${meant}\`?`
  const hint = IN_KUBERNETES.get(key) ?? guess
  return { code: 'PC0210', message: `unknown policy \`${key}\``, hint }
}

/** Names that Kubernetes resources use for policies that have other names in files. */
const IN_KUBERNETES: ReadonlyMap<string, string> = new Map([
  ['headerModifiers', 'use `requestHeaders` and `responseHeaders`, which accept the same lists'],
])

const PLACES: Readonly<Record<Section, string>> = {
  frontend: 'under `frontendPolicies` of the file or of a gateway',
  traffic: 'under `policies` of a gateway, listener or route',
  backend: 'under `policies` of a backend, provider or route',
}

const MAPPINGS = new Map<string, z.ZodObject>()

/** The schema of a mapping of all policies allowed at a place. */
export function policiesSchema(sections: readonly Section[], level: Level): z.ZodObject {
  const id = `${level}-${sections.join('-')}-policies`
  const known = MAPPINGS.get(id)
  if (known !== undefined) return known
  const made = lazyObject(() => policyShape(sections, level)).meta({ id })
  MAPPINGS.set(id, made)
  return made
}

/**
 * A strict object whose members are created on demand. Policies are read one by one: the schema of
 * all policies at every place is only for editors and the reference, and would take a tenth of the
 * startup time.
 */
function lazyObject(shapeOf: () => Record<string, z.ZodType>): z.ZodObject {
  let made: Record<string, z.ZodType> | undefined
  return new z.ZodObject({
    type: 'object',
    catchall: z.never(),
    get shape() {
      made ??= shapeOf()
      return made
    },
  })
}

export function policyShape(sections: readonly Section[], level: Level, kinds?: readonly string[]) {
  const shape: Record<string, z.ZodType> = {}
  for (const section of sections) {
    for (const { kind, key, aliases, schema, ...rest } of POLICY_SCHEMAS) {
      if (shape[key] !== undefined || !rest.sections[section]?.includes(level)) continue
      if (kinds !== undefined && !kinds.includes(kind)) continue
      shape[key] = schema.optional()
      for (const alias of aliases) {
        const [outer = alias, inner] = alias.split('.')
        const same = schema.optional().describe(describeAlias(key))
        shape[outer] = inner === undefined ? same : beside(shape[outer], { [inner]: same })
      }
    }
  }
  return shape
}

/** Adds members to a known policy. */
function beside(known: z.ZodType | undefined, more: z.ZodRawShape): z.ZodType {
  const own = known instanceof z.ZodOptional ? known.unwrap() : undefined
  if (!(own instanceof z.ZodObject)) return z.strictObject(more).optional()
  return own
    .extend(more)
    .optional()
    .describe(own.description ?? '')
}
