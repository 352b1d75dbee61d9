import { compilePattern } from '../../src/cel/library/regex-pattern.ts'
import type { RequestAttributes } from '../../src/exchange/attributes.ts'
import type { Match, ValueMatch } from '../../src/model/route.ts'
import type { MatchEntry } from '../../src/program/match.ts'

/**
 * A second implementation of the Gateway API's rules: takes all matching routes, sorts them by
 * specificity, and returns the first. Uses no tables or hashes.
 */
export function plainMatch<T>(
  entries: readonly MatchEntry<T>[],
  listener: string | undefined,
  request: RequestAttributes,
): { readonly target: T; readonly matchedPrefix: string } | undefined {
  if (listener !== undefined && !covers(listener, request.host)) return undefined
  const found = entries.flatMap(({ hostnames, match, target, takesPreflights = false }, order) =>
    (hostnames.length === 0 ? [''] : hostnames)
      .filter((name) => name === '' || covers(name, request.host))
      .filter(() => matches(match, request, methodsOf(request, takesPreflights)))
      .map((name) => ({ target, match, rank: [...rank(name, match), -order] })),
  )
  found.sort((a, b) => compare(b.rank, a.rank))
  const [best] = found
  if (best === undefined) return undefined
  return { target: best.target, matchedPrefix: matchedPrefix(best.match, request.path) }
}

function covers(name: string, host: string): boolean {
  return name.startsWith('*.')
    ? host.endsWith(name.slice(1)) && host !== name.slice(1)
    : host === name
}

/** A preflight request is matched by the method that it names, if a policy responds to it. */
function methodsOf(request: RequestAttributes, takesPreflights: boolean): readonly string[] {
  const asked = request.headers.get('access-control-request-method')
  const isPreflight = request.method === 'OPTIONS' && request.headers.get('origin') !== undefined
  const isTaken = takesPreflights && isPreflight && asked !== undefined
  return isTaken ? [request.method, asked] : [request.method]
}

function matches(
  { path, method, headers, query }: Match,
  request: RequestAttributes,
  methods: readonly string[],
): boolean {
  const parameters = new URLSearchParams(request.search)
  return (
    matchesPath(path, request.path) &&
    (method === undefined || methods.includes(method)) &&
    firsts(headers).every((one) =>
      matchesValue(one, request.headers.get(one.name.toLowerCase())),
    ) &&
    firsts(query).every((one) => matchesValue(one, parameters.get(one.name) ?? undefined))
  )
}

function matchesPath({ kind, value }: Match['path'], path: string): boolean {
  if (kind === 'exact') return path === value
  if (kind === 'regex') return isWhole(value, path)
  const prefix = withoutSlash(value)
  return path === prefix || path.startsWith(`${prefix}/`) || prefix === ''
}

function matchesValue({ kind, value }: ValueMatch, actual: string | undefined): boolean {
  if (actual === undefined) return false
  return kind === 'exact' ? actual === value : isWhole(value, actual)
}

function isWhole(pattern: string, text: string): boolean {
  return compilePattern(`^(?:${pattern})$`)?.matches(text) === true
}

/** Keeps the first of several entries with the same name. */
function firsts(values: readonly ValueMatch[]): readonly ValueMatch[] {
  return values.filter(({ name }, at) => values.findIndex((other) => other.name === name) === at)
}

function rank(hostname: string, { path, method, headers, query }: Match): readonly number[] {
  return [
    hostname === '' ? 0 : hostname.startsWith('*.') ? 1 : 2,
    hostname.length,
    { exact: 2, prefix: 1, regex: 0 }[path.kind],
    path.kind === 'prefix' ? withoutSlash(path.value).length : 0,
    method === undefined ? 0 : method === 'OPTIONS' ? 2 : 1,
    firsts(headers).length,
    firsts(query).length,
  ]
}

function matchedPrefix({ path: { kind, value } }: Match, path: string): string {
  if (kind === 'exact') return path
  return kind === 'prefix' ? withoutSlash(value) : ''
}

function withoutSlash(text: string): string {
  return text.endsWith('/') ? withoutSlash(text.slice(0, -1)) : text
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
