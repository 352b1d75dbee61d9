import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import { jwtVerify } from 'jose'
import { checkModel } from '../../src/cli/check-model.ts'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { startDeciding } from '../decisions/gateway.ts'
import { free } from './accepting.ts'
import { type Governed, governBy } from './governed.ts'
import { exchange, startEcho } from './harness.ts'
import { aiConfig, startProvider } from './providers.ts'
import { startRunning } from './running.ts'
import { startWhole, until } from './whole-gateway.ts'

const SECRET = 'sk-very-secret-0123456789'
const SIGNER = signerOf('RS256')
const TOKEN = tokenOf(SIGNER, { exp: 4_000_000_000 })
const JWT = `jwtAuthentication: { issuer: https://issuer.example, jwks: '${keySetText(SIGNER)}' }`
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'

const opened: { close: () => unknown }[] = []
afterEach(async () => {
  for (const own of opened.splice(0)) await own.close()
})

/** `at` is the backend entry; the policies of the route surround it. */
async function gatewayWith(at: string, route = '', files = {}): Promise<Governed> {
  const gateway = await governBy(
    at,
    (own, port, backend) =>
      `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  policies:\n    retry: { attempts: 1, codes: [503] }\n${route.replace(/^(?=.)/gm, '    ')}\n` +
      `  backends:\n  - host: 127.0.0.1:${backend}\n    policies:\n${own.replace(/^(?=.)/gm, '      ')}\n`,
    files,
  )
  opened.push(gateway)
  return gateway
}

const bearer = { authorization: `Bearer ${TOKEN}` }

describe('backendAuth: key', () => {
  it('replaces what the client sent', async () => {
    const gateway = await gatewayWith(`backendAuth: { key: ${SECRET} }`)
    for (const headers of [{}, { authorization: 'Bearer mine' }] as const) {
      const { status, got } = await gateway.get('/', headers as Record<string, string>)
      assert.equal(status, 200)
      assert.equal(got?.headers.authorization, `Bearer ${SECRET}`)
    }
    assert.ok(!JSON.stringify(gateway.lines).includes(SECRET))
  })

  it('comes from a file, without the trailing newline', async () => {
    const gateway = await gatewayWith('backendAuth: { key: { file: key.txt } }', '', {
      'key.txt': `${SECRET}\n`,
    })
    const { got } = await gateway.get()
    assert.equal(got?.headers.authorization, `Bearer ${SECRET}`)
  })

  it('goes into another header', async () => {
    const gateway = await gatewayWith(
      `backendAuth: { key: { value: ${SECRET}, location: { header: { name: X-Api-Key } } } }`,
    )
    const { got } = await gateway.get('/', { 'x-api-key': 'mine' })
    assert.equal(got?.headers['x-api-key'], SECRET)
    assert.equal(got?.headers.authorization, undefined)
  })

  it('goes into the query, once', async () => {
    const gateway = await gatewayWith(
      `auth: { key: 'a b&c', location: { queryParameter: { name: key } } }`,
    )
    assert.equal((await gateway.get('/p?key=mine&x=1&k%65y=2')).got?.url, '/p?x=1&key=a%20b%26c')
    assert.equal((await gateway.get('/p')).got?.url, '/p?key=a%20b%26c')
  })

  it('goes into a cookie, next to the others', async () => {
    const gateway = await gatewayWith(
      `backendAuth: { key: ${SECRET}, location: { cookie: { name: s } } }`,
    )
    const { got } = await gateway.get('/', { cookie: 's=mine; a=1' })
    assert.equal(got?.headers.cookie, `a=1; s=${SECRET}`)
    assert.equal((await gateway.get()).got?.headers.cookie, `s=${SECRET}`)
  })

  it('of a route applies to its backends, and their own key takes precedence', async () => {
    const outer = await gatewayWith('http: {}', 'backendAuth: { key: outer }')
    assert.equal((await outer.get()).got?.headers.authorization, 'Bearer outer')
    const inner = await gatewayWith('backendAuth: { key: inner }', 'backendAuth: { key: outer }')
    assert.equal((await inner.get()).got?.headers.authorization, 'Bearer inner')
  })

  it('never reaches a mirror', async () => {
    const [upstream, mirror] = [await startEcho(OK), await startEcho(OK)]
    const port = await free()
    const gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- policies: { requestMirror: { backend: { host: '127.0.0.1:${mirror.port}' } } }
  backends:
  - host: '127.0.0.1:${upstream.port}'
    policies:
      backendAuth: { key: ${SECRET} }
      requestHeaders: { set: { x-a: '1' } }
`)
    opened.push(upstream, mirror, { close: () => gateway.stop() })
    await exchange(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', 'hello')
    await until('the copy', () => mirror.received.join('').includes('\r\n\r\n'))
    assert.ok(upstream.received.join('').includes(SECRET))
    assert.ok(!mirror.received.join('').includes(SECRET), mirror.received.join(''))
  })

  it('of one provider is never sent to another', async () => {
    const [one, two] = [await startProvider('one'), await startProvider('two')]
    one.respondWith = 503
    const port = await free()
    const auth = (key: string) => ({ backendAuth: { key } })
    const gateway = await startDeciding(
      aiConfig(
        port,
        [
          [{ name: 'one', port: one.port, policies: auth('key-one') }],
          [{ name: 'two', port: two.port, policies: {} }],
        ],
        { route: { retry: { attempts: 2, codes: [503] } } },
      ),
    )
    opened.push(one, two, { close: () => gateway.stop() })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    assert.equal(await response.text(), 'two')
    assert.equal(one.arrived[0]?.headers.authorization, 'Bearer key-one')
    assert.equal(two.arrived[0]?.headers.authorization, undefined)
  })

  it('is in no dump, log or metric of a running gateway', async () => {
    const [port, upstream] = [await free(), await startEcho(OK)]
    const running = await startRunning(`gateways: { default: { port: ${port} } }
routes:
- policies: { authorization: { rules: [{ deny: "request.path == '/no'" }] } }
  backends:
  - host: '127.0.0.1:${upstream.port}'
    policies: { backendAuth: { key: ${SECRET} } }
`)
    opened.push(upstream, { close: () => running.stop() })
    await exchange(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', 'hello')
    await exchange(port, 'GET /no HTTP/1.1\r\nhost: a\r\n\r\n', '403')
    assert.ok(upstream.received.join('').includes(SECRET))
    const seen = [running.out(), await running.metrics()]
    for (const path of ['/config_dump', '/api/decisions', '/api/lint']) {
      seen.push(await (await fetch(`http://127.0.0.1:${running.ports.admin}${path}`)).text())
    }
    assert.match(seen[2] ?? '', /"backendAuth"/)
    for (const text of seen) assert.ok(!text.includes(SECRET), text)
  })
})

describe('backendAuth: passthrough', () => {
  it('forwards the verified token, and nothing that was not verified', async () => {
    const without = await gatewayWith('http: {}', JWT)
    assert.equal((await without.get('/', bearer)).got?.headers.authorization, undefined)
    const gateway = await gatewayWith('backendAuth: { passthrough: {} }', JWT)
    assert.equal((await gateway.get('/', bearer)).got?.headers.authorization, bearer.authorization)
    assert.equal((await gateway.get('/', { authorization: 'Bearer x' })).status, 401)
    const lax = await gatewayWith(
      'backendAuth: { passthrough: {} }',
      JWT.replace('{ issuer', '{ mode: Permissive, issuer'),
    )
    const { got, status } = await lax.get('/', { authorization: 'Bearer a.b.c' })
    assert.equal(status, 200)
    assert.equal(got?.headers.authorization, undefined)
  })

  it('puts it where the backend expects it', async () => {
    const gateway = await gatewayWith(
      'backendAuth: { passthrough: { location: { header: { name: x-token, prefix: "T " } } } }',
      JWT,
    )
    const { got } = await gateway.get('/', bearer)
    assert.equal(got?.headers['x-token'], `T ${TOKEN}`)
    assert.equal(got?.headers.authorization, undefined)
  })

  for (const [what, location, path, headers, seen] of [
    [
      'query',
      '{ queryParameter: { name: key } }',
      '/?a=1&key=k%201',
      {},
      ['/?a=1&key=k%201', undefined],
    ],
    ['cookie', '{ cookie: { name: key } }', '/', { cookie: 'a=1; key=k1' }, ['/', 'a=1; key=k1']],
  ] as const) {
    it(`puts a key back into the ${what}`, async () => {
      const key = what === 'query' ? 'k 1' : 'k1'
      const apiKey = `apiKey: { location: ${location}, keys: [{ key: ${key} }] }`
      const without = await gatewayWith('http: {}', apiKey)
      const hidden = await without.get(path, headers)
      assert.deepEqual(hidden.status, 200)
      assert.ok(!`${hidden.got?.url} ${hidden.got?.headers.cookie}`.includes('key'))
      const gateway = await gatewayWith('backendAuth: { passthrough: {} }', apiKey)
      const { got } = await gateway.get(path, headers)
      assert.deepEqual([got?.url, got?.headers.cookie], seen)
    })
  }
})

describe('invalid backendAuth', () => {
  const GATEWAY = 'gateways: { default: { port: 8080 } }\n'
  const messagesOf = (auth: string) => {
    const text = `${GATEWAY}routes:\n- backends: [{ host: 'a:80', policies: { backendAuth: ${auth} } }]\n`
    const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
    return diagnostics.map(({ code, severity, message, hint }) => ({
      code,
      severity,
      message,
      hint,
    }))
  }

  for (const [auth, message] of [
    ['{ aws: { secretAccessKey: a } }', /`accessKeyId` is missing/],
    ['{ aws: { accessKeyId: AKIDEXAMPLE } }', /`secretAccessKey` is missing/],
    ['{ aws: {} }', /`backendAuth` is only supported on `ai` backends/],
    [
      '{ aws: { accessKeyId: AKIDEXAMPLE, secretAccessKey: a } }',
      /`backendAuth` is only supported on `ai` backends/,
    ],
    ['{ gcp: {} }', /Google Cloud tokens/],
    ['{ azure: {} }', /one of `explicitConfig`, `implicit` must be set/],
    ['{ azure: { explicitConfig: { clientSecret: { tenantId: a } } } }', /clientId/],
    ['{ oauthTokenExchange: { a: 1 } }', /`tokenEndpoint` is missing/],
    ['{ crossAppAccess: {} }', /token exchange is not supported yet/],
    ['{}', /one of `key`, `passthrough`/],
    ['{ key: a, passthrough: {} }', /are mutually exclusive/],
    ['{ key: "a\\r\\nx-evil: 1" }', /cannot be sent/],
  ] as const) {
    it(`${auth} is an error`, () => {
      const errors = messagesOf(auth).filter(({ severity }) => severity === 'error')
      assert.match(errors.map((one) => `${one.message} ${one.hint}`).join('\n'), message)
    })
  }

  it('a key in the file is a warning, and is not shown', () => {
    const [warning] = messagesOf(`{ key: ${SECRET} }`)
    assert.equal(warning?.code, 'PC0504')
    assert.match(warning?.hint ?? '', /file: PATH/)
    assert.ok(!JSON.stringify(warning).includes(SECRET))
  })
})

describe('backendAuth: credentials', () => {
  const at = (name: string, prefix = '') =>
    `location: { header: { name: ${name}${prefix === '' ? '' : `, prefix: "${prefix}"`} } }`

  it('sends each in its own place', async () => {
    const gateway = await gatewayWith(
      `backendAuth:
  credentials:
  - { key: one, ${at('dd-api-key')} }
  - { key: { file: two.txt }, ${at('DD-Application-Key')} }
  - { key: three, ${at('x-auth-token', 'Token ')} }
  - { key: 'a b', location: { queryParameter: { name: k } } }`,
      '',
      { 'two.txt': 'two\n' },
    )
    const { status, got } = await gateway.get('/p', { 'dd-api-key': 'mine', authorization: 'x' })
    assert.equal(status, 200)
    assert.deepEqual(
      ['dd-api-key', 'dd-application-key', 'x-auth-token'].map((name) => got?.headers[name]),
      ['one', 'two', 'Token three'],
    )
    assert.equal(got?.url, '/p?k=a%20b')
  })

  it('are sent alongside another credential', async () => {
    const gateway = await gatewayWith(
      `backendAuth: { key: primary, credentials: [{ key: me@example.com, ${at('x-auth-email')} }] }`,
    )
    const { got } = await gateway.get()
    assert.equal(got?.headers.authorization, 'Bearer primary')
    assert.equal(got?.headers['x-auth-email'], 'me@example.com')
  })

  it('are rejected if they are invalid', () => {
    for (const wrong of [
      '{ credentials: [] }',
      '{ credentials: [{}] }',
      '{ credentials: [{ key: a, at: b }] }',
      `{ key: a, aws: {}, credentials: [{ key: a }] }`,
      '{ location: { header: { name: a } } }',
    ]) {
      const text = `routes: [{ policies: { backendAuth: ${wrong} }, backends: [{ host: "a:80" }] }]`
      const { diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
      assert.ok(
        diagnostics.some(({ severity }) => severity === 'error'),
        wrong,
      )
    }
  })
})

describe('backendAuth: jwtSign', () => {
  const PAIRS = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    EdDSA: generateKeyPairSync('ed25519'),
  } as const
  const pem = ({ privateKey }: { privateKey: KeyObject }) =>
    privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

  for (const [alg, pair] of [
    ...Object.entries(PAIRS),
    ['PS256', PAIRS.RS256],
    ['RS512', PAIRS.RS256],
  ] as const) {
    it(`sends a token that ${alg} signs, another for each request`, async () => {
      const gateway = await gatewayWith(
        `backendAuth:\n  jwtSign:\n    signingKey: { file: key.pem }\n    alg: ${alg}\n    kid: k1\n` +
          '    claims: { iss: me, sub: MY.USER, aud: [a, b], admin: true, level: 3 }\n    ttl: 90s',
        '',
        { 'key.pem': pem(pair) },
      )
      const ids = new Set<unknown>()
      for (let i = 0; i < 2; i++) {
        const { got } = await gateway.get('/', { authorization: 'Bearer mine' })
        const token = (got?.headers.authorization ?? '').replace('Bearer ', '')
        const { payload, protectedHeader } = await jwtVerify(token, pair.publicKey, {
          ...{ issuer: 'me', audience: 'b', algorithms: [alg] },
        })
        assert.deepEqual(protectedHeader, { alg, typ: 'JWT', kid: 'k1' })
        const { iat = 0, exp = 0, sub, admin, level, jti } = payload
        assert.deepEqual([exp - iat, sub, admin, level], [90, 'MY.USER', true, 3])
        ids.add(jti)
      }
      assert.equal(ids.size, 2)
      assert.ok(!JSON.stringify(gateway.lines).includes('PRIVATE KEY'))
    })
  }

  for (const [why, key, alg] of [
    ['text that is no key', 'nothing', 'RS256'],
    ['a key of another kind', pem(PAIRS.ES256), 'RS256'],
    ['a key on another curve', pem(PAIRS.ES256), 'ES384'],
    [
      'a public key',
      PAIRS.RS256.publicKey.export({ type: 'spki', format: 'pem' }) as string,
      'RS256',
    ],
    ['a short key', pem(generateKeyPairSync('rsa', { modulusLength: 1024 })), 'RS256'],
  ] as const) {
    it(`sends nothing with ${why}`, () => {
      const text = JSON.stringify({
        gateways: { default: { port: 8080 } },
        routes: [
          {
            policies: { backendAuth: { jwtSign: { signingKey: key, alg } } },
            backends: [{ host: 'a:80' }],
          },
        ],
      })
      const { result, places } = loadText(text, 'a.json', { environment: {} })
      assert.deepEqual(
        result.diagnostics.filter(({ severity }) => severity === 'error'),
        [],
      )
      assert.ok(result.value !== undefined)
      assert.ok(checkModel(places, result.value).some(({ code }) => code === 'PC0506'))
    })
  }

  it('rejects claims that the gateway sets, and other algorithms', () => {
    for (const wrong of [
      { signingKey: 'k', claims: { exp: 1 } },
      { signingKey: 'k', alg: 'HS256' },
      { signingKey: 'k', alg: 'none' },
      { alg: 'RS256' },
    ]) {
      const text = JSON.stringify({
        routes: [{ policies: { backendAuth: { jwtSign: wrong } }, backends: [{ host: 'a:80' }] }],
      })
      const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
      assert.ok(
        diagnostics.some(({ severity }) => severity === 'error'),
        JSON.stringify(wrong),
      )
    }
  })
})
