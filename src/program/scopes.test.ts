import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import {
  decide,
  hostBackend,
  outcome,
  policies,
  programOf,
  type WrittenModel,
} from '../../test/program/models.ts'
import type { Attached, Level, Section } from '../model/policy.ts'
import { keySetText, signerOf, tokenOf } from '../policies/jwt-authentication/fixtures/tokens.ts'
import { POLICY_SCHEMAS } from '../policies/schema.ts'

const SIGNER = signerOf('ES256')
const jwks = keySetText(SIGNER)
const LATER = 4_000_000_000

/** Accepts the tokens of one issuer, from a separate header. */
const jwtOf = (issuer: string, mode = 'Strict') => ({
  jwtAuthentication: { mode, issuer, jwks, location: { header: { name: `x-${issuer}` } } },
})
const requires = (sub: string) => ({
  authorization: { rules: [{ require: `jwt.sub == '${sub}'` }] },
})
const at = (level: Level, policy: string, ...written: readonly object[]): readonly Attached[] =>
  written.flatMap((one) => policies(one as never, level, 'traffic', policy))

/** A token from each issuer, each with a subject named after the issuer. */
const tokens = (...issuers: readonly string[]) => ({
  headers: Object.fromEntries(
    issuers.map((iss) => [`x-${iss}`, tokenOf(SIGNER, { iss, sub: iss, exp: LATER })]),
  ),
})

describe('a rule sees the claims', () => {
  const backendRule = (sub: string) => policies(requires(sub), 'backend', 'backend', 'backend:up')
  for (const [what, written, sent, expected] of [
    [
      'of its own policy',
      { routes: [{ policies: at('route', 'own', jwtOf('a'), requires('a')) }] },
      ['a'],
      'up',
    ],
    [
      'of the gateway around its route',
      {
        gateway: at('gateway', 'g', jwtOf('a')),
        routes: [{ policies: at('route', 'own', requires('a')) }],
      },
      ['a'],
      'up',
    ],
    [
      'not of a neighbour on the same route',
      {
        routes: [
          { policies: [...at('route', 'one', jwtOf('a')), ...at('route', 'two', requires('a'))] },
        ],
      },
      ['a'],
      '403 authorization',
    ],
    [
      'not of a level below it',
      {
        gateway: at('gateway', 'same', requires('a')),
        routes: [{ policies: at('route', 'same', jwtOf('a')) }],
      },
      ['a'],
      '403 authorization',
    ],
    [
      'of its own policy before those of the gateway',
      {
        gateway: at('gateway', 'g', jwtOf('a')),
        routes: [{ policies: at('route', 'own', jwtOf('b'), requires('b')) }],
      },
      ['a', 'b'],
      'up',
    ],
    [
      'of the gateway, where only a neighbour has some at its level',
      {
        gateway: at('gateway', 'g', jwtOf('a')),
        routes: [
          { policies: [...at('route', 'one', jwtOf('b')), ...at('route', 'two', requires('a'))] },
        ],
      },
      ['a', 'b'],
      'up',
    ],
    [
      'of nobody where its own policy found none, whatever the gateway has',
      {
        gateway: at('gateway', 'g', jwtOf('a')),
        routes: [{ policies: at('route', 'own', jwtOf('b', 'Optional'), requires('a')) }],
      },
      ['a'],
      '403 authorization',
    ],
    [
      'of the listener, which is nearer than the gateway',
      {
        gateway: at('gateway', 'g', jwtOf('a')),
        listeners: [{ policies: at('listener', 'l', jwtOf('b')) }],
        routes: [{ policies: at('route', 'own', requires('b')) }],
      },
      ['a', 'b'],
      'up',
    ],
    [
      'of the first of two neighbours around it that verified a token',
      {
        gateway: [
          ...at('gateway', 'g', jwtOf('a', 'Permissive')),
          ...at('gateway', 'h', jwtOf('b')),
        ],
        routes: [{ policies: at('route', 'own', requires('b')) }],
      },
      ['b'],
      'up',
    ],
    [
      'at the backend stage, of the route that leads there',
      {
        routes: [{ policies: at('route', 'own', jwtOf('a')) }],
        backends: [hostBackend('up', backendRule('a'))],
      },
      ['a'],
      'up',
    ],
    [
      'at the backend stage, of the gateway',
      { gateway: at('gateway', 'g', jwtOf('a')), backends: [hostBackend('up', backendRule('b'))] },
      ['a'],
      '403 authorization',
    ],
  ] as const) {
    it(`${what}: ${expected}`, async () => {
      const program = programOf(written as WrittenModel)
      assert.deepEqual(program.diagnostics, [])
      assert.equal(await outcome(program, tokens(...sent)), expected)
    })
  }

  it('a Deny rule beside it neither matches nor is affected', async () => {
    const deny = { authorization: { rules: [{ deny: "jwt.sub == 'a'" }] } }
    const program = programOf({
      routes: [
        {
          policies: [...at('route', 'one', jwtOf('a'), requires('a')), ...at('route', 'two', deny)],
        },
      ],
    })
    assert.equal(await outcome(program, tokens('a')), 'up')
  })
})

describe('authentication runs before any authorization', () => {
  it('and every policy must accept', async () => {
    const program = programOf({
      gateway: at('gateway', 'g', jwtOf('a'), {
        authorization: { rules: [{ deny: 'request.path == "/"' }] },
      }),
      routes: [{ policies: at('route', 'own', jwtOf('b')) }],
    })
    assert.equal(await outcome(program, tokens('a')), '401 authentication')
    assert.equal(await outcome(program, tokens('b')), '401 authentication')
    assert.equal(await outcome(program, tokens('a', 'b')), '403 authorization')
  })
})

describe('expressions outside rules', () => {
  const responding = (text: string) => ({ directResponse: { status: 200, bodyExpression: text } })
  const body = async (written: WrittenModel, ...sent: readonly string[]) =>
    (await decide(programOf(written), tokens(...sent))).reply?.body
  it('see claims of their own policy too, and later ones see their own again', async () => {
    const gateway = at('gateway', 'g', jwtOf('a'), responding('jwt.sub'))
    const route = at('route', 'own', jwtOf('b'), requires('b'))
    assert.equal(await body({ gateway, routes: [{ policies: route }] }, 'a', 'b'), 'a')
  })

  it('see no claims of policies beside them', async () => {
    const policies = [
      ...at('route', 'one', jwtOf('a')),
      ...at('route', 'two', responding('has(jwt.sub)')),
    ]
    assert.notEqual(await body({ routes: [{ policies }] }, 'a'), 'true')
  })

  it('see the most specific claims at the end', async () => {
    const program = programOf({
      gateway: at('gateway', 'g', jwtOf('a')),
      routes: [{ policies: at('route', 'own', jwtOf('b'), requires('b')) }],
      backends: [hostBackend('up', policies(requires('b'), 'backend', 'backend', 'backend:up'))],
    })
    const { exchange, backend } = await decide(program, tokens('a', 'b'))
    assert.equal(backend?.name, 'up')
    exchange.enter(undefined)
    assert.equal(exchange.jwt?.['sub'], 'b')
  })
})

describe('shared compiled rules', () => {
  it('stay separate for the same route rule on two gateways', async () => {
    const model = (issuer: string) =>
      programOf({
        listeners: [
          { policies: at('listener', 'l', jwtOf(issuer)) },
          { policies: at('listener', 'm', jwtOf('b')) },
        ],
        routes: [{ policies: at('route', 'own', requires('b')) }],
      })
    const program = model('a')
    assert.equal(await outcome(program, tokens('a'), 0), '403 authorization')
    assert.equal(await outcome(program, tokens('b'), 1), 'up')
  })

  it('stay separate for a backend used by two routes', async () => {
    const path = (value: string) => [{ path: { kind: 'prefix', value } }] as const
    const program = programOf({
      routes: [
        { matches: path('/a'), policies: at('route', 'r', jwtOf('a')) },
        { matches: path('/b'), policies: at('route', 'r', jwtOf('b')) },
      ],
      backends: [hostBackend('up', policies(requires('b'), 'backend', 'backend', 'backend:up'))],
    })
    assert.equal(await outcome(program, { url: '/a', ...tokens('a') }), '403 authorization')
    assert.equal(await outcome(program, { url: '/b', ...tokens('b') }), 'up')
  })

  it('do not use gateway claims if the route found none', async () => {
    const program = programOf({
      gateway: at('gateway', 'g', jwtOf('a', 'Optional')),
      routes: [{ policies: at('route', 'r', jwtOf('b', 'Optional')) }],
      backends: [hostBackend('up', policies(requires('a'), 'backend', 'backend', 'backend:up'))],
    })
    assert.equal(await outcome(program, tokens('a')), '403 authorization')
  })
})

describe('claim scopes of any policies at any levels', () => {
  const LEVELS = ['gateway', 'listener', 'route'] as const
  const one = fc.record({
    level: fc.constantFrom(...LEVELS),
    policy: fc.constantFrom('p', 'q'),
    issuer: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
    wants: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
  })
  type One = typeof one extends fc.Arbitrary<infer T> ? T : never

  /** Design: the identity of its own policy, otherwise of the nearest level that has one. */
  function sees(all: readonly One[], { level, policy }: One): string | undefined {
    const having = all.filter(({ issuer }) => issuer !== undefined)
    const own = having.find((other) => other.level === level && other.policy === policy)
    if (own !== undefined) return own.issuer
    const above = LEVELS.slice(0, LEVELS.indexOf(level)).toReversed()
    for (const near of above) {
      const found = having.find((other) => other.level === near)
      if (found !== undefined) return found.issuer
    }
    return undefined
  }

  it('match a plain evaluation', async () => {
    const property = fc.asyncProperty(fc.array(one, { maxLength: 6 }), async (all) => {
      const written = (level: Level) =>
        all
          .filter((own) => own.level === level)
          .flatMap(({ policy, issuer, wants }) =>
            at(
              level,
              policy,
              ...(issuer === undefined ? [] : [jwtOf(issuer)]),
              ...(wants === undefined ? [] : [requires(wants)]),
            ),
          )
      const program = programOf({
        gateway: written('gateway'),
        listeners: [{ policies: written('listener') }],
        routes: [{ policies: written('route') }],
      })
      const expected = all.every((own) => own.wants === undefined || own.wants === sees(all, own))
      assert.equal(await outcome(program, tokens('a', 'b')), expected ? 'up' : '403 authorization')
    })
    await fc.assert(property, fuzz(0.1))
  })
})

describe('policy kinds that identify callers', () => {
  it('all compose, since each of them must accept', () => {
    const section: Section = 'traffic'
    for (const { identifies, composes, sections } of POLICY_SCHEMAS) {
      if (identifies.length === 0) continue
      assert.ok(composes)
      assert.ok(section in sections)
    }
  })
})
