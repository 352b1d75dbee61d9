import { listOf, type MapType, mapOf, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford } from '../values/fuel.ts'
import { CaselessMap, HeaderMap } from '../values/header-map.ts'
import { CelMap } from '../values/map.ts'
import type { JsonObject, Value } from '../values/value.ts'
import { defineLibrary, fn, global, method } from './define.ts'

type AnyMap = JsonObject | CelMap

const METERED = { metered: true } as const
const HEADERS = mapOf(STRING, STRING)
const JOINED: MapType = { kind: 'map', key: STRING, value: STRING, caseless: true }
const LISTS: MapType = { kind: 'map', key: STRING, value: listOf(STRING), caseless: true }

/** Views of headers other than one string per name. */
export const HEADERS_LIBRARY = defineLibrary('headers', [
  fn(
    'raw',
    method([HEADERS], LISTS, (map: AnyMap) => view(map, (_, lines) => lines), METERED),
  ),
  fn(
    'join',
    method([HEADERS], JOINED, (map: AnyMap) => view(map, joined), METERED),
  ),
  fn(
    'split',
    method([HEADERS], LISTS, (map: AnyMap) => view(map, split), METERED),
  ),
  fn(
    'unredacted',
    method([HEADERS], JOINED, (map: AnyMap) => view(map, spaced), METERED),
  ),
  fn(
    'redacted',
    method([HEADERS], JOINED, (map: AnyMap) => view(map, redacted), METERED),
  ),
  // `headers.cookie(name)` is compiled to `@cookies(headers)[name]`: see check/calls.ts.
  fn('cookie', method([HEADERS, STRING], STRING, cookie, METERED)),
  fn('@cookies', global([HEADERS], mapOf(STRING, STRING), cookies, METERED)),
])

/** About 200 ns per header, and less for the length of its value. */
const UNITS_PER_LINE = 20

function view(
  map: AnyMap,
  convert: (name: string, lines: readonly string[]) => Value,
): CaselessMap | undefined {
  const found = linesOf(map)
  if (found === undefined) return undefined
  const values = new Map<string, Value>()
  for (const [name, lines] of found) values.set(name, convert(name, lines))
  return new CaselessMap(values)
}

function linesOf(map: AnyMap): ReadonlyMap<string, readonly string[]> | undefined {
  const found = new Map<string, readonly string[]>()
  for (const name of map instanceof CelMap ? map.keys() : Object.keys(map)) {
    if (typeof name !== 'string') return fail('no such overload')
    const lines = linesAt(map, name)
    if (lines === undefined) return fail('no such overload')
    const length = lines.reduce((sum, line) => sum + line.length, 0)
    if (!afford(UNITS_PER_LINE * (lines.length + 1) + (length >> 2))) return undefined
    found.set(name.toLowerCase(), lines)
  }
  return found
}

/** `undefined` if the header is absent or, in a plain map, not a string. */
function linesAt(map: AnyMap, name: string): readonly string[] | undefined {
  if (map instanceof HeaderMap) return map.all(name)
  const value = map instanceof CelMap ? map.get(name) : map[name]
  return typeof value === 'string' ? [value] : undefined
}

function joined(name: string, lines: readonly string[]): string {
  return lines.join(name === 'cookie' ? ';' : ',')
}

function spaced(name: string, lines: readonly string[]): string {
  return lines.join(name === 'cookie' ? '; ' : ', ')
}

/** Headers that carry credentials of clients, servers and model providers. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'x-auth-token',
  'x-csrf-token',
  'x-forwarded-client-cert',
])

function redacted(name: string, lines: readonly string[]): string {
  return CREDENTIALS.has(name) ? '<redacted>' : spaced(name, lines)
}

function split(_: string, lines: readonly string[]): readonly string[] {
  const parts = lines.flatMap((line) => line.split(','))
  // RFC 9110 §5.6.1: list elements may be empty, and empty elements do not count.
  return parts.map((part) => part.replace(/^[ \t]+|[ \t]+$/g, '')).filter((part) => part !== '')
}

function cookie(map: AnyMap, name: string): string | undefined {
  const found = cookies(map)
  if (found === undefined) return undefined
  return Object.hasOwn(found, name) ? (found[name] as string) : fail('no such key', name)
}

/** If a name occurs twice, the first one counts: browsers send the most specific path first. */
function cookies(map: AnyMap): JsonObject | undefined {
  const lines = map instanceof HeaderMap ? (map.all('cookie') ?? []) : cookieLines(map)
  const found = new Map<string, string>()
  for (const line of lines) {
    if (!afford(UNITS_PER_LINE + (line.length >> 1))) return undefined
    for (const pair of line.split(';')) {
      const at = pair.indexOf('=')
      const name = pair.slice(0, Math.max(0, at)).trim()
      if (name !== '' && !found.has(name)) found.set(name, pair.slice(at + 1).trim())
    }
  }
  // fromEntries defines properties, so a cookie named __proto__ stays a cookie.
  return Object.fromEntries(found)
}

function cookieLines(map: AnyMap): readonly string[] {
  for (const name of map instanceof CelMap ? map.keys() : Object.keys(map)) {
    if (typeof name === 'string' && name.toLowerCase() === 'cookie') return linesAt(map, name) ?? []
  }
  return []
}
