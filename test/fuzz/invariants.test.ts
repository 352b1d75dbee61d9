import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { prove } from '../../src/analysis/invariants/prove.ts'
import { BOOL } from '../../src/cel/check/types.ts'
import { compile, STAGES } from '../../src/cel/index.ts'
import type { JsonObject } from '../../src/cel/values/value.ts'
import { hypotheticalOf } from '../../src/cli/diff.ts'
import { openVerdicts } from '../../src/cli/verdicts.ts'
import type { Model } from '../../src/model/model.ts'
import type { HypotheticalRequest } from '../../src/program/explain.ts'
import { modelOf } from '../program/models.ts'
import { assertProperty } from './assert-property.ts'
import { claimValues } from './claim-values.ts'
import { fuzz } from './runs.ts'
import { narrowedTests, nearTested, testsOfOneString } from './string-tests.ts'

/**
 * Conclusions of `prove` about all requests hold for random requests: the configuration decides
 * each request, and the condition is evaluated separately, not as a rule.
 */

const ATOMS = [
  "request.method == 'GET'",
  "request.path.startsWith('/a')",
  "request.path == '/a' || request.path.startsWith('/a/')",
  "request.host == 'a.test'",
  "request.host.endsWith('.test')",
  "request.headers['x'] == '1'",
  "'x' in request.headers",
  "jwt.sub == 'alice'",
  'has(jwt.sub)',
  'jwt.risk > 0.5',
  'jwt.risk >= 0.9',
  'jwt.level == 2',
  "'eng' in jwt.groups",
  "'roles' in jwt.realm",
  "'admin' in jwt.realm.roles",
  "jwt.groups.exists(g, g == 'ops')",
  'size(request.path) > 3',
  "request.path.matches('^/a')",
]
const atom = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ATOMS) },
  { weight: 1, arbitrary: narrowedTests.map(([wide]) => wide) },
)
const condition = fc.oneof(
  atom,
  atom.map((one) => `!(${one})`),
  fc.tuple(atom, atom).map(([a, b]) => `(${a}) && (${b})`),
  fc.tuple(atom, atom).map(([a, b]) => `(${a}) || !(${b})`),
)
const rules = fc.array(fc.tuple(fc.constantFrom('allow', 'require', 'deny'), condition), {
  maxLength: 3,
})
const TOKEN = { issuer: 'https://issuer.example', jwks: { inline: '{"keys":[]}' } }

const route = fc.record({
  rules,
  path: fc.constantFrom(undefined, '/a', '/b'),
  hostnames: fc.constantFrom<string[]>([], ['a.test'], ['*.test'], ['a.test', 'b.test']),
  token: fc.constantFrom('Strict', 'Optional', undefined),
  /** The gateway itself responds. */
  isDirect: fc.constantFrom(false, false, true),
})
const written = fc.record({
  routes: fc.array(route, { minLength: 1, maxLength: 3 }),
  gateway: rules,
})

type Written = typeof written extends fc.Arbitrary<infer T> ? T : never

function modelFrom({ routes, gateway }: Written) {
  const block = (own: readonly (readonly [string, string])[]) =>
    own.length === 0
      ? {}
      : { authorization: { rules: own.map(([action, text]) => ({ [action]: text })) } }
  return modelOf({
    gateway: block(gateway),
    routes: routes.map(({ rules, path, hostnames, token, isDirect }) => ({
      hostnames,
      ...(path === undefined ? {} : { matches: [{ path: { kind: 'prefix', value: path } }] }),
      policies: {
        ...(token === undefined ? {} : { jwtAuthentication: { ...TOKEN, mode: token } }),
        ...(isDirect ? { directResponse: { status: 200 } } : {}),
        ...block(rules),
      },
    })),
  })
}

const value = claimValues(ATOMS)
const claims = fc.record(
  {
    sub: fc.oneof(fc.constantFrom('alice', 'bob'), value),
    risk: fc.oneof(fc.constantFrom(0.4, 0.5, 0.7, 0.9, 1), value),
    level: value,
    groups: fc.oneof(fc.subarray(['eng', 'ops']), value),
    realm: fc.oneof(fc.record({ roles: fc.subarray(['admin', 'user']) }), value),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const request: fc.Arbitrary<HypotheticalRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'get'),
    path: fc.oneof(
      fc.constantFrom('/', '/a', '/ab', '/a/b', '/b', '/bc/a'),
      nearTested.map((text) => `/${text}`),
    ),
    host: fc.constantFrom('a.test', 'b.test', 'test', 'c.example', ''),
    headers: fc.oneof(
      fc.constantFrom<[string, string][]>([], [['x', '1']], [['x', '']]),
      nearTested.map((text): [string, string][] => [['x', text]]),
    ),
    jwt: fc.option(claims, { nil: undefined, freq: 5 }),
  })
  .map(({ jwt, ...rest }) => ({
    ...rest,
    source: '192.0.2.1',
    search: '',
    sourcePort: 1,
    listener: 'default/listener-0',
    identity: jwt === undefined ? {} : { jwt: { iss: TOKEN.issuer, ...jwt } as JsonObject },
  }))

/** Evaluates the condition separately. A route without authentication has no token to read. */
function isTrue(text: string, hypothetical: HypotheticalRequest, hasToken: boolean): boolean {
  const { expression } = compile(text, STAGES.traffic, { expect: BOOL })
  assert.ok(expression)
  const { method, path, host, headers, identity } = hypothetical
  const names = Object.fromEntries(headers)
  return expression.predicate()({
    request: { method, path, host, headers: names },
    ...(hasToken ? identity : {}),
  } as unknown as JsonObject)
}

function open(model: Model) {
  const verdicts = openVerdicts(model)
  return {
    decide: (one: Parameters<typeof hypotheticalOf>[0]) =>
      verdicts.decide(hypotheticalOf(one), one.isConnection),
    close: () => verdicts.close(),
  }
}

describe('invariants', () => {
  it('a proven invariant is never broken, and a counterexample is admitted and breaks it', () => {
    const counts = { proven: 0, refuted: 0, 'not known': 0 }
    const check = (
      config: Written,
      when: string | undefined,
      admitted: string,
      requests: readonly HypotheticalRequest[],
    ) => {
      const model = modelFrom(config)
      const origin = { kind: 'object', object: 'invariant', field: '' } as const
      const proof = prove(model, { name: 'it', origin, on: {}, when, admitted }, open)
      counts[proof.kind]++
      const verdicts = openVerdicts(model)
      const hasToken = (name: string) =>
        config.routes[Number(/\d+$/.exec(name)?.[0])]?.token !== undefined
      const breaks = (one: HypotheticalRequest) => {
        const { isAdmitted, route: name } = verdicts.decide(one)
        if (!isAdmitted) return false
        const own = hasToken(name)
        return (when === undefined || isTrue(when, one, own)) && !isTrue(admitted, one, own)
      }
      try {
        const said = `${when ?? 'true'} implies ${admitted} in ${fc.stringify(config)}`
        if (proof.kind === 'proven') {
          const broken = requests.find(breaks)
          assert.equal(broken, undefined, `${said}: ${fc.stringify(broken)}`)
        }
        if (proof.kind !== 'refuted') return
        for (const { example } of proof.examples) {
          assert.ok(breaks(hypotheticalOf(example)), `${said}: ${fc.stringify(example)}`)
        }
      } finally {
        verdicts.close()
      }
    }
    const when = fc.option(condition, { nil: undefined })
    const requests = fc.array(request, { minLength: 40, maxLength: 40 })
    const ofAll = fc.property(written, when, condition, requests, check)
    assertProperty('invariants', ofAll, fuzz(0.05, 40))
    // A single rule with several tests of one string.
    const ofOne = fc.tuple(narrowedTests, testsOfOneString, fc.boolean())
    const property = fc.property(ofOne, requests, ([[rule], [test], isTrue], all) => {
      const rules: Written['gateway'] = [['allow', rule]]
      const route = { path: undefined, hostnames: [], token: undefined, isDirect: false, rules }
      const config: Written = { gateway: [], routes: [route] }
      check(config, undefined, isTrue ? test : `!${test}`, all)
    })
    assertProperty('invariants-one-string', property, fuzz(0.3))
    // The conditions are of forms that are analyzed, so that few results are not known.
    const all = counts.proven + counts.refuted + counts['not known']
    assert.ok(counts['not known'] <= Math.max(2, all * 0.05), fc.stringify(counts))
    if (process.env['FUZZ_RUNS'] !== undefined) console.log(`invariants: ${fc.stringify(counts)}`)
  })
})
