import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test'
import {
  NOW,
  type ScriptedProvider,
  startScriptedProvider,
} from '../../test/oidc/scripted-provider.ts'
import {
  loginSecrets,
  OidcProvider,
  type OidcSettings,
  payloadOf,
  payloadText,
} from './provider.ts'

const REDIRECT = 'https://app.example/oauth2/callback'
const METADATA = '/.well-known/openid-configuration'
const HOUR = 3_600_000

describe('an OpenID provider', () => {
  let provider: ScriptedProvider

  before(async () => {
    provider = await startScriptedProvider()
  })
  after(() => provider?.close())
  beforeEach(() => {
    mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
    provider.metadata = {}
    provider.requests.length = 0
  })
  afterEach(() => mock.timers.reset())

  function open(more: Partial<OidcSettings> = {}): OidcProvider {
    const settings = { issuer: provider.issuer, clientId: 'app', clientSecret: 'secret' }
    return new OidcProvider({ ...settings, redirectUri: REDIRECT, scopes: ['openid'], ...more })
  }

  const reads = () => provider.at(METADATA).length

  it('has its metadata read once for concurrent sign-ins, and again after an hour', async () => {
    const own = open()
    await Promise.all([1, 2, 3].map(() => own.authorizationUrl(loginSecrets())))
    assert.equal(reads(), 1)
    mock.timers.tick(HOUR - 1)
    await own.authorizationUrl(loginSecrets())
    assert.equal(reads(), 1)
    provider.metadata = { authorization_endpoint: `${provider.issuer}/elsewhere` }
    mock.timers.tick(1)
    assert.equal((await own.authorizationUrl(loginSecrets())).pathname, '/elsewhere')
    assert.equal(reads(), 2)
  })

  it('is asked again by the next sign-in if its metadata cannot be read', async () => {
    const own = open()
    provider.metadata = { issuer: 'https://attacker.example' }
    await assert.rejects(own.authorizationUrl(loginSecrets()))
    await assert.rejects(own.authorizationUrl(loginSecrets()))
    assert.equal(reads(), 2)
    provider.metadata = {}
    assert.equal((await own.authorizationUrl(loginSecrets())).pathname, '/authorize')
  })

  it('that fails later is used with its previous metadata', async () => {
    const own = open()
    await own.authorizationUrl(loginSecrets())
    provider.metadata = { issuer: 'https://attacker.example' }
    mock.timers.tick(HOUR)
    await assert.rejects(own.authorizationUrl(loginSecrets()))
    assert.equal((await own.authorizationUrl(loginSecrets())).pathname, '/authorize')
    assert.equal(reads(), 2)
  })

  it('gets the secret of a client that has one, and no credential of another', async () => {
    for (const [clientSecret, expected] of [
      ['secret', 'secret'],
      [undefined, null],
    ] as const) {
      provider.requests.length = 0
      await assert.rejects(open({ clientSecret }).refresh('r', 'a.e30.b', 'ed'))
      const [request] = provider.at('/token')
      assert.deepEqual(
        ['client_id', 'client_secret', 'refresh_token'].map((name) => request?.form.get(name)),
        ['app', expected, 'r'],
      )
      assert.equal(request?.authorization, undefined)
    }
  })

  describe('that renews tokens', () => {
    const previous = `a.${Buffer.from('{"sub":"ed","exp":1800000100}').toString('base64url')}.b`

    for (const [what, reply, expected] of [
      ['everything', { refresh_token: 'r2', expires_in: 60 }, ['r2', 60]],
      ['no refresh token', { expires_in: 60 }, ['r1', 60]],
      ['a lifetime of zero', { expires_in: 0 }, ['r1', 0]],
      ['no lifetime', {}, ['r1', 100]],
    ] as const) {
      it(`and sends ${what}, but no ID token, keeps the session's claims`, async () => {
        const usual = { access_token: 'a', token_type: 'bearer' }
        provider.respondWith = () => ({ body: { ...usual, ...reply } })
        const { idToken, claims, refreshToken, expires } = await open().refresh(
          'r1',
          previous,
          'ed',
        )
        assert.equal(idToken, previous)
        assert.equal(claims.sub, 'ed')
        assert.deepEqual([refreshToken, expires - NOW()], expected)
      })
    }

    it('for the same subject only', async () => {
      const own = { iss: provider.issuer, aud: 'app', iat: NOW(), exp: NOW() + 60 }
      for (const [sub, isValid] of [
        ['ed', true],
        ['eve', false],
      ] as const) {
        const id_token = await provider.sign({ ...own, sub })
        const body = { access_token: 'a', token_type: 'bearer', id_token }
        provider.respondWith = () => ({ body })
        const refreshing = open().refresh('r1', previous, 'ed')
        if (isValid) assert.equal((await refreshing).idToken, id_token)
        else await assert.rejects(refreshing, /different subject/)
      }
    })
  })

  it('without a logout page has none', async () => {
    assert.equal((await open().logoutUrl('t', 'https://app.example/'))?.pathname, '/logout')
    provider.metadata = { end_session_endpoint: undefined }
    assert.equal(await open().logoutUrl('t', 'https://app.example/'), undefined)
  })

  for (const [origin, isAllowed] of [
    ['http://localhost:1', true],
    ['http://127.0.0.1:1', true],
    ['http://127.1.2.3:1', true],
    ['http://[::1]:1', true],
    ['http://127.0.0.1.invalid:1', false],
    ['http://x127.0.0.1.invalid:1', false],
    ['http://localhost.invalid:1', false],
    ['http://128.0.0.1:1', false],
    ['http://[::2]:1', false],
    ['https://localhost:1', true],
  ] as const) {
    it(`at ${origin} is ${isAllowed ? '' : 'not '}contacted`, async () => {
      const failing = open({ issuer: origin }).authorizationUrl(loginSecrets())
      const { code } = (await failing.catch((error: unknown) => error)) as { code?: string }
      assert.equal(code === 'OAUTH_HTTP_REQUEST_FORBIDDEN', !isAllowed, `${code}`)
    })
  }
})

describe('secrets of a sign-in', () => {
  it('are new for each, and long', () => {
    const all = Array.from({ length: 20 }, () => Object.values(loginSecrets())).flat()
    assert.equal(new Set(all).size, 60)
    for (const one of all) assert.ok(one.length >= 43)
  })
})

describe('the payload of a token', () => {
  it('is its second part', () => {
    const token = `x.${Buffer.from('{"sub": "ü"}').toString('base64url')}.y`
    assert.equal(payloadText(token), '{"sub": "ü"}')
    assert.deepEqual(payloadOf(token), { sub: 'ü' })
    assert.equal(payloadText('x'), '')
  })
})
