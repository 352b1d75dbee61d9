import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty } from '../../../test/fuzz/assert-property.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { BOOL } from '../check/types.ts'
import { compile, type Expression } from '../compile.ts'
import { STAGES } from '../stages.ts'
import { parseIp } from '../values/ip.ts'
import type { Value } from '../values/value.ts'
import { explainRules } from './explain-rules.ts'
import { type Action, compileFewRules, compileRule, compileRules, type Rule } from './rule-set.ts'

type Backend = 'generated' | 'closures'
type Written = readonly [action: Action, text: string]

function rulesOf(written: readonly Written[], backend: Backend = 'generated'): Rule[] {
  return written.map(([action, text]) => {
    const { expression, diagnostics } = compile(text, STAGES.traffic, { backend, expect: BOOL })
    assert.ok(expression, `${text}: ${diagnostics[0]?.message}`)
    return { action, expression: expression as Expression }
  })
}

interface Request {
  readonly claims: Record<string, Value> | undefined
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly address: string
}

function variablesOf({ claims, path, method, headers, address }: Request) {
  return {
    jwt: claims,
    request: { path, method, headers },
    source: { address: parseIp(address) },
  } as unknown as Record<string, Value | undefined>
}

const REQUEST: Request = {
  claims: { sub: 'alice', groups: ['eng'] },
  path: '/api/v1/users',
  method: 'GET',
  headers: { 'x-internal': 'true' },
  address: '10.0.0.7',
}

describe('a rule set', () => {
  const alice: Written = ['Allow', "jwt.sub == 'alice'"]
  const internal: Written = ['Require', "request.headers['x-internal'] == 'true'"]
  const admin: Written = ['Deny', "request.path.startsWith('/admin')"]
  const external = { headers: {} }
  const bob = { claims: { sub: 'bob' } }
  for (const [title, rules, request, allowed, cause] of [
    ['without rules admits', [], {}, true, 'no-rules'],
    ['Allow and Require, both met', [alice, internal], {}, true, 'matched'],
    ['Allow matches, Require does not', [alice, internal], external, false, 'unset'],
    ['Require is met, no Allow matches', [alice, internal], bob, false, 'no-allow-match'],
    ['neither', [alice, internal], { ...bob, ...external }, false, 'unset'],
    ['only Require, met', [internal], bob, true, 'no-rules'],
    ['Deny overrides a matching Allow', [alice, admin], { path: '/admin/x' }, false, 'matched'],
    ['only Deny, not matching, admits', [admin], {}, true, 'no-rules'],
    ['a Deny that errors does not fire', [['Deny', "jwt.group != 'eng'"]], {}, true, 'no-rules'],
    ['a Require that errors denies', [['Require', "jwt.group == 'eng'"]], {}, false, 'unset'],
    [
      'a Require without jwt denies',
      [['Require', "jwt.sub == 'x'"]],
      { claims: undefined },
      false,
      'unset',
    ],
    [
      'a Require that is false denies',
      [['Require', "request.method == 'POST'"]],
      {},
      false,
      'false',
    ],
    [
      'a Require that fails denies',
      [['Require', '1 / size(request.path.substring(99)) == 1']],
      {},
      false,
      'error',
    ],
    [
      'an Allow that errors does not admit',
      [['Allow', "jwt.group == 'eng'"]],
      {},
      false,
      'no-allow-match',
    ],
  ] as const satisfies readonly (readonly [
    string,
    readonly Written[],
    Partial<Request>,
    boolean,
    string,
  ])[]) {
    it(`${title}: ${allowed ? 'admitted' : 'denied'} (${cause})`, () => {
      const variables = variablesOf({ ...REQUEST, ...request })
      for (const backend of ['generated', 'closures'] as const) {
        const all = rulesOf(rules, backend)
        assert.equal(compileRules(all).decide(variables), allowed)
        assert.equal(compileRules(all, { index: false }).decide(variables), allowed)
        if (all.length === 1) {
          const [only] = all as [Rule]
          const [late, early] = [compileRule(only), compileRules(all)]
          assert.equal(late.admitting(variables), early.admitting(variables))
          assert.equal(late.denying(variables), early.denying(variables))
          assert.deepEqual(late.deciding(variables), early.deciding(variables))
          assert.deepEqual([late.decide(variables), late.counts], [allowed, early.counts])
          assert.equal(compileRule(only), late)
        }
        const verdict = explainRules(all, variables)
        assert.equal(verdict.allowed, allowed)
        assert.equal(verdict.cause, cause)
      }
    })
  }

  it('reports the deciding rule and the nearest Allow rule', () => {
    const rules = rulesOf([
      ['Allow', "jwt.sub == 'bob' && request.method == 'POST'"],
      ['Allow', "jwt.sub == 'alice' && request.path == '/x'"],
      ['Deny', "request.path == '/secret'"],
    ])
    const set = compileRules(rules)
    const denied = variablesOf({ ...REQUEST, path: '/secret' })
    assert.deepEqual(set.deciding(denied), { allowed: false, action: 'Deny', rule: 2 })
    const verdict = explainRules(rules, variablesOf(REQUEST))
    assert.equal(verdict.nearest?.rule, 1)
    const [miss] = verdict.nearest?.misses ?? []
    assert.equal(
      rules[1]?.expression.text.slice(miss?.atom.term.start, miss?.atom.term.end),
      "request.path == '/x'",
    )
  })

  for (const [why, allows, nearest] of [
    [
      'more of it is true',
      ["jwt.sub == 'bob'", "jwt.sub == 'bob' && 'eng' in jwt.groups", "jwt.sub == 'eve'"],
      1,
    ],
    [
      'it is about this path, though more of it is false',
      ["request.path == '/x'", "request.path.startsWith('/api') && jwt.sub == 'bob' && jwt.x == 1"],
      1,
    ],
    [
      'one of its alternatives is about this path',
      ["request.path == '/x'", "request.path == '/y' || (request.path != '/x' && jwt.x == 1)"],
      1,
    ],
    [
      'it is about nothing in particular',
      ["request.method in ['PUT', 'POST'] && 'eng' in jwt.groups", 'jwt.x == 1 && jwt.y == 2'],
      1,
    ],
    ['it is the first of several', ["jwt.sub == 'bob'", "jwt.sub == 'eve'"], 0],
  ] as const) {
    it(`the nearest Allow rule: ${why}`, () => {
      const rules = rulesOf(allows.map((text) => ['Allow', text]))
      assert.equal(explainRules(rules, variablesOf(REQUEST)).nearest?.rule, nearest)
    })
  }

  it('denies if a request makes a Deny rule too costly', () => {
    const groups = Array.from({ length: 400 }, (_, i) => `g${i}`)
    const text = 'jwt.groups.exists(a, jwt.groups.exists(b, a + b == "x"))'
    const rules = rulesOf([['Deny', text]])
    const variables = variablesOf({ ...REQUEST, claims: { groups } })
    assert.equal(compileRules(rules).decide(variables), false)
    assert.equal(explainRules(rules, variables).cause, 'error')
    const few = variablesOf({ ...REQUEST, claims: { groups: ['a'] } })
    assert.equal(compileRules(rules).decide(few), true)
  })

  it('keeps the remaining conditions of each alternative of a rule apart', () => {
    const both = (name: string) => `(jwt.sub == '${name}' && request.path.startsWith('/${name}/'))`
    const rules = rulesOf([
      ['Allow', `${both('a')} || ${both('b')}`],
      ['Allow', both('c')],
      ['Allow', both('d')],
    ])
    const set = compileRules(rules)
    for (const sub of ['a', 'b', 'c', 'd']) {
      for (const path of ['a', 'b', 'c', 'd']) {
        const variables = variablesOf({ ...REQUEST, claims: { sub }, path: `/${path}/x` })
        assert.equal(set.decide(variables), sub === path, `${sub} at /${path}/x`)
      }
    }
  })

  it('counts indexed lookups and scanned rules', () => {
    const names = ['a', 'b', 'c', 'd']
    const set = compileRules(
      rulesOf([
        ...names.map((name) => ['Allow', `jwt.sub == '${name}'`] as const),
        ...names.map(
          (name) => ['Allow', `request.path.startsWith('/${name}') && has(jwt.x)`] as const,
        ),
        ['Allow', "request.path.endsWith('.ico') || jwt.sub == 'e'"],
      ]),
    )
    assert.deepEqual(set.counts, { indexed: 9, linear: 1 })
  })
})

const text = fc.constantFrom('a', 'b', 'ab', 'abc', '', 'é', 'constructor')
const address = fc.constantFrom(
  '10.0.0.7',
  '10.1.0.1',
  '192.168.0.1',
  '2001:db8::1',
  '2001:db8:1::1',
)
const network = fc.constantFrom(
  '10.0.0.0/8',
  '10.0.0.0/16',
  '10.0.0.7/32',
  '0.0.0.0/0',
  '::/0',
  '2001:db8::/32',
  '2001:db8::/48',
  '2001:db8::1/128',
  '10.9.9.9/9',
)

const atom = fc.oneof(
  text.map((t) => `jwt.sub == '${t}'`),
  text.map((t) => `'${t}' == jwt.team`),
  text.map((t) => `jwt.team != '${t}'`),
  fc.integer({ min: 0, max: 3 }).map((n) => `jwt.level == ${n}`),
  fc.integer({ min: 0, max: 3 }).map((n) => `jwt.level > ${n}`),
  fc.array(text, { maxLength: 3 }).map((all) => `jwt.sub in [${all.map((t) => `'${t}'`).join()}]`),
  text.map((t) => `'${t}' in jwt.groups`),
  text.map((t) => `jwt.groups.exists(g, g == '${t}')`),
  text.map((t) => `jwt.groups.all(g, g != '${t}')`),
  text.map((t) => `request.path.startsWith('/${t}')`),
  text.map((t) => `jwt.sub.startsWith('${t}')`),
  text.map((t) => `request.headers['x-${t}'] == '${t}'`),
  network.map((n) => `cidr('${n}').containsIP(source.address)`),
  address.map((a) => `source.address == '${a}'`),
  fc
    .array(address, { minLength: 1, maxLength: 3 })
    .map((all) => `source.address in [${all.map((a) => `'${a}'`).join()}]`),
  fc.constantFrom('has(jwt.sub)', 'request.method == "GET"', 'true', 'false', 'jwt.level / 0 == 1'),
)

const expression = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    atom,
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} || ${b})`),
    tie('any').map((a) => `!(${a})`),
    fc.tuple(tie('any'), tie('any'), tie('any')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
  ),
})).any

const ruleSets = fc.array(
  fc.tuple(fc.constantFrom<Action>('Deny', 'Require', 'Allow', 'Allow'), expression),
  {
    maxLength: 24,
  },
)

const claim = fc.oneof(text, fc.integer({ min: 0, max: 3 }), fc.constant(null), fc.boolean())

const requests: fc.Arbitrary<Request> = fc.record({
  claims: fc.option(
    fc.record(
      {
        sub: claim,
        team: claim,
        level: claim,
        groups: fc.oneof(fc.array(claim, { maxLength: 3 }), claim),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Record<string, Value>>,
    { nil: undefined },
  ),
  path: text.map((t) => `/${t}`),
  method: fc.constantFrom('GET', 'POST'),
  headers: fc.dictionary(
    text.map((t) => `x-${t}`),
    text,
    { maxKeys: 3 },
  ),
  address,
})

describe('on random rule sets and requests', () => {
  it('the index, flat or not, the linear scan, closures and explain decide alike', () => {
    assertProperty(
      'rule-set',
      fc.property(ruleSets, fc.array(requests, { minLength: 1, maxLength: 6 }), (written, all) => {
        const rules = rulesOf(written)
        const indexed = compileRules(rules)
        const others = [
          compileRules(rules, { flatFrom: 1 }),
          compileRules(rules, { index: false }),
          compileRules(rulesOf(written, 'closures')),
          compileRules(rulesOf(written, 'closures'), { index: false }),
        ]
        for (const request of all) {
          const variables = variablesOf(request)
          const decision = indexed.decide(variables)
          for (const other of others) assert.equal(other.decide(variables), decision)
          assert.equal(explainRules(rules, variables).allowed, decision)
          const deciding = indexed.deciding(variables)
          assert.equal(deciding.allowed, decision)
          for (const set of [indexed, ...others]) {
            const { rule } = set.deciding(variables)
            assert.equal(explainRules(rules, variables, set).deciding?.rule ?? -1, rule)
          }
          assert.equal(explainRules(rules, variables).deciding?.rule ?? -1, deciding.rule)
          if (deciding.action === 'Deny' || (deciding.action === 'Allow' && decision)) {
            assert.equal(rules[deciding.rule]?.expression.predicate()(variables), true)
          }
        }
      }),
      fuzz(0.4),
    )
  })
})

describe('a set of few rules', () => {
  it('decides as one compiled at once, whatever the actions', () => {
    const texts = ["request.method == 'GET'", "request.path == '/a'", "jwt.sub == 'alice'"]
    const rule = fc.tuple(
      fc.constantFrom<Action>('Allow', 'Deny', 'Require'),
      fc.constantFrom(...texts),
    )
    const request = fc.record({
      method: fc.constantFrom('GET', 'PUT'),
      path: fc.constantFrom('/a', '/b'),
      claims: fc.constantFrom({ sub: 'alice' }, { sub: 'bob' }, undefined),
    })
    assertProperty(
      'rule-set-decisions',
      fc.property(fc.array(rule, { maxLength: 8 }), request, (written, own) => {
        const variables = variablesOf({ ...REQUEST, ...own })
        const [few, all] = [compileFewRules(rulesOf(written)), compileRules(rulesOf(written))]
        assert.equal(few.decide(variables), all.decide(variables))
        assert.deepEqual(few.deciding(variables), all.deciding(variables))
        assert.equal(few.admitting(variables), all.admitting(variables))
        assert.equal(few.denying(variables), all.denying(variables))
        assert.deepEqual(few.counts, all.counts)
      }),
      fuzz(1),
    )
  })
})
