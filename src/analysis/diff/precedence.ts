import { rankOf, reachable } from '../../model/hostnames.ts'
import type { Match, PathMatch } from '../../model/route.ts'
import type { Entry, RouteMatch, Ways } from './entries.ts'
import { withoutSlashes } from './route-conditions.ts'

/** A match of a route, with what determines its precedence among the matches of a request. */
export interface Ranked {
  /** A name, a wildcard, or empty for any host. */
  readonly hostname: string
  readonly match: Match
  /** Its position among all matches of the listener. */
  readonly order: number
}

/** Matches that take precedence for requests that they share with this one. */
export function rivalsOf(
  { match, listener }: Pick<Entry, 'match' | 'listener'>,
  { matches }: Pick<Ways, 'matches'>,
): readonly RouteMatch[] {
  if (match === undefined) return []
  const others = matches.get(listener) ?? []
  let known = RIVALS.get(others)
  if (known === undefined) RIVALS.set(others, (known = new Map()))
  let rivals = known.get(match)
  if (rivals === undefined) {
    rivals = others.filter((one) => one !== match && mayMeet(one, match) && isBefore(one, match))
    known.set(match, rivals)
  }
  return rivals
}

/** For all matches of a listener, which many comparisons need again. */
const RIVALS = new WeakMap<readonly RouteMatch[], Map<RouteMatch, readonly RouteMatch[]>>()

/**
 * Whether `a` takes precedence for every request that both match. As defined by Gateway API: the
 * more specific host, exact paths before prefixes before patterns, longer before shorter, then a
 * method, more headers, more parameters, the first. Also false if unknown.
 */
function isBefore(a: Ranked, b: Ranked): boolean {
  if (a.hostname !== b.hostname) return rankOf(a.hostname) > rankOf(b.hostname)
  const [own, other] = [keyOf(a), keyOf(b)]
  // Which of two patterns takes precedence depends on the request.
  if (a.match.path.kind === 'regex' && b.match.path.kind === 'regex') return false
  for (const [index, value] of own.entries()) {
    const difference = value - (other[index] as number)
    if (difference !== 0) return difference < 0
  }
  return false
}

const KINDS = { exact: 0, prefix: 1, regex: 2 } as const

function keyOf({ match, order }: Ranked): readonly number[] {
  const { path, method, headers, query } = match
  const distinct = new Set(headers.map(({ name }) => name.toLowerCase())).size
  const length = path.kind === 'prefix' ? withoutSlashes(path.value).length : 0
  return [
    KINDS[path.kind],
    -length,
    method === undefined ? 1 : 0,
    -distinct,
    -new Set(query.map(({ name }) => name)).size,
    order,
  ]
}

/** Whether their hosts and paths allow a request to match both. */
export function mayMeet(one: Ranked, other: Ranked): boolean {
  const isApart = one.hostname !== '' && other.hostname !== ''
  if (isApart && reachable([one.hostname], other.hostname) === undefined) return false
  return canShare(one.match, other.match)
}

/** Whether paths and methods allow a request to match both. */
export function canShare(one: Match, other: Match): boolean {
  if (one.method !== undefined && other.method !== undefined && one.method !== other.method) {
    return false
  }
  return isWithin(one.path, other.path) || isWithin(other.path, one.path)
}

/** Whether a path that matches `one` may match `other`: for two prefixes, the longer one. */
function isWithin({ kind, value }: PathMatch, other: PathMatch): boolean {
  if (kind === 'regex' || other.kind === 'regex') return true
  if (other.kind === 'exact') return kind === 'exact' && value === other.value
  const [path, prefix] = [
    kind === 'exact' ? value : withoutSlashes(value),
    withoutSlashes(other.value),
  ]
  return path === prefix || path.startsWith(`${prefix}/`)
}
