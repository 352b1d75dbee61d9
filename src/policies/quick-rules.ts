import type { Action } from '../cel/index.ts'
import type { Found } from './annotations.ts'
import type { Authorization, AuthorizationRule } from './authorization-rules.ts'

/** The output of a schema for a value, with its annotated members. */
export interface QuickPolicy {
  readonly data: unknown
  readonly found: readonly Found[]
}

/**
 * Parses rules in the form that nearly all of thousands of routes use, `{rules: [{allow: …}]}`,
 * without the schema, which takes about ten times as long. Undefined for any other form and for any
 * error: the schema then decides. For everything that this accepts, both have the same result:
 * test/fuzz/quick-rules.test.ts.
 */
export function readQuickRules(value: unknown): QuickPolicy | undefined {
  const written = onlyMember(value)
  if (written?.[0] !== 'rules' || !Array.isArray(written[1])) return undefined
  const list: readonly unknown[] = written[1]
  if (list.length === 0 || list.length > MAX_RULES) return undefined
  const rules: AuthorizationRule[] = []
  const found: Found[] = []
  for (let index = 0; index < list.length; index++) {
    const [key, expression] = onlyMember(list[index]) ?? []
    const action = key === undefined ? undefined : ACTIONS.get(key)
    if (action === undefined || typeof expression !== 'string') return undefined
    if (expression === '' || expression.length > MAX_LENGTH) return undefined
    rules.push({ action, expression, field: `rules[${index}].${key}` })
    found.push({ annotation: RULE, path: ['rules', index, key as string], value: expression })
  }
  const data: Authorization = { rules, mode: 'Enforce' }
  return { data, found }
}

const RULE = { is: 'expression', result: 'rule' } as const
const ACTIONS: ReadonlyMap<string, Action> = new Map([
  ['allow', 'Allow'],
  ['require', 'Require'],
  ['deny', 'Deny'],
])
const MAX_RULES = 64
const MAX_LENGTH = 16_384

function onlyMember(value: unknown): readonly [key: string, member: unknown] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const [key, ...others] = Object.keys(value)
  if (key === undefined || others.length > 0) return undefined
  return [key, (value as Readonly<Record<string, unknown>>)[key]]
}
