import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test'
import {
  NOW,
  type ScriptedProvider,
  startScriptedProvider,
} from '../../test/oidc/scripted-provider.ts'
import { consentSecrets, UpstreamClient, type UpstreamClientSettings } from './upstream-client.ts'

const REDIRECT = 'https://app.example/connect/callback'
const HOUR = 3_600_000
const BEARER = { access_token: 'a1', token_type: 'Bearer' }

describe('a client of an authorization server', () => {
  let server: ScriptedProvider

  before(async () => {
    server = await startScriptedProvider()
  })
  after(() => server?.close())
  beforeEach(() => {
    mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
    server.metadata = {}
    server.requests.length = 0
    server.respondWith = () => ({ body: BEARER })
  })
  afterEach(() => mock.timers.reset())

  function open(more: Partial<UpstreamClientSettings> = {}): UpstreamClient {
    return new UpstreamClient({
      issuer: server.issuer,
      authorizationEndpoint: undefined,
      tokenEndpoint: undefined,
      revocationEndpoint: undefined,
      clientId: 'app',
      clientSecret: 'a:secret',
      clientAuthentication: 'Basic',
      scopes: ['read', 'write'],
      resources: ['https://a.example', 'https://b.example'],
      parameters: { access_type: 'offline' },
      redirectUri: REDIRECT,
      ...more,
    })
  }
  const configured = () => ({
    issuer: undefined,
    authorizationEndpoint: `${server.issuer}/authorize?tenant=t`,
    tokenEndpoint: `${server.issuer}/token`,
  })

  const secrets = { state: 's', verifier: 'v'.repeat(43) }

  for (const from of ['metadata', 'configuration'] as const) {
    it(`sends users to the endpoint in its ${from}, with all parameters`, async () => {
      const client = open(from === 'metadata' ? {} : configured())
      const { pathname, searchParams } = await client.authorizationUrl(secrets)
      assert.equal(pathname, '/authorize')
      assert.deepEqual(searchParams.getAll('resource'), ['https://a.example', 'https://b.example'])
      searchParams.delete('resource')
      const { code_challenge: challenge, ...rest } = Object.fromEntries(searchParams)
      assert.match(challenge ?? '', /^[\w-]{43}$/)
      assert.notEqual(challenge, secrets.verifier)
      assert.deepEqual(rest, {
        ...(from === 'metadata' ? {} : { tenant: 't' }),
        access_type: 'offline',
        client_id: 'app',
        redirect_uri: REDIRECT,
        response_type: 'code',
        code_challenge_method: 'S256',
        scope: 'read write',
        state: 's',
      })
    })
  }

  it('requests neither scopes nor resources if none are configured', async () => {
    const client = open({ scopes: [], resources: [], parameters: { state: 'own', x: 'y' } })
    const { searchParams } = await client.authorizationUrl(secrets)
    assert.deepEqual(
      ['scope', 'resource', 'x', 'state'].map((name) => searchParams.get(name)),
      [null, null, 'y', 's'],
    )
  })

  for (const [authentication, clientSecret, sent] of [
    // RFC 6749 §2.3.1: both are encoded as in a form before they are joined.
    ['Basic', 'a:secret', [`Basic ${btoa('app:a%3Asecret')}`, null, null]],
    ['Post', 'a:secret', [undefined, 'app', 'a:secret']],
    ['Basic', undefined, [undefined, 'app', null]],
    ['Post', undefined, [undefined, 'app', null]],
  ] as const) {
    const title =
      clientSecret === undefined ? 'without a secret' : `with its secret (${authentication})`
    it(`uses a code ${title}, for all resources`, async () => {
      for (const from of [{}, configured()]) {
        server.requests.length = 0
        const own = { clientSecret, clientAuthentication: authentication }
        await open({ ...from, ...own }).exchange('?code=c&state=s', secrets)
        const [{ form, authorization } = assert.fail()] = server.at('/token')
        assert.deepEqual([authorization, form.get('client_id'), form.get('client_secret')], sent)
        assert.deepEqual(form.getAll('resource'), ['https://a.example', 'https://b.example'])
        assert.deepEqual(
          ['grant_type', 'code', 'code_verifier', 'redirect_uri'].map((name) => form.get(name)),
          ['authorization_code', 'c', secrets.verifier, REDIRECT],
        )
      }
    })
  }

  for (const query of [
    '?code=c&state=other',
    '?code=c',
    '?state=s',
    '?error=access_denied&state=s',
    '',
  ]) {
    it(`uses no code after a redirect with the query \`${query}\``, async () => {
      await assert.rejects(open().exchange(query, secrets))
      assert.equal(server.at('/token').length, 0)
    })
  }

  for (const [life, expires, renewal] of [
    [undefined, undefined, undefined],
    [1, 1, 1],
    [2, 2, 1],
    [3, 3, 2],
    [119, 119, 60],
    [120, 120, 60],
    [121, 121, 61],
    [3_600, 3_600, 3_540],
  ] as const) {
    it(`renews a token of ${life ?? 'unknown'} seconds early, but not in the first half of its life`, async () => {
      server.respondWith = () => ({ body: { ...BEARER, expires_in: life } })
      const grant = await open().exchange('?code=c&state=s', secrets)
      const relative = (time: number | undefined) => time && time - NOW()
      assert.deepEqual([relative(grant.expires), relative(grant.renewal)], [expires, renewal])
      assert.deepEqual([grant.accessToken, grant.refreshToken], ['a1', undefined])
    })
  }

  it('rejects tokens that are not bearer tokens', async () => {
    server.respondWith = () => ({ body: { access_token: 'a', token_type: 'mac' } })
    await assert.rejects(open().exchange('?code=c&state=s', secrets))
    await assert.rejects(open().refresh('r'))
  })

  it('keeps the refresh token that a renewal does not replace', async () => {
    assert.equal((await open().refresh('r1'))?.refreshToken, 'r1')
    const [{ form } = assert.fail()] = server.at('/token')
    assert.deepEqual(
      [form.get('grant_type'), form.get('refresh_token'), form.getAll('resource').length],
      ['refresh_token', 'r1', 2],
    )
    server.respondWith = () => ({ body: { ...BEARER, refresh_token: 'r2' } })
    assert.equal((await open().refresh('r1'))?.refreshToken, 'r2')
  })

  it('distinguishes a grant that has ended from a failure', async () => {
    server.respondWith = () => ({ status: 400, body: { error: 'invalid_grant' } })
    assert.equal(await open().refresh('r'), undefined)
    for (const reply of [
      { status: 400, body: { error: 'invalid_client' } },
      { status: 503, body: {} },
      { status: 200, body: { error: 'invalid_grant' } },
    ]) {
      server.respondWith = () => reply
      await assert.rejects(open().refresh('r'), JSON.stringify(reply))
    }
  })

  it('revokes tokens if the server supports it', async () => {
    await open().revoke('t')
    assert.equal(server.at('/revoke')[0]?.form.get('token'), 't')
    server.requests.length = 0
    const revocationEndpoint = `${server.issuer}/revoke`
    await open({ ...configured(), revocationEndpoint }).revoke('t')
    assert.equal(server.at('/revoke').length, 1)
    server.metadata = { revocation_endpoint: undefined }
    await open().revoke('t')
    await open(configured()).revoke('t')
    assert.equal(server.at('/revoke').length, 1)
  })

  it('reads metadata of either kind once, and again after an hour', async () => {
    const client = open()
    await Promise.all([1, 2, 3].map(() => client.authorizationUrl(secrets)))
    const paths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
    assert.deepEqual(
      server.requests.map(({ path }) => path),
      paths,
    )
    mock.timers.tick(HOUR - 1)
    await client.authorizationUrl(secrets)
    assert.equal(server.requests.length, 2)
    mock.timers.tick(1)
    server.metadata = { issuer: 'https://attacker.example' }
    await assert.rejects(client.authorizationUrl(secrets))
    // The previous metadata are still better than none.
    assert.equal((await client.authorizationUrl(secrets)).pathname, '/authorize')
  })

  it('reads metadata again after a failure', async () => {
    const client = open()
    server.metadata = { issuer: 'https://attacker.example' }
    await assert.rejects(client.authorizationUrl(secrets))
    server.metadata = {}
    assert.equal((await client.authorizationUrl(secrets)).pathname, '/authorize')
  })

  it('has new secrets for each consent', () => {
    const all = Array.from({ length: 20 }, () => Object.values(consentSecrets())).flat()
    assert.equal(new Set(all).size, 40)
  })
})
