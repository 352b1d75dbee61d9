import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, headersOf, programOf } from '../../../test/program/models.ts'
import { compileOrigins } from '../origins.ts'

const APP = 'https://app.example.com'
const PREFLIGHT_VARY = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'

const corsOf = (cors: object) => programOf({ routes: [{ policies: { cors } }] })

async function preflight(cors: object, headers: Record<string, string> = {}) {
  const asked = { origin: APP, 'access-control-request-method': 'PUT', ...headers }
  const { reply } = await decide(corsOf(cors), { method: 'OPTIONS', headers: asked })
  assert.equal(reply?.status, 204)
  return headersOf(reply)
}

async function simple(cors: object, headers: Record<string, string> = { origin: APP }) {
  const { exchange, backend } = await decide(corsOf(cors), { headers })
  assert.equal(backend?.name, 'up', 'the request goes on')
  return { added: headersOf({ headers: exchange.responseEdit }), exchange }
}

describe('cors: which origins are allowed', () => {
  for (const [allowed, origin, isAllowed] of [
    ['*', 'https://anything.org', true],
    ['*', 'null', true],
    ['https://a.com', 'https://a.com', true],
    ['https://a.com', 'http://a.com', false],
    ['https://a.com', 'https://a.com:8443', false],
    ['https://a.com', 'https://a.com.evil.org', false],
    ['https://a.com:443', 'https://a.com', true],
    ['http://a.com:80', 'http://a.com', true],
    ['https://a.com:8443', 'https://a.com:8443', true],
    ['https://*.a.com', 'https://b.a.com', true],
    ['https://*.a.com', 'https://c.b.a.com', true],
    ['https://*.a.com', 'https://a.com', false],
    ['https://*.a.com', 'https://evil.org/.a.com', false],
    ['https://*.a.com', 'https://evila.com', false],
    ['https://*.a.com', 'https://b.axcom', false],
    ['https://*.a.com', 'http://b.a.com', false],
    ['https://*.a.com:*', 'https://b.a.com:1234', true],
    ['https://a.com:*', 'https://a.com', true],
    ['https://*', 'https://whoever.org', true],
    ['https://*', 'http://whoever.org', false],
    ['null', 'null', true],
    ['https://a.com', 'null', false],
  ] as const) {
    it(`${allowed} ${isAllowed ? 'allows' : 'does not allow'} ${origin}`, () => {
      assert.equal(compileOrigins([allowed])(origin), isAllowed)
    })
  }

  it('an empty list allows no origin', () => assert.equal(compileOrigins([])(APP), false))
})

describe('cors: preflights get a response without a backend', () => {
  for (const [what, cors, headers, expected] of [
    [
      'what is listed',
      {
        allowOrigins: [APP],
        allowMethods: ['GET', 'PUT'],
        allowHeaders: ['X-A', 'X-B'],
        maxAge: '1h',
      },
      {},
      {
        'access-control-allow-origin': APP,
        'access-control-allow-methods': 'GET, PUT',
        'access-control-allow-headers': 'X-A, X-B',
        'access-control-max-age': '3600',
      },
    ],
    ['another origin gets nothing', { allowOrigins: ['https://other.org'] }, {}, {}],
    [
      'wildcards stay wildcards without credentials',
      { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] },
      { 'access-control-request-headers': 'x-a' },
      {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': '*',
        'access-control-allow-headers': '*',
      },
    ],
    [
      'with credentials what was asked for takes the place of wildcards',
      { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'], allowCredentials: true },
      { 'access-control-request-headers': 'x-a, x-b' },
      {
        'access-control-allow-origin': APP,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'PUT',
        'access-control-allow-headers': 'x-a, x-b',
      },
    ],
    [
      'with credentials and no header asked for, none is named',
      { allowOrigins: [APP], allowHeaders: ['*'], allowCredentials: true },
      {},
      { 'access-control-allow-origin': APP, 'access-control-allow-credentials': 'true' },
    ],
    [
      'headers that may be read are named here as in other responses',
      { allowOrigins: ['*'], exposeHeaders: ['x-a', 'x-b'] },
      {},
      { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'x-a, x-b' },
    ],
    [
      'what is no list of names is not repeated',
      { allowOrigins: [APP], allowHeaders: ['*'], allowCredentials: true },
      { 'access-control-request-headers': 'x-a;y' },
      { 'access-control-allow-origin': APP, 'access-control-allow-credentials': 'true' },
    ],
  ] as const) {
    it(what, async () => {
      assert.deepEqual(await preflight(cors, headers), { ...expected, vary: PREFLIGHT_VARY })
    })
  }

  it('run before authorization', async () => {
    const program = programOf({
      gateway: { authorization: { rules: [{ deny: 'true' }] }, cors: { allowOrigins: ['*'] } },
    })
    const headers = { origin: APP, 'access-control-request-method': 'GET' }
    assert.equal((await decide(program, { method: 'OPTIONS', headers })).reply?.status, 204)
    assert.equal((await decide(program, { method: 'OPTIONS' })).reply?.status, 403)
  })
})

describe('cors: other requests proceed, and responses get the headers', () => {
  const OWN = ['access-control-allow-origin', 'access-control-allow-credentials']
  for (const [what, cors, headers, expected] of [
    [
      'an allowed origin',
      { allowOrigins: [APP], exposeHeaders: ['x-a'], allowMethods: ['GET'], maxAge: '1h' },
      { origin: APP },
      {
        'access-control-allow-origin': APP,
        'access-control-expose-headers': 'x-a',
        vary: 'Origin',
      },
    ],
    ['another origin', { allowOrigins: [APP] }, { origin: 'https://evil.org' }, { vary: 'Origin' }],
    ['no origin', { allowOrigins: [APP] }, {}, { vary: 'Origin' }],
    ['anybody', { allowOrigins: ['*'] }, { origin: APP }, { 'access-control-allow-origin': '*' }],
    [
      'anybody with credentials',
      { allowOrigins: ['*'], allowCredentials: true, exposeHeaders: ['*', 'x-a'] },
      { origin: APP },
      {
        'access-control-allow-origin': APP,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'x-a',
        vary: 'Origin',
      },
    ],
    [
      'OPTIONS that is no preflight',
      { allowOrigins: [APP] },
      { origin: APP },
      { 'access-control-allow-origin': APP, vary: 'Origin' },
    ],
  ] as const) {
    it(what, async () => {
      const { added, exchange } = await simple(cors, headers)
      assert.deepEqual(added, expected)
      for (const name of OWN) assert.ok(exchange.responseEdit.removed.includes(name))
    })
  }

  it('each origin gets its own response, and the same edit each time', async () => {
    const program = corsOf({ allowOrigins: ['https://*.example.com'] })
    const edit = async (origin: string) => {
      return (await decide(program, { headers: { origin } })).exchange.responseEdit
    }
    const first = await edit('https://a.example.com')
    assert.deepEqual(headersOf({ headers: await edit('https://b.example.com') }), {
      'access-control-allow-origin': 'https://b.example.com',
      vary: 'Origin',
    })
    assert.equal(await edit('https://a.example.com'), first)
    for (let i = 0; i < 1000; i++) await edit(`https://x${i}.example.com`)
    assert.deepEqual(await edit('https://a.example.com'), first)
  })

  it('responseHeaders of the route take precedence', async () => {
    const program = programOf({
      routes: [
        {
          policies: {
            cors: { allowOrigins: [APP] },
            responseHeaders: { set: { 'Access-Control-Allow-Origin': 'https://mine.org' } },
          },
        },
      ],
    })
    const { exchange } = await decide(program, { headers: { origin: APP } })
    assert.deepEqual(headersOf({ headers: exchange.responseEdit }), {
      vary: 'Origin',
      'Access-Control-Allow-Origin': 'https://mine.org',
    })
  })
})
