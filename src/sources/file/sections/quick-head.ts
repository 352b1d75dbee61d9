import type { Match } from '../../../model/route.ts'

/** The fields of a route, without its policies and backends. */
export interface RouteHead {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly ruleName?: string | undefined
  readonly hostnames?: readonly string[] | undefined
  readonly gateways?: string | readonly string[] | undefined
  readonly matches?: readonly Match[] | undefined
}

/**
 * Reads the most common form of routes in a long file without the schema, which is about ten times
 * slower. Returns undefined for anything else and for any error; then the schema decides. For
 * accepted values, both return the same: test/fuzz/quick-head.test.ts.
 */
export function readQuickHead(value: unknown): RouteHead | undefined {
  if (!isMapping(value)) return undefined
  const head: { -readonly [K in keyof RouteHead]: RouteHead[K] } = {}
  for (const key of Object.keys(value)) {
    const member = value[key]
    if (key === 'policies' || key === 'backends') continue
    if (key === 'name' && isName(member)) head.name = member
    else if (key === 'hostnames' && isListOf(member, isHostname)) head.hostnames = member
    else if (key === 'gateways' && isNames(member)) head.gateways = member
    else if (key === 'matches' && isSome(member, isMatch)) head.matches = member.map(toMatch)
    else return undefined
  }
  return head
}

const MAX_ENTRIES = 64
const MAX_PATH = 2_048
/** Each is stricter than the schema. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,200}[A-Za-z0-9])?$/
const HOSTNAME = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,29}[a-z0-9])?\.){0,5}[a-z0-9]{1,30}$/
const PATH = /^\/(?:[\w~-][\w.~-]*(?:\/[\w~-][\w.~-]*)*)?$/

interface PlainMatch {
  readonly path: { readonly pathPrefix: string } | { readonly exact: string }
}

function toMatch({ path }: PlainMatch): Match {
  return {
    path:
      'exact' in path
        ? { kind: 'exact', value: path.exact }
        : { kind: 'prefix', value: path.pathPrefix },
    headers: NO_VALUES,
    query: NO_VALUES,
  }
}

const NO_VALUES: Match['headers'] = []

function isMatch(value: unknown): value is PlainMatch {
  const path = onlyMember(value, 'path')
  return isPath(onlyMember(path, 'pathPrefix')) || isPath(onlyMember(path, 'exact'))
}

/** Undefined if there are other members. */
function onlyMember(value: unknown, key: string): unknown {
  if (!isMapping(value)) return undefined
  const keys = Object.keys(value)
  return keys.length === 1 && keys[0] === key ? value[key] : undefined
}

function isNames(value: unknown): value is string | readonly string[] {
  return isName(value) || isSome(value, isName)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value)
}

function isHostname(value: unknown): value is string {
  return typeof value === 'string' && HOSTNAME.test(value)
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_PATH && PATH.test(value)
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.length <= MAX_ENTRIES && value.every(is)
}

function isSome<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return isListOf(value, is) && value.length > 0
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
