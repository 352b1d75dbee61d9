import type { Type } from '../../cel/check/types.ts'

/**
 * The forms of conditions that can be analyzed. For each form it is known which values of the
 * attribute it distinguishes, so one value of each class represents the class. A condition that has
 * none of these forms, or that reads an attribute of another type, may have any outcome: nothing is
 * reported as proven because of it, and no rule that has such a part is removed.
 */
export interface Form {
  /** How it is written, for readers. */
  readonly example: string
  /** Types of the attribute. `json` is a claim or another value received as JSON. */
  readonly types: readonly Type['kind'][]
}

const ANY_TYPE: readonly Type['kind'][] = [
  'json',
  'string',
  'bool',
  'int',
  'ip',
  'list',
  'map',
  'struct',
  'bytes',
  'timestamp',
]

export const COVERED_FORMS = {
  /** A boolean by itself. */
  truth: { example: 'jwt.admin', types: ['bool', 'json'] },
  presence: { example: 'has(jwt.sub)', types: ANY_TYPE },
  key: { example: "'x-team' in request.headers", types: ['map'] },
  /** Compared with a string, a number, a boolean or null. */
  equality: { example: "jwt.sub == 'alice'", types: ['string', 'int', 'bool', 'json'] },
  choice: { example: "jwt.sub in ['alice', 'bob']", types: ['string', 'int', 'bool', 'json'] },
  address: { example: "source.address == '10.0.0.7'", types: ['ip'] },
  range: { example: "cidr('10.0.0.0/8').containsIP(source.address)", types: ['ip'] },
  /** Compared with a number, whole or not. */
  order: { example: 'jwt.level >= 2', types: ['int', 'json'] },
  prefix: { example: "request.path.startsWith('/a')", types: ['string', 'json'] },
  suffix: { example: "request.host.endsWith('.example.com')", types: ['string', 'json'] },
  /** Of a string. If `contains` may also apply to a list, it is not covered. */
  part: { example: "request.path.contains('/admin/')", types: ['string', 'json'] },
  /** With a constant regular expression that is not too large. */
  pattern: { example: "request.path.matches('^/v[0-9]+/')", types: ['string', 'json'] },
  /** Compared with a small whole number. */
  length: { example: 'size(request.path) > 2', types: ['string'] },
  /** Compared with a small whole number; for a string, a list or an object. */
  count: { example: 'size(jwt.groups) > 1', types: ['json'] },
  /** With plain words and a separator such as a space or a comma; an error for a long string. */
  word: { example: "jwt.scope.split(' ').exists(s, s == 'read')", types: ['string', 'json'] },
  /** An element of a list, or the name of a member of an object. */
  element: { example: "'eng' in jwt.groups", types: ['json', 'list'] },
  some: { example: "jwt.groups.exists(g, g == 'eng')", types: ['json', 'list'] },
  none: { example: "jwt.groups.all(g, g != 'eng')", types: ['json', 'list'] },
  every: { example: "jwt.groups.all(g, g in ['eng', 'ops'])", types: ['json'] },
  /** Compared with a list of one element, or an empty list. */
  single: { example: "jwt.groups == ['eng']", types: ['json'] },
} as const satisfies Record<string, Form>

export type FormName = keyof typeof COVERED_FORMS

export function isCoveredType(form: FormName, { kind }: Type): boolean {
  const { types }: Form = COVERED_FORMS[form]
  return types.includes(kind)
}
