import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, headersOf, policies, programOf } from '../../../test/program/models.ts'
import { keySetText, signerOf, tokenOf } from '../jwt-authentication/fixtures/tokens.ts'
import { policySchema } from '../schema.ts'

const SIGNER = signerOf('ES256')
const LATER = 4_000_000_000
const GOOD = tokenOf(SIGNER, { sub: 'alice', exp: LATER })
const EXPIRED = tokenOf(SIGNER, { exp: 1 })

const anyOf = [
  { jwtAuth: { issuer: 'https://issuer.example', jwks: keySetText(SIGNER) } },
  { apiKey: { keys: [{ key: 'alpha', metadata: { user: 'robot' } }] } },
  { basicAuth: { users: ['bob:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='] } },
]
const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })

/** The identity, or the response. */
async function said(mode: string, asked: object): Promise<string> {
  const program = programOf({
    routes: [{ policies: { authentication: { mode, anyOf } } }],
  })
  const { exchange, reply } = await decide(program, asked)
  if (reply?.status === 401) return `401 ${exchange.rejection?.method} ${exchange.rejection?.fault}`
  const { jwt, apiKey, basicAuth } = exchange
  return String(jwt?.['sub'] ?? apiKey?.['user'] ?? basicAuth?.['username'] ?? 'nobody')
}

describe('any of several credentials', () => {
  for (const [what, asked, strict, optional, permissive] of [
    ['a token', bearer(GOOD), 'alice', 'alice', 'alice'],
    ['a key where a token would stand', bearer('alpha'), 'robot', 'robot', 'robot'],
    [
      'a password',
      { headers: { authorization: `Basic ${btoa('bob:secret')}` } },
      'bob',
      'bob',
      'bob',
    ],
    ['nothing', {}, '401 jwt missing', 'nobody', 'nobody'],
    ['an expired token', bearer(EXPIRED), '401 jwt expired', '401 jwt expired', 'nobody'],
    ['neither token nor key', bearer('x'), '401 jwt malformed', '401 jwt malformed', 'nobody'],
    [
      'a wrong password',
      { headers: { authorization: `Basic ${btoa('bob:Secret')}` } },
      '401 basic wrong-secret',
      '401 basic wrong-secret',
      'nobody',
    ],
    [
      'two of them',
      bearer(`${GOOD}, Bearer alpha`),
      '401 jwt repeated',
      '401 jwt repeated',
      'nobody',
    ],
  ] as const) {
    for (const [mode, expected] of [
      ['Strict', strict],
      ['Optional', optional],
      ['Permissive', permissive],
    ] as const) {
      it(`${what}, ${mode}: ${expected}`, async () =>
        assert.equal(await said(mode, asked), expected))
    }
  }

  it('challenges for all of them, each once', async () => {
    const program = programOf({ routes: [{ policies: { authentication: { anyOf } } }] })
    const challenge = async (asked = {}) =>
      headersOf((await decide(program, asked)).reply)['www-authenticate']
    const basic = 'Basic realm="Restricted", charset="UTF-8"'
    assert.equal(await challenge(), `Bearer realm="portcullis", ${basic}`)
    assert.equal(
      await challenge(bearer('x')),
      `Bearer realm="portcullis", error="invalid_token", ${basic}`,
    )
  })

  it('rules see only the accepted one', async () => {
    const rules = [
      { allow: "has(jwt.sub) && jwt.sub == 'alice'" },
      { allow: "apiKey.user == 'robot'" },
    ]
    const own = { authentication: { anyOf }, authorization: { rules } }
    const program = programOf({ routes: [{ policies: own }] })
    for (const [asked, expected] of [
      [bearer(GOOD), undefined],
      [bearer('alpha'), undefined],
      [{ headers: { authorization: `Basic ${btoa('bob:secret')}` } }, 403],
    ] as const) {
      assert.equal((await decide(program, asked)).reply?.status, expected)
    }
  })

  it('policies beside it do not see them', async () => {
    const rules = { authorization: { rules: ["apiKey.user == 'robot'"] } }
    const program = programOf({
      routes: [
        {
          policies: [
            ...policies({ authentication: { anyOf } }, 'route', 'traffic', 'one'),
            ...policies(rules, 'route', 'traffic', 'two'),
          ],
        },
      ],
    })
    assert.equal((await decide(program, bearer('alpha'))).reply?.status, 403)
  })

  it('forwards none of them, whichever was accepted', async () => {
    const cookie = (name: string) => ({ location: { cookie: { name } } })
    const [jwt] = anyOf
    const ways = [
      { jwtAuth: { ...jwt?.jwtAuth, ...cookie('token') } },
      { apiKey: { keys: [{ key: 'alpha' }], ...cookie('key') } },
    ]
    for (const authentication of [{ anyOf: ways }, { anyOf: ways.toReversed() }]) {
      const program = programOf({ routes: [{ policies: { authentication } }] })
      const headers = { cookie: `a=1; token=${GOOD}; key=alpha; b=2` }
      const { exchange, reply } = await decide(program, { headers })
      assert.equal(reply, undefined)
      assert.deepEqual(exchange.requestEdit.added, [['cookie', 'a=1; b=2']])
    }
  })

  it('keeps one that is configured to be forwarded', async () => {
    const forwarding = [{ jwtAuth: { ...anyOf[0]?.jwtAuth, forward: true } }, anyOf[1]]
    const program = programOf({ routes: [{ policies: { authentication: { anyOf: forwarding } } }] })
    assert.deepEqual((await decide(program, bearer(GOOD))).exchange.requestEdit.removed, [])
    assert.deepEqual((await decide(program, bearer('alpha'))).exchange.requestEdit.removed, [
      'authorization',
    ])
  })

  it('shares one mode', () => {
    const schema = policySchema('authentication')
    const member = { apiKey: { mode: 'optional', keys: [{ key: 'a' }] } }
    assert.equal(schema.safeParse({ anyOf: [member] }).success, false)
    assert.equal(schema.safeParse({ anyOf: [] }).success, false)
    assert.equal(schema.safeParse({ anyOf: [{ ...anyOf[0], ...anyOf[1] }] }).success, false)
    assert.equal(schema.safeParse({ mode: 'optional', anyOf }).success, true)
  })
})
