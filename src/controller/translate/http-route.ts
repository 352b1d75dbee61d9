import type { Attached } from '../../model/policy.ts'
import type { Match, PathMatch, ValueMatch } from '../../model/route.ts'
import { regex, requestPath } from '../../policies/schema.ts'
import type {
  GrpcMatch,
  GrpcRouteObject,
  GrpcRule,
  HttpMatch,
  HttpRouteObject,
  HttpRule,
  ValueMatchSpec,
} from '../resources/routes.ts'
import { type Rejection, reject } from './conditions.ts'
import { readOne } from './policy-section.ts'
import {
  modelName,
  type ReadRoute,
  type RouteContext,
  type RuleDraft,
  readRules,
} from './route-rules.ts'
import type { Read } from './view.ts'

/** Created once: schemas are expensive. */
const REGEX = regex()
const PATH = requestPath()

const HTTP_FILTERS: readonly string[] = [
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestRedirect',
  'URLRewrite',
  'RequestMirror',
  'CORS',
]
const GRPC_FILTERS: readonly string[] = [
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestMirror',
]

export function readHttpRoute(context: RouteContext, read: Read<HttpRouteObject>): ReadRoute {
  const { hostnames, rules } = read.value.spec
  const drafts = rules.map((rule, index) => httpRule(read, rule, index))
  return readRules(context, read, hostnames, drafts, HTTP_FILTERS)
}

export function readGrpcRoute(context: RouteContext, read: Read<GrpcRouteObject>): ReadRoute {
  const { hostnames, rules } = read.value.spec
  const drafts = rules.map((rule, index) => grpcRule(read, rule, index))
  return readRules(context, read, hostnames, drafts, GRPC_FILTERS)
}

function httpRule(read: Read, rule: HttpRule, index: number): RuleDraft {
  const field = `spec.rules[${index}]`
  const more: Attached[] = []
  const problems: Rejection[] = []
  const add = (kind: string, value: object, at: string) => {
    const place = {
      section: 'traffic',
      level: 'route',
      policy: policyOf(read, rule, index),
    } as const
    const one = readOne({ read }, { kind, field: `${field}.${at}`, value }, place)
    if (one.policy.state === 'invalid') {
      problems.push(reject('UnsupportedValue', `${at}: ${one.diagnostics[0]?.message ?? ''}`))
    }
    more.push(one.policy)
  }
  if (rule.timeouts !== undefined) add('timeout', rule.timeouts, 'timeouts')
  if (rule.retry !== undefined) add('retry', rule.retry, 'retry')
  if (rule.sessionPersistence !== undefined) {
    problems.push(reject('UnsupportedValue', 'sessionPersistence is not supported'))
  }
  const { name, filters, backendRefs } = rule
  const redirects = filters.some(({ type }) => type === 'RequestRedirect')
  if (redirects && backendRefs.length > 0) {
    problems.push(reject('IncompatibleFilters', 'a redirect cannot have backendRefs'))
  }
  const prefixed = filters.find(
    ({ requestRedirect, urlRewrite }) =>
      (requestRedirect?.path ?? urlRewrite?.path)?.type === 'ReplacePrefixMatch',
  )
  const isPrefix = rule.matches.every(({ path }) => path.type === 'PathPrefix')
  if (prefixed !== undefined && !isPrefix) {
    const message = 'ReplacePrefixMatch requires PathPrefix matches'
    problems.push(reject('IncompatibleFilters', message))
  }
  const matched = matchesOf(rule.matches, httpMatch)
  problems.push(...matched.problems)
  return { name, matches: matched.matches, filters, backendRefs, more, problems }
}

function grpcRule(read: Read, rule: GrpcRule, index: number): RuleDraft {
  const { name, filters, backendRefs, sessionPersistence } = rule
  const place = { section: 'backend', level: 'route', policy: policyOf(read, rule, index) } as const
  // gRPC uses HTTP/2 even if the port of the Service does not declare it.
  const http2 = { kind: 'http', field: `spec.rules[${index}]`, value: { version: 'HTTP2' } }
  const more = [readOne({ read }, http2, place).policy]
  const { matches, problems } = matchesOf(rule.matches, grpcMatch)
  const rejected =
    sessionPersistence === undefined
      ? []
      : [reject('UnsupportedValue', 'sessionPersistence is not supported')]
  return { name, matches, filters, backendRefs, more, problems: [...rejected, ...problems] }
}

function policyOf(read: Read, rule: { readonly name?: string | undefined }, index: number): string {
  return `route:${modelName(read)}/${rule.name ?? index}`
}

const EVERYTHING: Match = { path: { kind: 'prefix', value: '/' }, headers: [], query: [] }

interface ReadMatches {
  readonly matches: readonly Match[]
  readonly problems: readonly Rejection[]
}

/** The value of a part, or why it could not be read. */
type Part<T> = { readonly value: T } | Rejection

/**
 * Without matches, everything matches. An unsupported part matches everything, too: the rule then
 * responds with 500, and the requests that it was meant to guard do not fall through to other
 * rules.
 */
function matchesOf<T>(
  specs: readonly T[],
  read: (spec: T, take: <P>(part: Part<P>, otherwise: P) => P) => Match,
): ReadMatches {
  if (specs.length === 0) return { matches: [EVERYTHING], problems: [] }
  const problems: Rejection[] = []
  const take = <P>(part: Part<P>, otherwise: P): P => {
    if ('value' in part) return part.value
    problems.push(part)
    return otherwise
  }
  const matches = specs.map((spec) => read(spec, take))
  return { matches, problems }
}

type Take = <P>(part: Part<P>, otherwise: P) => P

function httpMatch({ path, headers, queryParams, method }: HttpMatch, take: Take): Match {
  const match = {
    path: take(pathOf(path), EVERYTHING.path),
    headers: valuesOf(headers, (name) => name.toLowerCase(), take),
    query: valuesOf(queryParams, (name) => name, take),
  }
  return method === undefined ? match : { ...match, method }
}

function pathOf({ type, value }: HttpMatch['path']): Part<PathMatch> {
  if (type === 'RegularExpression') {
    return REGEX.safeParse(value).success
      ? { value: { kind: 'regex', value } }
      : reject('UnsupportedValue', `\`${value}\` is not a valid RE2 regular expression`)
  }
  if (type !== 'Exact' && type !== 'PathPrefix') {
    return reject('UnsupportedValue', `path match type ${type} is not supported`)
  }
  const path = PATH.safeParse(value)
  if (!path.success) return reject('UnsupportedValue', `no request can have path \`${value}\``)
  if (type === 'Exact') return { value: { kind: 'exact', value: path.data } }
  // `/a/` and `/a` match the same paths below them.
  return { value: { kind: 'prefix', value: path.data.replace(/(?<=.)\/+$/, '') } }
}

function valuesOf(
  specs: readonly ValueMatchSpec[],
  nameOf: (name: string) => string,
  take: Take,
): readonly ValueMatch[] {
  const found = new Map<string, ValueMatch | undefined>()
  for (const spec of specs) {
    const name = nameOf(spec.name)
    // HTTPHeaderMatch: if several entries have the same name, only the first one counts.
    if (!found.has(name)) found.set(name, take(valueMatchOf(spec, name), undefined))
  }
  return [...found.values()].filter((one) => one !== undefined)
}

function valueMatchOf({ type, value }: ValueMatchSpec, name: string): Part<ValueMatch | undefined> {
  if (type === 'Exact') return { value: { name, kind: 'exact', value } }
  if (type !== 'RegularExpression') {
    return reject('UnsupportedValue', `match type ${type} is not supported`)
  }
  return REGEX.safeParse(value).success
    ? { value: { name, kind: 'regex', value } }
    : reject('UnsupportedValue', `\`${value}\` is not a valid RE2 regular expression`)
}

/** `/service/method`: either part may be missing. */
function grpcMatch({ method, headers }: GrpcMatch, take: Take): Match {
  const path = take(grpcPath(method), EVERYTHING.path)
  const fields = valuesOf(headers, (name) => name.toLowerCase(), take)
  return { path, headers: fields, query: [], method: 'POST' }
}

function grpcPath(match: GrpcMatch['method']): Part<PathMatch> {
  if (match === undefined) return { value: EVERYTHING.path }
  const { type, service = '', method = '' } = match
  if (type === 'Exact') {
    if (service !== '' && method !== '') {
      return { value: { kind: 'exact', value: `/${service}/${method}` } }
    }
    if (service !== '') return { value: { kind: 'prefix', value: `/${service}` } }
    if (method === '') return { value: EVERYTHING.path }
    const escaped = method.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&')
    return { value: { kind: 'regex', value: `/[^/]+/${escaped}` } }
  }
  if (type !== 'RegularExpression') {
    return reject('UnsupportedValue', `method match type ${type} is not supported`)
  }
  const any = '[^/]+'
  const value = `/(?:${service === '' ? any : service})/(?:${method === '' ? any : method})`
  return REGEX.safeParse(value).success
    ? { value: { kind: 'regex', value } }
    : reject('UnsupportedValue', `\`${value}\` is not a valid RE2 regular expression`)
}
