import * as z from 'zod'

/** What a schema says of an object as a whole; kept beside it, for JSON Schema and the docs. */
export interface Constraint {
  /** Other spelling → canonical key. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Groups of keys of which exactly one must be there. */
  readonly exactlyOne?: readonly (readonly string[])[]
}

const CONSTRAINTS = z.registry<Constraint>()

export function constraintOf(schema: z.core.$ZodType): Constraint | undefined {
  return CONSTRAINTS.get(schema as z.ZodType)
}

/** What a check of ours tells the reader of the issues: rule and hint, beside the message. */
export interface IssueParams {
  readonly rule: 'excludes' | 'missing' | 'malformed' | 'range'
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
              `${present.map((key) => `\`${key}\``).join(' and ')} exclude each other`,
              { rule: 'excludes', hint: `keep one of ${choices}` },
              [present[1] as string],
            ),
      )
    }
  })
  CONSTRAINTS.add(checked, { ...constraintOf(schema), exactlyOne: groups })
  return checked
}

/**
 * A strict object whose keys have other spellings too: the file may say `jwtAuth` or
 * `workerThreads`, what comes out has canonical keys only.
 */
export function aliased<T extends z.ZodRawShape>(
  shape: T,
  aliases: Readonly<Record<string, string>>,
) {
  const others = Object.entries(aliases).map(([alias, key]) => {
    const schema = shape[key] as z.ZodType
    const inner = isOptional(schema) ? unwrapped(schema) : schema
    return [alias, inner.optional().describe(`The same as \`${key}\`.`)] as const
  })
  type Output = z.output<z.ZodObject<T, z.core.$strict>>
  const object = z.strictObject({ ...shape, ...Object.fromEntries(others) })
  const checked = object.check((payload) => {
    const value = payload.value as Readonly<Record<string, unknown>>
    for (const [alias, key] of Object.entries(aliases)) {
      if (value[alias] === undefined || value[key] === undefined) continue
      if (isDefaulted(shape[key] as z.ZodType)) continue
      payload.issues.push(
        issue(
          value,
          `\`${alias}\` and \`${key}\` are the same thing, given twice`,
          { rule: 'excludes', hint: `keep \`${key}\`` },
          [alias],
        ),
      )
    }
  })
  CONSTRAINTS.add(checked, { aliases })
  return checked.transform((value): Output => {
    const renamed: Record<string, unknown> = { ...value }
    for (const [alias, key] of Object.entries(aliases)) {
      if (renamed[alias] === undefined) continue
      renamed[key] = renamed[alias]
      delete renamed[alias]
    }
    return renamed as Output
  })
}

function isOptional(schema: z.ZodType): boolean {
  return schema.def.type === 'optional' || isDefaulted(schema)
}

function isDefaulted(schema: z.ZodType): boolean {
  return schema.def.type === 'default'
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return (schema as z.ZodOptional<z.ZodType>).unwrap()
}
