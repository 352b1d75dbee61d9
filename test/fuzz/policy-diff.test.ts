import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareModels } from '../../src/analysis/diff/compare.ts'
import type { SemanticDiff } from '../../src/analysis/diff/difference.ts'
import { hypotheticalOf } from '../../src/cli/diff.ts'
import { openVerdicts } from '../../src/cli/verdicts.ts'
import type { Model } from '../../src/model/model.ts'
import type { ValueMatch } from '../../src/model/route.ts'
import type { HypotheticalRequest } from '../../src/program/explain.ts'
import { modelOf } from '../program/models.ts'
import { areSizesUsual } from '../thresholds/sizes.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'
import { narrowedTests, nearTested, testsOfOneString } from './string-tests.ts'

/**
 * Conclusions of the semantic diff about all requests hold for random requests, which both programs
 * decide.
 */

const ATOMS = [
  "request.method == 'GET'",
  "request.method in ['GET', 'PUT']",
  "request.path == '/a'",
  "request.path.startsWith('/a')",
  "request.path.startsWith('/a/b')",
  "request.headers['x'] == '1'",
  "request.headers['x'] != '1'",
  "'x' in request.headers",
  "jwt.sub == 'alice'",
  "jwt.sub != 'bob'",
  'has(jwt.sub)',
  "'eng' in jwt.groups",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "cidr('10.1.0.0/16').containsIP(source.address)",
  'size(request.path) > 2',
  'size(request.path) > 3',
]
/** Conditions that the analysis does not cover. */
const OPAQUE = /size|"regex"/
const atom = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ATOMS) },
  { weight: 2, arbitrary: testsOfOneString.map(([one]) => one) },
)
const expression = fc.oneof(
  atom,
  atom.map((one) => `!(${one})`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} && ${b}`),
  fc.tuple(atom, atom).map(([a, b]) => `${a} || ${b}`),
  narrowedTests.map(([, narrow]) => narrow),
)
const rules = fc.array(fc.tuple(fc.constantFrom('allow', 'require', 'deny'), expression), {
  maxLength: 3,
})
const route = fc.record({
  rules,
  path: fc.constantFrom('/', '/a', '/a/b', '/b'),
  isExact: fc.boolean(),
  method: fc.constantFrom(undefined, 'GET'),
  header: fc.option(
    fc.constantFrom(
      { name: 'x', kind: 'exact', value: '1' },
      { name: 'X', kind: 'exact', value: 'ab' },
      { name: 'x', kind: 'regex', value: '[ab]+' },
    ),
    { nil: undefined, freq: 3 },
  ),
  token: fc.constantFrom('Strict', 'Optional', undefined),
  host: fc.constantFrom(undefined, undefined, 'example.com', '*.com', 'a.example.com'),
})
const written = fc.array(route, { minLength: 1, maxLength: 3 })

const TOKEN = { issuer: 'https://issuer.example', jwks: { inline: '{"keys":[]}' } }

function modelFrom(routes: Routes): Model {
  return modelOf({
    routes: routes.map(({ rules, path, isExact, method, header, token, host, name }) => ({
      ...(name !== undefined && { name }),
      ...(host !== undefined && { hostnames: [host] }),
      matches: [
        {
          path: { kind: isExact ? 'exact' : 'prefix', value: path },
          ...(method === undefined ? {} : { method }),
          ...(header === undefined ? {} : { headers: [header as ValueMatch] }),
        },
      ],
      policies: {
        ...(token === undefined ? {} : { jwtAuthentication: { ...TOKEN, mode: token } }),
        ...(rules.length === 0
          ? {}
          : { authorization: { rules: rules.map(([action, text]) => ({ [action]: text })) } }),
      },
    })),
  })
}

const claims = fc.record(
  {
    sub: fc.oneof(fc.constantFrom('alice', 'bob', 'eve'), nearTested),
    groups: fc.subarray(['eng', 'ops']),
  },
  { requiredKeys: [] },
)
const request: fc.Arbitrary<HypotheticalRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'PUT', 'POST'),
    path: fc.oneof(
      fc.constantFrom('/', '/a', '/ab', '/a/b', '/a/bc', '/a/b/c', '/b', '/b/a'),
      nearTested.map((text) => `/${text}`),
    ),
    headers: fc.oneof(
      fc.constantFrom<[string, string][]>([], [['x', '1']], [['x', '2']]),
      nearTested.map((text): [string, string][] => [['x', text]]),
    ),
    host: fc.constantFrom('example.com', 'example.com', 'a.example.com', 'b.com'),
    source: fc.constantFrom('10.0.0.7', '10.1.0.7', '192.0.2.1'),
    jwt: fc.option(claims, { nil: undefined }),
  })
  .map(({ jwt, ...rest }) => ({
    ...rest,
    search: '',
    sourcePort: 1,
    listener: 'default/listener-0',
    identity: jwt === undefined ? {} : { jwt: { iss: TOKEN.issuer, ...jwt } },
  }))

type Routes = readonly (typeof route extends fc.Arbitrary<infer T> ? T & Named : never)[]

interface Named {
  /** Numbered if not set. */
  readonly name?: string
}

/** Returns how many of the requests are decided differently, which the diff must report. */
function compare(before: Routes, after: Routes, requests: readonly HypotheticalRequest[]): number {
  const [old, now] = [modelFrom(before), modelFrom(after)]
  const [was, is] = [openVerdicts(old), openVerdicts(now)]
  const found: SemanticDiff = compareModels(old, now, {
    old: (one) => was.decide(hypotheticalOf(one)),
    now: (one) => is.decide(hypotheticalOf(one)),
  })
  const isExact = !OPAQUE.test(JSON.stringify([before, after]))
  // A request with an invalid token passes where no policy checks it; these requests have none.
  const byRules = found.untold.filter(({ why }) => !why.includes('jwtAuthentication'))
  if (isExact && areSizesUsual) assert.deepEqual(byRules, [])
  let differing = 0
  for (const one of requests) {
    const [a, b] = [was.decide(one).isAdmitted, is.decide(one).isAdmitted]
    if (a === b) continue
    differing++
    const kind = b ? 'admitted' : 'refused'
    const all = [...found.differences, ...found.untold]
    assert.ok(
      all.some((difference) => difference.kind === kind),
      JSON.stringify(one),
    )
  }
  was.close()
  is.close()
  return differing
}

describe('the semantic diff is true', () => {
  it('for random routes, rules and requests', () => {
    let differing = 0
    const requests = fc.array(request, { minLength: 12, maxLength: 12 })
    const property = fc.property(written, written, requests, (before, after, all) => {
      differing += compare(before, after, all)
    })
    assertProperty('policy-diff', property, fuzz(0.2))
    assert.ok(differing > 0)
  })

  it('for the policies of one route among others', () => {
    let differing = 0
    const requests = fc.array(request, { minLength: 12, maxLength: 12 })
    const changes = fc.record({ at: fc.nat(2), other: route })
    const property = fc.property(written, changes, requests, (before, { at, other }, all) => {
      const changed = at % before.length
      const { rules, token } = other
      const after = before.map((one, index) => (index === changed ? { ...one, rules, token } : one))
      differing += compare(before, after, all)
    })
    assertProperty('policy-diff-one-route', property, fuzz(0.2))
    assert.ok(differing > 0)
  })

  it('for a route that is added among others, or removed', () => {
    let differing = 0
    const requests = fc.array(request, { minLength: 12, maxLength: 12 })
    const changes = fc.record({ at: fc.nat(3), other: route, isRemoved: fc.boolean() })
    const property = fc.property(written, changes, requests, (some, change, all) => {
      const { at, other, isRemoved } = change
      const kept = some.map((one, index) => ({ ...one, name: `kept-${index}` }))
      const more = kept.toSpliced(at % (kept.length + 1), 0, { ...other, name: 'other' })
      differing += isRemoved ? compare(more, kept, all) : compare(kept, more, all)
    })
    assertProperty('policy-diff-added-route', property, fuzz(0.2))
    assert.ok(differing > 0)
  })

  it('for rules about parts of one string', () => {
    let differing = 0
    const anywhere = {
      path: '/',
      isExact: false,
      method: undefined,
      header: undefined,
      token: 'Strict',
      host: undefined,
    } as const
    const requests = fc.array(request, { minLength: 40, maxLength: 40 })
    const property = fc.property(narrowedTests, fc.boolean(), requests, (texts, isWider, all) => {
      const routes = texts.map((text): Routes => [{ ...anywhere, rules: [['allow', text]] }])
      const [wide, narrow] = routes as [Routes, Routes]
      differing += isWider ? compare(narrow, wide, all) : compare(wide, narrow, all)
    })
    assertProperty('policy-diff-one-string', property, fuzz(0.4))
    assert.ok(differing > 0)
  })

  it('a configuration does not differ from itself', () => {
    const never = () => assert.fail('nothing is to be asked')
    const property = fc.property(written, (routes) => {
      const both = [modelFrom(routes), modelFrom(routes)] as const
      assert.deepEqual(compareModels(...both, { old: never, now: never }), {
        differences: [],
        untold: [],
      })
    })
    assertProperty('policy-diff-itself', property, fuzz(0.1))
  })
})
