import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it, mock } from 'node:test'
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose'
import { OidcProvider } from './provider.ts'
import { sealedJson } from './sealed-json.ts'
import { OidcSessions } from './sessions.ts'

const CLIENT = { clientId: 'app', clientSecret: 'a-secret-of-the-client-of-32-bytes' }
const REDIRECT = 'http://127.0.0.1:1/oauth2/callback'
const now = () => Math.floor(Date.now() / 1_000)

interface Token {
  /** Added to the claims of a valid token. */
  readonly claims?: JWTPayload
  readonly signedBy?: 'own' | 'stranger' | 'the client secret' | 'nobody'
  readonly kid?: string
}

/** A provider that puts arbitrary claims in its tokens. */
describe('invalid ID tokens', () => {
  let server: Server
  let issuer: string
  let token: Token = {}
  let nonce = ''
  let ownKid = 'first'
  /** Overrides of its discovery document; undefined: none. */
  let claimed: Readonly<Record<string, string>> = {}
  let own: GenerateKeyPairResult
  let stranger: GenerateKeyPairResult

  before(async () => {
    own = await generateKeyPair('RS256', { extractable: true })
    stranger = await generateKeyPair('RS256', { extractable: true })

    server = createServer(async ({ url = '' }, response) => {
      const reply = (body: unknown) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body))
      }
      if (url.startsWith('/.well-known')) {
        reply({
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['RS256'],
          ...claimed,
        })
      } else if (url === '/jwks') {
        const key = await exportJWK(own.publicKey)
        reply({ keys: [{ ...key, kid: ownKid, alg: 'RS256', use: 'sig' }] })
      } else {
        reply({ access_token: 'a', token_type: 'bearer', expires_in: 600, id_token: await made() })
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  after(() => {
    server?.closeAllConnections()
    server?.close()
  })

  async function made(): Promise<string> {
    const { claims = {}, signedBy = 'own', kid = ownKid } = token
    const good = { iss: issuer, aud: 'app', sub: 'ed', nonce, iat: now(), exp: now() + 600 }
    const all = { ...good, ...claims }
    if (signedBy === 'nobody') return new UnsecuredJWT(all).encode()
    if (signedBy === 'the client secret') {
      const key = new TextEncoder().encode(CLIENT.clientSecret)
      return new SignJWT(all).setProtectedHeader({ alg: 'HS256' }).sign(key)
    }
    const { privateKey } = signedBy === 'own' ? own : stranger
    return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey)
  }

  /** The status of a login with such a token; 303 leads into the application. */
  async function login(wanted: Token, sessions = opened(), from?: string): Promise<number> {
    token = wanted
    const begun = await sessions.begin('/', undefined)
    assert.ok('location' in begun, JSON.stringify(begun))
    const { searchParams } = new URL(begun.location)
    nonce = searchParams.get('nonce') ?? ''
    const cookie = begun.cookies.map((line) => line.split(';', 1)[0]).join('; ')
    const iss = from === undefined ? '' : `&iss=${encodeURIComponent(from)}`
    const query = `?code=c&state=${encodeURIComponent(searchParams.get('state') ?? '')}${iss}`
    const done = await sessions.finish(query, cookie)
    return 'location' in done ? 303 : done.status
  }

  function opened(at = issuer): OidcSessions {
    const settings = { issuer: at, ...CLIENT, redirectUri: REDIRECT, scopes: ['openid'] }
    return new OidcSessions({
      provider: new OidcProvider(settings),
      sealed: sealedJson(randomBytes(32).toString('hex'), 'test'),
      revoked: { add: async () => {}, has: async () => false },
      redirectUri: REDIRECT,
      name: 'test',
    })
  }

  for (const [what, wanted, expected] of [
    ['a good one', {}, 303],
    ['with another nonce', { claims: { nonce: 'other' } }, 400],
    ['without a nonce', { claims: { nonce: undefined } as unknown as JWTPayload }, 400],
    ['of another issuer', { claims: { iss: 'https://attacker.example' } }, 400],
    ['for another client', { claims: { aud: 'other' } }, 400],
    [
      'for several clients, of which we are not the authorized one',
      { claims: { aud: ['app', 'b'], azp: 'b' } },
      400,
    ],
    ['that expired within the tolerance', () => ({ claims: { exp: now() - 10 } }), 303],
    ['that expired before it', () => ({ claims: { exp: now() - 120 } }), 400],
    [
      'of a clock that is a little ahead',
      () => ({ claims: { nbf: now() + 10, iat: now() + 10 } }),
      303,
    ],
    ['that is not valid yet', () => ({ claims: { nbf: now() + 600 } }), 400],
    ['without an expiry', { claims: { exp: undefined } as unknown as JWTPayload }, 400],
    ['without a subject', { claims: { sub: undefined } as unknown as JWTPayload }, 400],
    ['signed by a stranger', { signedBy: 'stranger' }, 400],
    ['signed with the secret that both have', { signedBy: 'the client secret' }, 400],
    ['signed by nobody', { signedBy: 'nobody' }, 400],
    ['of a key that is not published', { kid: 'unknown' }, 400],
  ] as const) {
    it(`${what}: ${expected}`, async () => {
      // Times are relative to now, not to when this module was loaded.
      const own = typeof wanted === 'function' ? wanted() : wanted
      assert.equal(await login(own as Token), expected)
    })
  }

  it('a key that was published after the last fetch is found', async () => {
    const sessions = opened()
    const before = own
    mock.timers.enable({ apis: ['Date'], now: Date.now() })
    try {
      assert.equal(await login({}, sessions), 303)
      own = await generateKeyPair('RS256', { extractable: true })
      ownKid = 'second'
      // Keys are fetched again at most once per second.
      assert.equal(await login({}, sessions), 400)
      mock.timers.tick(1_000)
      assert.equal(await login({}, sessions), 303)
    } finally {
      mock.timers.reset()
    }
    // Signatures of the previous key are no longer valid.
    stranger = before
    assert.equal(await login({ signedBy: 'stranger', kid: 'first' }, sessions), 400)
    assert.equal(await login({ signedBy: 'stranger', kid: 'second' }, sessions), 400)
  })

  it('a provider with the issuer of another one is rejected', async () => {
    claimed = { issuer: 'https://attacker.example' }
    try {
      const begun = await opened().begin('/', undefined)
      assert.ok(!('location' in begun), JSON.stringify(begun))
      assert.equal(begun.status, 502)
    } finally {
      claimed = {}
    }
  })

  it('tokens of one provider are not valid for logins with another', async () => {
    // Both providers are trusted; the response of one is sent to a login that the other has to
    // complete.
    const elsewhere = createServer(({ url = '' }, response) => {
      const own = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        url.startsWith('/.well-known')
          ? JSON.stringify({
              issuer: own,
              authorization_endpoint: `${own}/auth`,
              token_endpoint: `${issuer}/token`,
              jwks_uri: `${issuer}/jwks`,
              response_types_supported: ['code'],
              authorization_response_iss_parameter_supported: true,
            })
          : '{}',
      )
    })
    elsewhere.listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    try {
      const other = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
      // Its tokens and keys are those of this provider: only the issuer is wrong.
      assert.equal(await login({}, opened(other)), 400)
      assert.equal(await login({ claims: { iss: other } }, opened(other), issuer), 400)
      assert.equal(await login({ claims: { iss: other } }, opened(other)), 400, 'without `iss`')
      assert.equal(await login({ claims: { iss: other } }, opened(other), other), 303)
    } finally {
      elsewhere.closeAllConnections()
      elsewhere.close()
    }
  })
})
