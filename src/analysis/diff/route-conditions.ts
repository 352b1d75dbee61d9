import { compile, STAGES } from '../../cel/index.ts'
import type { Listener } from '../../model/gateway.ts'
import type { Match, Route, ValueMatch } from '../../model/route.ts'
import type { Condition } from '../symbolic/space.ts'

/** When a listener and a match of a route take a request, as an expression like those of rules. */
export function routeCondition(listener: Listener, route: Route, match: Match): Condition {
  const parts = [
    hostText(listener.hostname === undefined ? [] : [listener.hostname]),
    hostText(route.hostnames),
    pathText(match.path),
    match.method === undefined ? '' : `request.method == ${quoted(match.method)}`,
    ...match.headers.map((one) => valueText(`request.headers[${quoted(one.name)}]`, one)),
    ...match.query.map(queryText),
  ].filter((part) => part !== '')
  const text = parts.length === 0 ? 'true' : parts.map((part) => `(${part})`).join(' && ')
  const { expression, diagnostics } = compile(text, STAGES.traffic)
  if (expression === undefined) {
    throw new Error(`a match makes no expression: ${text}: ${diagnostics[0]?.message}`)
  }
  return { text, term: expression.term }
}

function hostText(hostnames: readonly string[]): string {
  if (hostnames.includes('*')) return ''
  return hostnames
    .map((name) =>
      name.startsWith('*.')
        ? `request.host.endsWith(${quoted(name.slice(1))})`
        : `request.host == ${quoted(name)}`,
    )
    .join(' || ')
}

/** A prefix ends at a segment. */
function pathText({ kind, value }: Match['path']): string {
  if (kind === 'exact') return `request.path == ${quoted(value)}`
  if (kind === 'regex') return `request.path.matches(${quoted(`\\A(?:${value})\\z`)})`
  const prefix = value.endsWith('/') ? value.slice(0, -1) : value
  if (prefix === '') return ''
  return `request.path == ${quoted(prefix)} || request.path.startsWith(${quoted(`${prefix}/`)})`
}

function valueText(subject: string, { kind, value }: ValueMatch): string {
  if (kind === 'exact') return `${subject} == ${quoted(value)}`
  return `${subject}.matches(${quoted(`\\A(?:${value})\\z`)})`
}

/** Near enough to look for examples; whether it is so is said by the program itself. */
function queryText({ name, value }: ValueMatch): string {
  return `request.query.contains(${quoted(`${name}=${value}`)})`
}

/** A text as CEL writes it. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
