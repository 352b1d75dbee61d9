import type { PathPattern } from './path-patterns.ts'

/** What all requests that a rule is for have in common. */
export interface RuleParts {
  readonly methods: readonly string[]
  /** Undefined if a path was too long for its record. */
  readonly patterns: readonly PathPattern[] | undefined
  readonly conditions: readonly string[]
}

export function writeRule({ methods, patterns, conditions }: RuleParts): string {
  return [
    ...(methods.length === 0 ? [] : [oneOf('request.method', methods)]),
    ...(patterns === undefined ? [] : [pathCondition(patterns)]),
    ...conditions,
  ].join(' && ')
}

/** `x == 'a'`, or `x in ['a', 'b']`. */
export function oneOf(name: string, values: readonly (string | boolean)[]): string {
  const texts = values.map((value) => (typeof value === 'string' ? quoted(value) : String(value)))
  return texts.length === 1 ? `${name} == ${texts[0]}` : `${name} in [${texts.join(', ')}]`
}

function pathCondition(patterns: readonly PathPattern[]): string {
  const isExact = (pattern: PathPattern) => !pattern.includes(undefined)
  const exact = patterns.filter(isExact).map((pattern) => pattern.join('/'))
  const varying = patterns.filter((pattern) => !isExact(pattern)).map(regexOf)
  const alternatives = [
    ...(exact.length === 0 ? [] : [oneOf('request.path', exact)]),
    ...varying.map((regex) => `request.path.matches(${quoted(regex)})`),
  ]
  return alternatives.length === 1 ? (alternatives[0] as string) : `(${alternatives.join(' || ')})`
}

function regexOf(pattern: PathPattern): string {
  const segments = pattern.map((one) =>
    one === undefined ? '[^/]+' : one.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  )
  return `^${segments.join('/')}$`
}

/** A CEL string literal. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner}'`
}

/** `jwt.sub`, or `jwt['a-b']`. */
export function memberOf(name: string, member: string): string {
  return /^[A-Za-z_]\w*$/.test(member) ? `${name}.${member}` : `${name}[${quoted(member)}]`
}
