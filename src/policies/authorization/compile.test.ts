import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { decide, hostBackend, outcome, policies, programOf } from '../../../test/program/models.ts'
import { variablesOf } from '../define.ts'

const user = (name: string) => `request.headers['x-user'] == '${name}'`
const INTERNAL = "request.headers['x-internal'] == 'true'"
const rules = (...list: unknown[]) => ({ authorization: { rules: list } })

// The example of the specification: an Allow for alice in one policy, a Require in another.
describe('authorization: Require cannot be bypassed by Allow', () => {
  const program = programOf({
    gateway: rules({ require: INTERNAL }),
    routes: [{ policies: rules(user('alice')) }],
  })
  for (const [name, internal, expected] of [
    ['alice', 'true', 'up'],
    ['alice', undefined, '403 authorization'],
    ['bob', 'true', '403 authorization'],
    ['bob', undefined, '403 authorization'],
  ] as const) {
    it(`${name}, x-internal ${internal ?? 'absent'}: ${expected}`, async () => {
      const headers = {
        'x-user': name,
        ...(internal === undefined ? {} : { 'x-internal': internal }),
      }
      assert.equal(await outcome(program, { headers }), expected)
    })
  }
})

describe('authorization: one set over all levels', () => {
  for (const [what, gateway, route, expected] of [
    ['no rules', [], [], 'up'],
    ['an Allow of either level admits', [user('alice')], [user('bob')], 'up'],
    ['an Allow that does not match denies', [user('bob')], [], '403 authorization'],
    [
      'a Deny of the gateway beats an Allow of the route',
      [{ deny: user('alice') }],
      [user('alice')],
      '403 authorization',
    ],
    [
      'a Deny of the route beats an Allow of the gateway',
      [user('alice')],
      [{ deny: user('alice') }],
      '403 authorization',
    ],
    [
      'only Deny rules, none of which matches',
      [{ deny: user('bob') }],
      [{ deny: user('eve') }],
      'up',
    ],
    ['a Deny on what is unset does not fire', [{ deny: "jwt.group != 'eng'" }], [], 'up'],
    [
      'a Require on what is unset denies',
      [{ require: "jwt.group == 'eng'" }],
      [],
      '403 authorization',
    ],
    ['an Allow on what is unset does not admit', ["jwt.group == 'eng'"], [], '403 authorization'],
    [
      'every Require must hold',
      [{ require: user('alice') }],
      [{ require: INTERNAL }],
      '403 authorization',
    ],
  ] as const) {
    it(what, async () => {
      const program = programOf({
        gateway: gateway.length === 0 ? {} : rules(...gateway),
        routes: [{ policies: route.length === 0 ? {} : rules(...route) }],
      })
      assert.equal(await outcome(program, { headers: { 'x-user': 'alice' } }), expected)
    })
  }

  it('supports the block form and audit mode', async () => {
    const block = { action: 'Deny', policy: { matchExpressions: ['false', user('alice')] } }
    const at = (authorization: object) => programOf({ routes: [{ policies: { authorization } }] })
    const headers = { 'x-user': 'alice' }
    assert.equal(await outcome(at(block), { headers }), '403 authorization')
    assert.equal(await outcome(at(block)), 'up')
    assert.equal(await outcome(at({ ...block, mode: 'Audit' }), { headers }), 'up')
    const allow = { action: 'Allow', policy: block.policy, mode: 'Audit' }
    assert.equal(await outcome(at(allow)), 'up', 'an Allow that is audited makes nobody need one')
  })

  it('backend rules see the backend, and form a separate set', async () => {
    const guard = (rule: unknown) => policies(rules(rule), 'backend', 'backend')
    const backend = hostBackend(
      'up',
      guard({ require: "backend.name == 'up' && request.method == 'GET'" }),
    )
    const program = programOf({ routes: [{ policies: rules(user('alice')) }], backends: [backend] })
    const headers = { 'x-user': 'alice' }
    assert.equal(await outcome(program, { headers }), 'up')
    assert.equal(await outcome(program, { headers, method: 'POST' }), '403 authorization')
    assert.equal(await outcome(program), '403 authorization')
  })

  it('evaluates gateway rules first if no route matches', async () => {
    const program = programOf({ gateway: rules(user('alice')), routes: [] })
    assert.equal(await outcome(program), '403 authorization')
    assert.equal(await outcome(program, { headers: { 'x-user': 'alice' } }), '404 no-route')
  })
})

describe('authorization fails closed', () => {
  for (const [what, gateway, route] of [
    ['an invalid policy of the route', {}, { authorization: null }],
    [
      'an invalid policy of the gateway, beside a valid one',
      { authorization: null },
      rules('true'),
    ],
    ['a policy of a kind that nobody knows', {}, { authorisation: null }],
    ['an expression with an error', {}, rules('request.nothing == 1', 'true')],
    [
      'an expression with an error at the gateway',
      rules({ deny: 'request.path == 1' }),
      rules('true'),
    ],
  ] as const) {
    it(what, async () => {
      const program = programOf({ gateway, routes: [{ policies: route }] })
      assert.equal(await outcome(program), '500 invalid-policy')
    })
  }

  for (const [what, gateway, route, level, kind, reason] of [
    ['an invalid policy', {}, { cors: null }, 'route', 'cors', undefined],
    [
      'an expression with an error',
      rules({ deny: 'request.path == 1' }),
      rules('true'),
      'gateway',
      'authorization',
      /^PC\d{4}: ./,
    ],
  ] as const) {
    it(`${what} is named by what is decided, also where nobody asks yet`, async () => {
      const program = programOf({ gateway, routes: [{ policies: route }] })
      const { exchange, route: own } = await decide(program)
      const [decision, ...more] = exchange.decisions
      assert.deepEqual(more, [])
      assert.deepEqual([decision?.cause, decision?.stage], ['invalid-policy', 'traffic'])
      assert.deepEqual([decision?.invalid?.level, decision?.invalid?.kind], [level, kind])
      const said = decision?.failure?.reason
      if (reason === undefined) assert.equal(said, undefined)
      else assert.match(said ?? '', reason)
      assert.deepEqual(own.decider?.decide(variablesOf(exchange)), decision)
    })
  }

  it('an invalid policy of a backend affects only this backend', async () => {
    const backend = hostBackend('bad', policies({ authorization: null }, 'backend', 'backend'))
    const path = (value: string) => [{ path: { kind: 'prefix', value } }] as const
    const program = programOf({
      routes: [{ matches: path('/a'), backends: ['bad'] }, { matches: path('/b') }],
      backends: [backend],
    })
    assert.equal(await outcome(program, { url: '/a' }), '500 invalid-policy')
    assert.equal(await outcome(program, { url: '/b' }), 'up')
  })

  it('reports where the error is', () => {
    const program = programOf({ gateway: rules('true', { deny: 'request.nothing' }) })
    const error = program.diagnostics.find(({ severity }) => severity === 'error')
    assert.deepEqual(error?.origin, {
      kind: 'object',
      object: 'test',
      field: 'authorization.rules[1].deny',
    })
  })
})

describe('authorization: separately compiled levels decide as one set', () => {
  const rule = fc.tuple(fc.constantFrom('allow', 'require', 'deny'), fc.constantFrom('a', 'b', 'c'))
  const level = fc.array(rule, { maxLength: 3 })
  it('for any rules at any level', async () => {
    const property = fc.asyncProperty(
      level,
      level,
      fc.subarray(['a', 'b', 'c']),
      async (above, own, set) => {
        const written = (list: readonly (readonly [string, string])[]) =>
          list.length === 0
            ? {}
            : rules(
                ...list.map(([action, name]) => ({
                  [action]: `request.headers['${name}'] == '1'`,
                })),
              )
        const program = programOf({ gateway: written(above), routes: [{ policies: written(own) }] })
        const headers = Object.fromEntries(set.map((name) => [name, '1']))
        const all = [...above, ...own]
        const holds = (name: string) => set.includes(name)
        const of = (action: string) => all.filter(([one]) => one === action).map(([, name]) => name)
        const allowed =
          !of('deny').some(holds) &&
          of('require').every(holds) &&
          (of('allow').length === 0 || of('allow').some(holds))
        assert.equal(await outcome(program, { headers }), allowed ? 'up' : '403 authorization')
      },
    )
    await fc.assert(property, { ...fuzz(0.1) })
  })
})
