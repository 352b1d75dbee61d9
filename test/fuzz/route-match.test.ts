import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Match, PathMatch, ValueMatch } from '../../src/model/route.ts'
import { compileMatcher, type MatchEntry } from '../../src/program/match.ts'
import { assertProperty } from './assert-property.ts'
import { type Asked, exchangeOf } from './exchanges.ts'
import { plainMatch } from './route-match.plain.ts'
import { fuzz } from './runs.ts'

// Uses few parts, so that hosts, paths and values often coincide.
const labels = fc.constantFrom('a', 'b', 'ab', 'example', 'com')
const hosts = fc.array(labels, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'))
const hostnames = fc.oneof(
  hosts,
  hosts.map((host) => `*.${host}`),
)
const paths = fc
  .array(fc.constantFrom('/', '/a', '/b', '/ab', 'a', '/aa', '/%61', '/a.b'), { maxLength: 5 })
  .map((pieces) => `/${pieces.join('')}`.replace(/^\/\//, '/'))
const patterns = fc.constantFrom('/a', '/a|/b', '/[ab]+', '.*', '/.*/b', 'a', '/a.b', '(/a)+', '')

const pathMatches: fc.Arbitrary<PathMatch> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('prefix' as const), value: paths }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('exact' as const), value: paths }) },
  fc.record({ kind: fc.constant('regex' as const), value: patterns }),
)

const names = fc.constantFrom('x', 'y', 'xy', 'x=', 'a&b')
const values = fc.constantFrom('', '1', '2', '12', 'a b', 'é', '1=2')
const valueMatches = (name: fc.Arbitrary<string>): fc.Arbitrary<ValueMatch[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ name, kind: fc.constant('exact' as const), value: values }),
      },
      fc.record({
        name,
        kind: fc.constant('regex' as const),
        value: fc.constantFrom('1|2', '[12]+', '', '.*'),
      }),
    ),
    { maxLength: 2 },
  )

const matches: fc.Arbitrary<Match> = fc
  .record({
    path: pathMatches,
    method: fc.option(fc.constantFrom('GET', 'POST', 'OPTIONS'), { nil: undefined }),
    headers: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      valueMatches(fc.constantFrom('x', 'y')),
    ),
    query: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, valueMatches(names)),
  })
  .map(({ method, ...rest }) => (method === undefined ? rest : { ...rest, method }))

const entries: fc.Arbitrary<MatchEntry<number>[]> = fc
  .array(
    fc.record({
      hostnames: fc.array(hostnames, { maxLength: 2 }),
      match: matches,
      takesPreflights: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((list) => list.map((entry, target) => ({ ...entry, target })))

const searches = fc
  .array(
    fc.tuple(
      fc.constantFrom('x', 'y', 'xy', '', '%78', 'x%3D', '+', 'a%26b', '%'),
      fc.constantFrom('', '=', '=1', '=2', '=12', '=1=2', '=%31', '=a+b', '=%c3%a9', '=%zz'),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([a, b]) => a + b).join('&')}`))

const requests: fc.Arbitrary<Asked> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS'),
    url: fc.tuple(paths, searches).map(([path, search]) => path + search),
    host: hosts,
    headers: fc.dictionary(fc.constantFrom('x', 'y'), values, { maxKeys: 2 }),
    preflight: fc.constantFrom(
      {},
      { origin: 'https://a' },
      { origin: 'https://a', 'access-control-request-method': 'GET' },
      { 'access-control-request-method': 'POST' },
    ),
  })
  .map(({ headers, preflight, ...rest }) => ({ ...rest, headers: { ...headers, ...preflight } }))

describe('the route matcher, compared with the reference implementation', () => {
  const runs = fuzz(1)
  it(`${runs.numRuns} sets of routes: the same route, by the same prefix`, () => {
    const property = fc.property(
      entries,
      fc.option(hostnames, { nil: undefined }),
      fc.array(requests, { minLength: 1, maxLength: 8 }),
      (routes, hostname, asked) => {
        const match = compileMatcher(routes, { hostname, unmatched: -1, rejected: -2 })
        for (const one of asked) {
          const exchange = exchangeOf(one)
          const target = match(exchange)
          const plain = plainMatch(routes, hostname, exchange.request)
          assert.equal(target, plain?.target ?? -1)
          if (plain !== undefined) assert.equal(exchange.matchedPrefix, plain.matchedPrefix)
        }
      },
    )
    assertProperty('route-match', property, runs)
  })
})
