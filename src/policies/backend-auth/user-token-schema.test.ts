import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { policySchema } from '../schema.ts'
import { consentPaths, type UserToken } from './user-token-schema.ts'

const SIGN_IN = { issuer: 'https://login.example', clientId: 'gateway' }
const TOKEN = {
  issuer: 'https://auth.example',
  clientId: 'app',
  redirectUri: 'https://gateway.example/connect/callback',
  signIn: SIGN_IN,
}
const { issuer: _, ...WITHOUT_ISSUER } = TOKEN
const ENDPOINTS = {
  authorizationEndpoint: 'https://auth.example/authorize',
  tokenEndpoint: 'https://auth.example/token',
}

const read = (oauthUserToken: object) => policySchema('backendAuth').safeParse({ oauthUserToken })
const parsed = (written: object) =>
  policySchema('backendAuth').parse({ oauthUserToken: written }) as UserToken

describe('oauthUserToken', () => {
  it('has defaults for everything optional, and no members without a value', () => {
    const { location: __, ...rest } = parsed(TOKEN)
    assert.deepEqual(rest, {
      kind: 'user',
      ...TOKEN,
      clientAuthentication: 'Basic',
      userClaim: 'sub',
      scopes: [],
      resources: [],
      parameters: {},
      signIn: { ...SIGN_IN, scopes: ['openid'] },
    })
  })

  it('keeps endpoints and secrets that are set', () => {
    const revocationEndpoint = 'https://auth.example/revoke'
    const clientSecret = 'a-secret-of-the-client'
    const token = parsed({ ...WITHOUT_ISSUER, ...ENDPOINTS, revocationEndpoint, clientSecret })
    assert.equal('issuer' in token, false)
    const { authorizationEndpoint, tokenEndpoint } = token
    assert.deepEqual({ authorizationEndpoint, tokenEndpoint }, ENDPOINTS)
    assert.equal(token.revocationEndpoint, revocationEndpoint)
    assert.equal(typeof token.clientSecret?.secretRef, 'string')
    assert.equal('clientSecret' in token.signIn, false)
    const signIn = { ...SIGN_IN, clientSecret }
    assert.equal(typeof parsed({ ...TOKEN, signIn }).signIn.clientSecret?.secretRef, 'string')
  })

  for (const [scopes, expected] of [
    [undefined, ['openid']],
    [['email'], ['openid', 'email']],
    [
      ['email', 'openid'],
      ['email', 'openid'],
    ],
    [['openid2'], ['openid', 'openid2']],
  ] as const) {
    it(`signs in with the scopes ${expected.join(' ')} if ${scopes ?? 'none'} are configured`, () => {
      const token = parsed({ ...TOKEN, signIn: { ...SIGN_IN, scopes } })
      assert.deepEqual(token.signIn.scopes, expected)
    })
  }

  for (const [what, change, isValid] of [
    ['an issuer', {}, true],
    ['both endpoints', { issuer: undefined, ...ENDPOINTS }, true],
    ['neither', { issuer: undefined }, false],
    [
      'only the authorization endpoint',
      { issuer: undefined, ...ENDPOINTS, tokenEndpoint: undefined },
      false,
    ],
    [
      'only the token endpoint',
      { issuer: undefined, ...ENDPOINTS, authorizationEndpoint: undefined },
      false,
    ],
    ['an issuer and endpoints', ENDPOINTS, false],
    [
      'an issuer and a revocation endpoint',
      { revocationEndpoint: 'https://auth.example/r' },
      false,
    ],
    ['an issuer without TLS', { issuer: 'http://auth.example' }, false],
    ['an issuer on this machine without TLS', { issuer: 'http://127.0.0.1:1' }, true],
    ['no scopes', { scopes: [] }, false],
    ['64 scopes', { scopes: Array(64).fill('a') }, true],
    ['65 scopes', { scopes: Array(65).fill('a') }, false],
    ['every character of a scope', { scopes: ['!#$[]^~'] }, true],
    ['a scope with a space', { scopes: ['a b'] }, false],
    ['a scope with a quote', { scopes: ['a"'] }, false],
    ['a scope with a backslash', { scopes: ['a\\'] }, false],
    ['no resources', { resources: [] }, false],
    ['16 resources', { resources: Array(16).fill('https://a.example') }, true],
    ['17 resources', { resources: Array(17).fill('https://a.example') }, false],
    ['a long resource', { resources: ['x'.repeat(2_048)] }, true],
    ['a resource that is too long', { resources: ['x'.repeat(2_049)] }, false],
    ['a parameter of its own', { parameters: { access_type: 'offline' } }, true],
    ['a parameter that the gateway sets', { parameters: { state: 's' } }, false],
    ['another one', { parameters: { request_uri: 'https://attacker.example' } }, false],
    ['a parameter like one that the gateway sets', { parameters: { state2: 's' } }, true],
    ['a name of 256 characters', { parameters: { ['x'.repeat(256)]: '' } }, true],
    ['a name of 257 characters', { parameters: { ['x'.repeat(257)]: '' } }, false],
    ['a value of 2,048 characters', { parameters: { x: 'x'.repeat(2_048) } }, true],
    ['a value of 2,049 characters', { parameters: { x: 'x'.repeat(2_049) } }, false],
    ['a client of 1,024 characters', { clientId: 'x'.repeat(1_024) }, true],
    ['a client of 1,025 characters', { clientId: 'x'.repeat(1_025) }, false],
    ['no client', { clientId: '' }, false],
    ['a claim of 256 characters', { userClaim: 'x'.repeat(256) }, true],
    ['a claim of 257 characters', { userClaim: 'x'.repeat(257) }, false],
    ['the client authentication Post', { clientAuthentication: 'Post' }, true],
    ['another client authentication', { clientAuthentication: 'None' }, false],
    ['an unknown key', { other: 1 }, false],
    ['a sign-in without an issuer', { signIn: { clientId: 'gateway' } }, false],
    ...[
      ['https://gateway.example/cb', true] as const,
      ['https://gateway.example/connect', false] as const,
      ['https://gateway.example/a/signed-in', false] as const,
      ['https://gateway.example/a/disconnect', false] as const,
      ['https://gateway.example/reconnect', true] as const,
      ['https://gateway.example/a/', false] as const,
      ['https://gateway.example', false] as const,
      ['https://gateway.example/cb?a', false] as const,
      ['https://gateway.example/cb#a', false] as const,
      ['http://gateway.example/cb', false] as const,
    ].map(([redirectUri, isGood]) => [redirectUri, { redirectUri }, isGood] as const),
  ] as const) {
    it(`with ${what} is ${isValid ? 'valid' : 'an error'}`, () => {
      const { success, error } = read({ ...TOKEN, ...change })
      assert.equal(success, isValid, JSON.stringify(error?.issues))
    })
  }

  it('serves its pages next to the redirect URI', () => {
    assert.deepEqual(consentPaths({ redirectUri: 'https://gateway.example:8443/a/b/done' }), {
      host: 'gateway.example',
      connect: '/a/b/connect',
      signedIn: '/a/b/signed-in',
      callback: '/a/b/done',
      disconnect: '/a/b/disconnect',
    })
    assert.equal(consentPaths({ redirectUri: 'https://gateway.example/done' }).connect, '/connect')
  })
})
