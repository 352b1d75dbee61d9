import { BOOL, DYN, listOf, mapOf, STRING, URL_TYPE } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, charge, isSpent, MAX_LIST, MAX_STRING, overBound } from '../values/fuel.ts'
import { CelMap } from '../values/map.ts'
import { doubleValue, isDouble, isInt, Uint } from '../values/number.ts'
import { parseUrl, type Url } from '../values/url.ts'
import type { JsonObject, Value } from '../values/value.ts'
import { plain } from './decimal.ts'
import { defineLibrary, fn, global, method, type Overload, type Prepared } from './define.ts'

const METERED = { metered: true } as const

/** The first eight functions are those of Kubernetes. */
export const URL_LIBRARY = defineLibrary('url', [
  fn('url', global([STRING], URL_TYPE, parseUrl, { metered: true, prepare })),
  fn('isURL', global([STRING], BOOL, isUrl, METERED)),
  fn('getScheme', part('scheme')),
  fn('getHost', part('host')),
  fn('getHostname', part('hostname')),
  fn('getPort', part('port')),
  fn('getEscapedPath', part('path')),
  fn('getQuery', method([URL_TYPE], mapOf(STRING, listOf(STRING)), getQuery, METERED)),
  fn(
    'string',
    global([URL_TYPE], STRING, (url: Url) => url.text),
  ),
  fn('url.encode', global([STRING], STRING, encode, METERED)),
  fn('url.decode', global([STRING], STRING, decode, METERED)),
  fn('url.path', global([STRING], STRING, path, METERED)),
  fn('url.query', global([STRING, STRING], listOf(STRING), query, METERED)),
  fn('query', method([STRING, STRING], listOf(STRING), query, METERED)),
  fn('addQuery', method([STRING, STRING, STRING], STRING, addQuery, METERED)),
  fn('setQuery', method([STRING, STRING, STRING], STRING, setQuery, METERED)),
  fn('form.encode', global([mapOf(STRING, DYN)], STRING, formEncode, METERED)),
  fn('form.decode', global([STRING], mapOf(STRING, DYN), formDecode, METERED)),
])

function part(name: 'scheme' | 'host' | 'hostname' | 'port' | 'path'): Overload {
  return method([URL_TYPE], STRING, (url: Url) => url[name])
}

/** A constant string is parsed once, when the expression is compiled. */
function prepare([text]: readonly (Value | undefined)[]): Prepared | undefined {
  const url = typeof text === 'string' ? parseUrl(text) : undefined
  return url === undefined ? undefined : () => url
}

/** Whether `url` has a result. */
function isUrl(text: string): boolean | undefined {
  const url = parseUrl(text)
  return isSpent() ? undefined : url !== undefined
}

/**
 * Each parameter with all its values. Unlike in Kubernetes, none is omitted because of an invalid
 * escape or a semicolon: a Deny rule must see what a backend may read.
 */
function getQuery(url: Url): JsonObject | undefined {
  const fields = readFields(url.query)
  return fields && (Object.fromEntries(grouped(fields)) as JsonObject)
}

/** Escapes everything but the unreserved characters of RFC 3986. */
function encode(text: string): string | undefined {
  if (!afford(text.length)) return undefined
  if (!text.isWellFormed()) return fail('invalid text')
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return encoded.length > MAX_STRING ? overBound('string too long') : encoded
}

/** An error if an escape is incomplete or the bytes are not UTF-8. */
function decode(text: string): string | undefined {
  if (!afford(text.length)) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return fail('invalid percent-encoding')
  }
}

/** About 300 ns. */
const UNITS_PER_FIELD = 30

const ORIGIN = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*/

/** The path as written, of a URL or of a path with a query. */
function path(url: string): string {
  charge(url.length >> 5)
  const [before = ''] = url.split(/[?#]/, 1)
  const origin = ORIGIN.exec(before)
  return origin === null ? before : before.slice(origin[0].length) || '/'
}

/**
 * All values of a parameter, parsed as browsers and servers do: `+` is a space, and an invalid
 * escape is kept as written. It is never an error, so that a client cannot make a Deny rule fail by
 * adding one.
 */
function query(url: string, name: string): readonly string[] | undefined {
  const [beforeFragment = ''] = url.split('#', 1)
  const at = beforeFragment.indexOf('?')
  const fields = at < 0 ? [] : readFields(beforeFragment.slice(at + 1))
  return fields?.filter(([key]) => key === name).map(([, value]) => value)
}

/** Appends a parameter to the URL; everything else stays as written. */
function addQuery(url: string, name: string, value: string): string | undefined {
  const field = encodeField(name, value)
  if (field === undefined || !afford(url.length >> 3)) return undefined
  const [address, query, fragment] = partsOf(url)
  return bounded(`${address}?${query === '' ? '' : `${query}&`}${field}${fragment}`)
}

/** Leaves one parameter with that name: in the place of the first, or at the end. */
function setQuery(url: string, name: string, value: string): string | undefined {
  const field = encodeField(name, value)
  if (field === undefined) return undefined
  const [address, query, fragment] = partsOf(url)
  const written = query === '' ? [] : query.split('&')
  if (!afford(url.length + UNITS_PER_FIELD * (written.length + 1))) return undefined
  const isOwn = (one: string) => new URLSearchParams(`&${one}`).has(name)
  const first = written.findIndex(isOwn)
  const fields =
    first === -1
      ? [...written, field]
      : written.flatMap((one, at) => (at === first ? [field] : isOwn(one) ? [] : [one]))
  return bounded(`${address}?${fields.join('&')}${fragment}`)
}

function encodeField(name: string, value: string): string | undefined {
  const key = encode(name)
  const text = encode(value)
  return key === undefined || text === undefined ? undefined : `${key}=${text}`
}

function partsOf(url: string): [address: string, query: string, fragment: string] {
  const [, before = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(url) ?? []
  const at = before.indexOf('?')
  return at < 0 ? [before, '', fragment] : [before.slice(0, at), before.slice(at + 1), fragment]
}

function bounded(text: string): string | undefined {
  return text.length > MAX_STRING ? overBound('string too long') : text
}

function formDecode(text: string): JsonObject | undefined {
  const fields = readFields(text)
  if (fields === undefined) return undefined
  const single = ([name, all]: [string, string[]]) => [name, all.length > 1 ? all : all[0]] as const
  // fromEntries defines properties, so a field named __proto__ stays a field.
  return Object.fromEntries(Array.from(grouped(fields), single)) as JsonObject
}

function grouped(fields: readonly [string, string][]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of fields) {
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return values
}

function readFields(text: string): [string, string][] | undefined {
  let count = 1
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    if (++count > MAX_LIST) break
  }
  if (!afford(text.length + UNITS_PER_FIELD * count)) return undefined
  // A leading question mark would be dropped.
  const fields = [...new URLSearchParams(`&${text}`)]
  return fields.length > MAX_LIST ? overBound('list too long') : fields
}

/** Values are strings, numbers or booleans, or lists of these for a repeated field. */
function formEncode(map: JsonObject | CelMap): string | undefined {
  const fields = new URLSearchParams()
  let length = 0
  for (const key of map instanceof CelMap ? map.keys() : Object.keys(map)) {
    const value = map instanceof CelMap ? map.get(key) : map[key as string]
    for (const one of Array.isArray(value) ? value : [value]) {
      const name = fieldText(key)
      const text = fieldText(one)
      if (name === undefined || text === undefined) return fail('no such overload')
      length += name.length + text.length + 2
      if (length > MAX_STRING) return overBound('string too long')
      if (!afford(UNITS_PER_FIELD)) return undefined
      fields.append(name, text)
    }
  }
  const encoded = fields.toString()
  charge(encoded.length >> 1)
  return encoded.length > MAX_STRING ? overBound('string too long') : encoded
}

function fieldText(value: Value | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || (value !== undefined && isInt(value))) return String(value)
  if (value instanceof Uint) return String(value.value)
  return value !== undefined && isDouble(value) ? plain(doubleValue(value)) : undefined
}
