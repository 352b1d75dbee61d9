import { DOUBLE, DYN, JSON_VALUE, mapOf, param, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, charge, MAX_LIST, MAX_STRING, overBound } from '../values/fuel.ts'
import { readJson } from '../values/json-read.ts'
import { CelMap, LiteralMap } from '../values/map.ts'
import { double } from '../values/number.ts'
import { utf8Decode } from '../values/text.ts'
import type { JsonObject, Value } from '../values/value.ts'
import { defineLibrary, fn, global, method, type Prepared } from './define.ts'
import { currentLedger } from './read-text.ts'
import type { Captures } from './regex-captures.ts'
import { compilePattern, dynamicPattern, type Pattern } from './regex-pattern.ts'

type AnyMap = JsonObject | CelMap

const MAP = mapOf(param('A'), param('B'))
const METERED = { metered: true } as const
const REPLACE = { metered: true, prepare: prepareReplace } as const

export const GENERAL = defineLibrary('general', [
  fn('merge', method([MAP, MAP], MAP, merge, METERED), global([MAP, MAP], MAP, merge, METERED)),
  fn(
    'regexReplace',
    method([STRING, STRING, STRING], STRING, regexReplace, REPLACE),
    global([STRING, STRING, STRING], STRING, regexReplace, REPLACE),
  ),
  fn(
    'fail',
    global([], DYN, () => fail('fail() called')),
    global([STRING], DYN, (message: string) => fail('fail() called', message)),
  ),
  // Only for constant folding: the remaining calls become separate terms, see check/calls.ts.
  fn('default', global([DYN, DYN], DYN, firstPresent)),
  fn('coalesce', global([DYN], DYN, firstPresent, { variadic: true })),
  fn(
    '@onlyMap',
    global([MAP], MAP, (map: AnyMap) => map),
  ),
  // For fields of logs and spans, which look for the call: see policies/log-expressions.ts. These
  // functions are never folded, and rules cannot call them.
  fn('flatten', global([DYN], DYN, same, { impure: true })),
  fn('flattenRecursive', global([DYN], DYN, same, { impure: true })),
  fn('random', global([], DOUBLE, random, { impure: true })),
  fn(
    'uuid',
    global([], STRING, () => crypto.randomUUID(), { impure: true }),
  ),
  fn('unvalidatedJwtPayload', global([STRING], JSON_VALUE, unvalidatedJwtPayload, METERED)),
])

function firstPresent(...choices: readonly Value[]): Value {
  return choices.find((choice) => choice !== null) ?? null
}

function same(value: Value): Value {
  return value
}

/** From 0 up to, but not including, 1. */
function random(): Value {
  return double(Math.random())
}

/** On conflict the second map wins; the key keeps its position from the first map. */
function merge(a: AnyMap, b: AnyMap): AnyMap | undefined {
  const size = sizeOf(a) + sizeOf(b)
  if (!afford(15 * size)) return undefined
  if (size > MAX_LIST) return overBound('map too large')
  // Spread defines properties, so a key named __proto__ stays a key.
  if (!(a instanceof CelMap) && !(b instanceof CelMap)) return { ...a, ...b }
  const entries: [Value, Value][] = []
  for (const [key, value] of entriesOf(a)) {
    const other = getFrom(b, key)
    entries.push([key, other === undefined ? value : other])
  }
  for (const [key, value] of entriesOf(b)) {
    if (getFrom(a, key) === undefined) entries.push([key, value])
  }
  return LiteralMap.of(entries)
}

function sizeOf(map: AnyMap): number {
  return map instanceof CelMap ? map.size : Object.keys(map).length
}

function getFrom(map: AnyMap, key: Value): Value | undefined {
  if (map instanceof CelMap) return map.get(key)
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined
}

function* entriesOf(map: AnyMap): Iterable<[Value, Value]> {
  for (const key of map instanceof CelMap ? map.keys() : Object.keys(map)) {
    const value = getFrom(map, key)
    if (value !== undefined) yield [key, value]
  }
}

/**
 * Replaces the first match. In the replacement, `$1`, `${1}` and `${name}` refer to groups and `$$`
 * is a dollar sign; a group that did not participate is empty.
 */
function regexReplace(text: string, pattern: string, replacement: string): string | undefined {
  return replaceFirst(dynamicPattern(pattern), text, replacement)
}

function prepareReplace([, pattern]: readonly (Value | undefined)[]): Prepared | undefined {
  if (typeof pattern !== 'string') return undefined
  const compiled = compilePattern(pattern)
  if (compiled === undefined) return undefined
  return (text: string, _: string, replacement: string) => replaceFirst(compiled, text, replacement)
}

function replaceFirst(
  pattern: Pattern | undefined,
  text: string,
  replacement: string,
): string | undefined {
  const found = pattern?.find(text)
  if (pattern === undefined || found === undefined) return undefined
  if (found === null) return text
  const [start = 0, end = 0] = found
  const parts = [
    text.slice(0, start),
    ...expand(replacement, pattern, text, found),
    text.slice(end),
  ]
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  charge(4 * parts.length + (length >> 4))
  return length > MAX_STRING ? overBound('string too long') : parts.join('')
}

const REFERENCE = /\$(?:(\$)|([0-9A-Za-z_]+)|\{([0-9A-Za-z_]+)\})/g

/** Not joined yet: with repetition, a group can exceed the max length. */
function* expand(
  replacement: string,
  pattern: Pattern,
  text: string,
  found: Captures,
): Iterable<string> {
  let from = 0
  for (const match of replacement.matchAll(REFERENCE)) {
    yield replacement.slice(from, match.index)
    from = match.index + match[0].length
    const name = match[2] ?? match[3]
    yield name === undefined ? '$' : groupText(name, pattern, text, found)
  }
  yield replacement.slice(from)
}

function groupText(name: string, pattern: Pattern, text: string, found: Captures): string {
  const group = /^[0-9]{1,5}$/.test(name) ? Number(name) : pattern.names.get(name)
  const start = group === undefined ? undefined : found[2 * group]
  if (start === undefined || start < 0 || group === undefined) return ''
  return text.slice(start, found[2 * group + 1])
}

/** The claims of an unverified JSON Web Token: suitable for logs, never for decisions. */
function unvalidatedJwtPayload(token: string): Value | undefined {
  charge(token.length >> 2)
  const [, payload, signature, more] = token.split('.', 4)
  if (payload === undefined || signature === undefined || more !== undefined) {
    return fail('invalid token')
  }
  try {
    const text = utf8Decode(Uint8Array.fromBase64(payload, { alphabet: 'base64url' }))
    if (text === undefined) return fail('invalid token')
    return readJson(text, { allowance: currentLedger().reading })
  } catch {
    return fail('invalid token')
  }
}
