import * as z from 'zod'

/** A constraint of a schema on a whole object; stored separately, for JSON Schema and the docs. */
export interface Constraint {
  /** Alias → canonical key. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Groups of keys of which exactly one is required. */
  readonly exactlyOne?: readonly (readonly string[])[]
  /** The default that is applied after the check. */
  readonly default?: unknown
}

const CONSTRAINTS = z.registry<Constraint>()

export function constraintOf(schema: z.core.$ZodType): Constraint | undefined {
  return CONSTRAINTS.get(schema as z.ZodType)
}

/** What a custom check reports in addition to the message: rule and hint. */
export interface IssueParams {
  readonly rule: 'excludes' | 'missing' | 'malformed' | 'range' | 'unsupported'
  readonly hint?: string
}

export function issue(
  input: unknown,
  message: string,
  params: IssueParams,
  path: PropertyKey[] = [],
): z.core.$ZodRawIssue {
  return { code: 'custom', input, message, params: { ...params }, path }
}

/** An object that has exactly one key of each group. */
export function oneOfKeys<T extends z.ZodType>(schema: T, ...groups: readonly string[][]): T {
  const checked = schema.check((payload) => {
    const value = payload.value as Readonly<Record<string, unknown>>
    for (const keys of groups) {
      const present = keys.filter((key) => value[key] !== undefined)
      if (present.length === 1) continue
      const choices = keys.map((key) => `\`${key}\``).join(', ')
      payload.issues.push(
        present.length === 0
          ? issue(value, `one of ${choices} must be set`, { rule: 'missing' })
          : issue(
              value,
              `${present.map((key) => `\`${key}\``).join(' and ')} are mutually exclusive`,
              { rule: 'excludes', hint: `set only one of ${choices}` },
              [present[1] as string],
            ),
      )
    }
  })
  CONSTRAINTS.add(checked, { ...constraintOf(schema), exactlyOne: groups })
  return checked
}

/**
 * A strict object whose keys have aliases: the file may contain `workers` or `workerThreads`; the
 * output has canonical keys only.
 */
export function aliased<T extends z.ZodRawShape>(
  shape: T,
  aliases: Readonly<Record<string, string>>,
) {
  type Output = z.output<z.ZodObject<T, z.core.$strict>>
  const own = (key: string) => shape[key] as z.ZodType
  const written: Shape = { ...(shape as unknown as Shape) }
  for (const [alias, key] of Object.entries(aliases)) {
    // A default would look as if both were set, so it is applied afterwards.
    written[key] = optionally(withoutDefault(own(key)))
    written[alias] = required(own(key)).optional().describe(describeAlias(key))
  }
  const checked = z.strictObject(written).check((payload) => {
    const value = payload.value as Readonly<Record<string, unknown>>
    for (const [alias, key] of Object.entries(aliases)) {
      if (value[alias] === undefined || value[key] === undefined) {
        const isMissing = value[alias] === value[key] && !own(key).safeParse(undefined).success
        if (isMissing) payload.issues.push(missing(key))
        continue
      }
      const message = `\`${alias}\` and \`${key}\` are two names for the same setting`
      const params = { rule: 'excludes', hint: `remove \`${alias}\`` } as const
      payload.issues.push(issue(value, message, params, [alias]))
    }
  })
  CONSTRAINTS.add(checked, { aliases })
  return checked.transform((value): Output => {
    const renamed: Record<string, unknown> = { ...value }
    for (const [alias, key] of Object.entries(aliases)) {
      if (renamed[alias] !== undefined) renamed[key] = renamed[alias]
      delete renamed[alias]
      if (renamed[key] === undefined && isDefaulted(own(key))) {
        renamed[key] = own(key).parse(undefined)
      }
    }
    return renamed as Output
  })
}

/** The description of another spelling of a key. */
export function describeAlias(key: string): string {
  return `An alias of \`${key}\`.`
}

/** The key that a description calls this one an alias of. */
export function aliasOf(description: string | undefined): string | undefined {
  return /^An alias of `([^`]+)`\.$/.exec(description ?? '')?.[1]
}

type Shape = Record<string, z.ZodType>

/** The issue of a missing required key without aliases. */
function missing(key: string): z.core.$ZodRawIssue {
  return { code: 'invalid_type', expected: 'nonoptional', input: undefined, path: [key] }
}

/** Optional, since an alias may be set instead. */
function optionally(schema: z.ZodType): z.ZodType {
  if (schema.safeParse(undefined).success) return schema
  return schema.optional().describe(schema.description ?? '')
}

function isDefaulted(schema: z.ZodType): schema is z.ZodPrefault<z.ZodType> {
  return schema.def.type === 'prefault'
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  if (!isDefaulted(schema)) return schema
  const optional = schema
    .unwrap()
    .optional()
    .describe(schema.description ?? '')
  CONSTRAINTS.add(optional, { default: schema.def.defaultValue })
  return optional
}

function required(schema: z.ZodType): z.ZodType {
  const isWrapped = isDefaulted(schema) || schema.def.type === 'optional'
  return isWrapped ? (schema as z.ZodOptional<z.ZodType>).unwrap() : schema
}
