import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import * as jose from 'jose'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { type Governed, govern, listenOn, startServer } from './governed.ts'
import { exchange } from './harness.ts'

const LATER = 4_000_000_000
const SIGNER = signerOf('RS256')
const OTHER = signerOf('RS256', 'other', 'other')
const ISSUER = 'https://issuer.example'
const token = (claims = {}, header = {}) => tokenOf(SIGNER, { exp: LATER, ...claims }, header)
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

const jwt = (more = '', keys = keySetText(SIGNER)) =>
  `jwtAuthentication:\n  issuer: ${ISSUER}\n  jwks: '${keys}'\n${more}`
const ALICE = 'authorization:\n  rules: [{ allow: "jwt.sub == \'alice\'" }]\n'

describe('tokens on the wire', () => {
  let gateway: Governed
  before(async () => {
    gateway = await govern(jwt() + ALICE)
  })
  after(() => gateway.close())

  for (const [what, headers, status, challenge] of [
    ['a good token', bearer(token()), 200, null],
    ['a good token of somebody else', bearer(token({ sub: 'bob' })), 403, null],
    ['none', {}, 401, 'Bearer realm="portcullis"'],
    [
      'one that has expired',
      bearer(token({ exp: 1 })),
      401,
      'Bearer realm="portcullis", error="invalid_token"',
    ],
    [
      'one of another issuer',
      bearer(token({ iss: 'https://evil.example' })),
      401,
      'Bearer realm="portcullis", error="invalid_token"',
    ],
    ['garbage', bearer('garbage'), 401, 'Bearer realm="portcullis", error="invalid_token"'],
  ] as const) {
    it(`${what}: ${status}`, async () => {
      const response = await gateway.get('/', headers)
      assert.equal(response.status, status)
      assert.equal(response.headers.get('www-authenticate'), challenge)
      assert.equal(response.got?.headers.authorization, undefined, 'the backend must not see it')
    })
  }

  it('one body for all faults of a token, and the reason only in the log', async () => {
    const bodies = new Set<string>()
    const faults = new Set<unknown>()
    for (const bad of [
      token({ exp: 1 }),
      token({ iss: 'x' }),
      tokenOf({ ...OTHER, kid: SIGNER.kid }, { exp: LATER }),
      'a.b.c',
      tokenOf(OTHER, { exp: LATER }),
    ]) {
      const before = gateway.lines.length
      const { text, headers } = await gateway.get('/', bearer(bad))
      bodies.add(text.replace(/request .*/, ''))
      assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
      faults.add(String(gateway.lines[before]?.['detail']).split(':')[0])
      assert.equal(gateway.lines[before]?.['reason'], 'authentication')
    }
    assert.equal(bodies.size, 1)
    assert.equal(faults.size, 5, [...faults].join())
    assert.match(
      gateway.metrics(),
      /portcullis_authentication_failures_total\{policy="route:all",method="jwt",reason="expired"\} [1-9]/,
    )
    assert.match(gateway.metrics(), /portcullis_token_cache_lookups_total\{outcome="hit"\}/)
  })

  it('two Authorization headers: 401, even if one or both are valid', async () => {
    const good = `Authorization: Bearer ${token()}\r\n`
    for (const second of ['Authorization: Bearer x\r\n', good, 'Authorization: Basic YTpi\r\n']) {
      for (const pair of [good + second, second + good]) {
        const text = await exchange(
          gateway.port,
          `GET / HTTP/1.1\r\nHost: a\r\n${pair}Connection: close\r\n\r\n`,
        )
        assert.match(text, /^HTTP\/1\.1 401 /)
      }
    }
  })

  it('Connection cannot hide the token from a rule or from the gateway', async () => {
    const head = `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token({ sub: 'bob' })}\r\n`
    const text = await exchange(gateway.port, `${head}Connection: close, authorization\r\n\r\n`)
    assert.doesNotMatch(text, /^HTTP\/1\.1 200 /)
  })

  it('the subject is in the log', async () => {
    const before = gateway.lines.length
    await gateway.get('/', bearer(token()))
    assert.equal(gateway.lines[before]?.['jwt.sub'], 'alice')
  })
})

describe('the location of a token', () => {
  for (const [location, path, headers, got] of [
    ['cookie: { name: session }', '/', { cookie: `a=1; session=${token()}; b=2` }, 'a=1; b=2'],
    ['header: { name: X-Token }', '/', { 'x-token': token() }, undefined],
    ['queryParameter: { name: access_token }', `/a?b=1&access_token=${token()}`, {}, '/a?b=1'],
  ] as const) {
    it(location, async () => {
      const gateway = await govern(`${jwt(`  location: { ${location} }\n`)}${ALICE}`)
      const response = await gateway.get(path, headers)
      assert.equal(response.status, 200)
      const seen = response.got
      if (path !== '/') assert.equal(seen?.url, got)
      else assert.equal(seen?.headers.cookie ?? seen?.headers['x-token'], got)
      assert.equal((await gateway.get()).status, 401)
      await gateway.close()
    })
  }
})

describe('a remote key set', () => {
  it('is fetched once, refetched when keys rotate, and kept while the issuer is down', async () => {
    let keys = keySetText(SIGNER)
    let asked = 0
    let isDown = false
    const issuer = await startServer((_, response) => {
      asked++
      if (isDown) response.writeHead(503).end()
      else response.end(keys)
    })
    const url = `http://127.0.0.1:${issuer.port}/keys`
    const policies = (more = '') =>
      `jwtAuthentication:\n  issuer: ${ISSUER}\n  jwks: { url: "${url}" }\n${ALICE}${more}`
    const gateway = await govern(policies())
    const status = async (own: string) => (await gateway.get('/', bearer(own))).status
    assert.equal(await status(token()), 200)
    assert.equal(asked, 1)
    // Another policy changes: the keys and the verified tokens stay.
    await gateway.apply(policies('cors: { allowOrigins: ["*"] }\n'))
    assert.equal(await status(token()), 200)
    assert.equal(asked, 1)
    // An unknown key ID triggers one more fetch, even if other tokens with it arrive.
    keys = keySetText(SIGNER, OTHER)
    assert.equal(await status(tokenOf(OTHER, { exp: LATER })), 200)
    assert.equal(asked, 2)
    assert.equal(await status(tokenOf(signerOf('RS256', 'third', 'third'), { exp: LATER })), 401)
    assert.equal(asked, 2, 'not again so soon')
    isDown = true
    assert.equal(await status(token({ jti: 'new' })), 200)
    assert.match(
      gateway.metrics(),
      /portcullis_jwks_refreshes_total\{.*outcome="changed",trigger="start"\} 1/,
    )
    assert.match(
      gateway.metrics(),
      /portcullis_jwks_age_seconds\{provider="https:\/\/issuer\.example"\}/,
    )
    await gateway.close()
    issuer.close()
  })

  it('of an issuer that is down from the start: 401, and the log has the reason', async () => {
    const issuer = await startServer(() => {})
    issuer.close()
    const gateway = await govern(
      `jwtAuthentication:\n  issuer: ${ISSUER}\n  jwks: { url: "http://127.0.0.1:${issuer.port}/" }\n`,
    )
    assert.equal((await gateway.get('/', bearer(token()))).status, 401)
    assert.ok(gateway.lines.some(({ detail }) => String(detail).startsWith('keys-unavailable')))
    await gateway.close()
  })

  it('is never fetched from a cloud metadata address', async () => {
    const gateway = await govern(
      `jwtAuthentication:\n  issuer: ${ISSUER}\n  jwks: { url: "http://169.254.169.254/latest/meta-data" }\n`,
    )
    assert.equal((await gateway.get('/', bearer(token()))).status, 401)
    assert.match(gateway.metrics(), /portcullis_jwks_refreshes_total\{.*outcome="refused"/)
    await gateway.close()
  })
})

describe('keys and key URLs in a token', () => {
  it('are never used', async () => {
    let asked = 0
    const evil = createServer((_, response) => {
      asked++
      response.end(keySetText(OTHER))
    })
    const url = `http://127.0.0.1:${await listenOn(evil)}/`
    const gateway = await govern(jwt())
    for (const header of [
      { jku: url },
      { x5u: url },
      { jwk: JSON.parse(keySetText(OTHER)).keys[0] },
    ]) {
      const forged = tokenOf(OTHER, { exp: LATER }, header)
      assert.equal((await gateway.get('/', bearer(forged))).status, 401)
      assert.equal((await gateway.get('/', bearer(token({}, header)))).status, 200)
    }
    assert.equal(asked, 0)
    evil.close()
    await gateway.close()
  })
})

describe('tokens of other libraries', () => {
  for (const alg of ['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA']) {
    it(`npm jose, ${alg}`, async () => {
      const { privateKey, publicKey } = await jose.generateKeyPair(alg)
      const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'one', use: 'sig' }
      const made = new jose.SignJWT({ groups: ['eng'] })
        .setProtectedHeader({ alg, kid: 'one' })
        .setIssuer(ISSUER)
        .setSubject('alice')
        .setIssuedAt()
        .setExpirationTime('1h')
      const gateway = await govern(jwt('', JSON.stringify({ keys: [jwk] })) + ALICE)
      const signed = await made.sign(privateKey)
      assert.equal((await gateway.get('/', bearer(signed))).status, 200)
      assert.equal((await gateway.get('/', bearer(`${signed.slice(0, -8)}AAAAAAAA`))).status, 401)
      await gateway.close()
    })
  }

  // Looks for PyJWT next to other Python packages, and in the system's packages.
  const env = { ...process.env, PYTHONPATH: join(import.meta.dirname, '../../.cache/python') }
  const python = (code: string, input = '') =>
    spawnSync('python3', ['-c', code], { input, env, encoding: 'utf8' })
  const isThere = python('import jwt, cryptography').status === 0
  const skip = isThere ? false : 'no PyJWT: pip install --target .cache/python pyjwt cryptography'

  it('Python PyJWT', { skip }, async () => {
    const claims = `{"iss": "${ISSUER}", "sub": "alice", "exp": ${LATER}, "aud": ["api"]}`
    const { stdout, stderr } = python(
      `import jwt, sys
print(jwt.encode(${claims}, sys.stdin.read(), algorithm="RS256", headers={"kid": "rs256"}))`,
      SIGNER.key.export({ format: 'pem', type: 'pkcs8' }) as string,
    )
    assert.equal(stderr, '')
    const gateway = await govern(jwt() + ALICE)
    assert.equal((await gateway.get('/', bearer(stdout.trim()))).status, 200)
    await gateway.close()
  })
})
