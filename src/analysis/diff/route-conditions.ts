import type { Term } from '../../cel/check/term.ts'
import { BOOL, mapOf, STRING } from '../../cel/check/types.ts'
import { compile, environment, STAGES } from '../../cel/index.ts'
import type { Listener } from '../../model/gateway.ts'
import type { Match, ValueMatch } from '../../model/route.ts'
import { nameOf } from '../../reach/attachment.ts'
import type { Condition, OpaquePart } from '../symbolic/space.ts'

/**
 * The requests that a listener and a match of a route under one of its hostnames accept, as an
 * expression like those of rules. `nearer` are the names that other listeners of its port serve.
 */
export function routeCondition(
  listener: Listener,
  hostname: string,
  match: Match,
  nearer: readonly string[] = [],
): Condition {
  const hosts = [nameOf(listener), hostname].map(hostText)
  return matchCondition(match, [...hosts, ...nearer.map((name) => `!(${hostText(name)})`)])
}

/** The requests that match, and for which the other conditions are true. */
export function matchCondition(match: Match, others: readonly string[] = []): Condition {
  const texts = [
    ...others,
    match.method === undefined ? '' : `request.method == ${quoted(match.method)}`,
    pathText(match.path),
  ]
  const parts: OpaquePart[] = []
  if (match.path.kind === 'regex') addPattern('request.path', match.path, texts, parts)
  for (const one of firsts(match.headers, (name) => name.toLowerCase())) {
    const subject = `request.headers[${quoted(one.name)}]`
    if (one.kind === 'exact') texts.push(`${subject} == ${quoted(one.value)}`)
    else addPattern(subject, one, texts, parts)
  }
  for (const one of firsts(match.query, (name) => name)) {
    const subject = `${PARAMETERS}[${quoted(one.name)}]`
    if (one.kind === 'exact') texts.push(`${subject} == ${quoted(one.value)}`)
    else addPattern(subject, one, texts, parts)
  }
  const written = texts.filter((part) => part !== '')
  const text = written.length === 0 ? 'true' : written.map((part) => `(${part})`).join(' && ')
  return { text, term: termOf(text) as Term, parts }
}

/** The whole condition as a string, for comparing two conditions. */
export function routeText({ text, parts = [] }: Condition): string {
  return [text, ...parts.map(({ id }) => id)].join(' && ')
}

/** Gateway API: of several matches with the same name, only the first applies. */
function firsts(values: readonly ValueMatch[], canonical: (name: string) => string) {
  const seen = new Map<string, ValueMatch>()
  for (const one of values) {
    const name = canonical(one.name)
    if (!seen.has(name)) seen.set(name, one)
  }
  return [...seen.values()]
}

function hostText(name = ''): string {
  if (name === '') return ''
  if (!name.startsWith('*.')) return `request.host == ${quoted(name)}`
  const suffix = quoted(name.slice(1))
  return `request.host.endsWith(${suffix}) && request.host != ${suffix}`
}

/** A prefix ends at a segment boundary. */
function pathText({ kind, value }: Match['path']): string {
  if (kind === 'exact') return `request.path == ${quoted(value)}`
  if (kind === 'regex') return ''
  const prefix = withoutSlashes(value)
  if (prefix === '') return ''
  return `request.path == ${quoted(prefix)} || request.path.startsWith(${quoted(`${prefix}/`)})`
}

export function withoutSlashes(prefix: string): string {
  return prefix.replace(/\/+$/, '')
}

/** A pattern matches the whole value. What an invalid regular expression matches is unknown. */
function addPattern(
  subject: string,
  { value }: Pick<ValueMatch, 'value'>,
  texts: string[],
  parts: OpaquePart[],
): void {
  const isPattern = termOf(`${subject}.matches(${quoted(value)})`) !== undefined
  const whole = `${subject}.matches(${quoted(`\\A(?:${value})\\z`)})`
  if (isPattern && termOf(whole) !== undefined) texts.push(whole)
  else parts.push({ id: `${subject} ~ ${quoted(value)}`, likely: undefined })
}

/**
 * Decoded query parameters, as the matcher reads them. Only route matches have this variable, since
 * a condition on `request.query` does not mean the same.
 */
export const PARAMETERS = 'parameters'

const ENVIRONMENT = environment({
  name: 'in matches of routes',
  variables: [
    ...STAGES.traffic.variables.values(),
    { name: PARAMETERS, type: mapOf(STRING, STRING), set: 'always', doc: 'of the query' },
  ],
})

/** A condition on requests, as an expression. */
export function requestCondition(text: string): Condition | undefined {
  const term = termOf(text)
  return term && { text, term }
}

function termOf(text: string): Term | undefined {
  return compile(text, ENVIRONMENT, { expect: BOOL }).expression?.term
}

/** The string as a CEL literal. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
