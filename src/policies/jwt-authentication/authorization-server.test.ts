import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { type Arrived, ScriptedServices } from '../../../test/program/scripted-services.ts'
import type { Reply } from '../../exchange/reply.ts'
import { bindSecret } from '../../model/secret.ts'
import { ServerMetadata, serverFront } from './authorization-server.ts'
import {
  type AuthorizationServer,
  bodyPaths,
  type IdentityProvider,
  serverAt,
} from './identity-providers.ts'

const ISSUER = 'https://idp.example/tenant/v2.0'
const BASE = new URL('https://mcp.example/mcp')
const PLACE = '/.well-known/oauth-authorization-server'
const ENDPOINTS = `https://mcp.example${PLACE}/mcp`
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: 'https://idp.example/authorize?p=1',
  token_endpoint: 'https://idp.example/token?p=1',
  signed_metadata: 'of the provider',
  authorization_response_iss_parameter_supported: true,
}
const CODE = 'grant_type=authorization_code&code=c&client_id=app&code_verifier=v'
const FRESH = 300_000

describe('an identity provider behind the gateway', () => {
  const services = new ScriptedServices()
  let metadata: object = METADATA
  let tokens: { readonly status?: number; readonly body: string } = { body: '{"access_token":"t"}' }

  beforeEach(() => {
    services.time = 0
    services.arrived.length = 0
    metadata = METADATA
    tokens = { body: '{"access_token":"t"}' }
    services.respondWith = ({ path }) =>
      path.includes('well-known') ? { body: JSON.stringify(metadata) } : tokens
  })

  function open(provider: IdentityProvider, more: Partial<AuthorizationServer> = {}) {
    const server = { ...(serverAt(provider, ISSUER, 'aud') ?? assert.fail()), ...more }
    const { now } = services.context
    const ask = services.serviceAt('idp')
    return serverFront({ server, metadata: new ServerMetadata(), ask, now })
  }

  async function call(
    front: ReturnType<typeof open>,
    name: string,
    { method = 'GET', body = '', query = '' } = {},
  ) {
    const exchange = exchangeOf({ method, url: `${PLACE}/mcp${name}${query}` })
    exchange.request.body = Buffer.from(body)
    const reply: Reply | undefined = await front(exchange, BASE)
    assert.ok(reply !== undefined)
    const text = typeof reply.body === 'string' ? reply.body : Buffer.from(reply.body).toString()
    const headers = Object.fromEntries(reply.headers.added)
    return { ...reply, headers, json: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const post = (front: ReturnType<typeof open>, name: string, body: string) =>
    call(front, name, { method: 'POST', body })
  const secret = { secretRef: 'inline', version: 'v' }
  bindSecret(secret, ' the-secret\n')
  const CLIENT = { clientId: 'app', clientSecret: secret }
  const form = ({ body }: Arrived = assert.fail()) => Object.fromEntries(new URLSearchParams(body))

  describe('that exchanges codes through the gateway', () => {
    for (const [what, body, expected] of [
      ['a code with its proof', CODE, 200],
      ['a code without a proof', CODE.replace('&code_verifier=v', ''), 'invalid_grant'],
      ['a code with two proofs', `${CODE}&code_verifier=w`, 'invalid_grant'],
      ['a code of another client', CODE.replace('app', 'other'), 'invalid_client'],
      ['a code without a client', CODE.replace('client_id=app&', ''), 'invalid_client'],
      ['a code with two clients', `${CODE}&client_id=other`, 'invalid_client'],
      ['a refresh token', 'grant_type=refresh_token&refresh_token=r&client_id=app', 200],
      [
        'a refresh token of another client',
        'grant_type=refresh_token&client_id=b',
        'invalid_client',
      ],
      ['credentials', 'grant_type=client_credentials&client_id=app', 'unsupported_grant_type'],
      ['a password', 'grant_type=password&client_id=app', 'unsupported_grant_type'],
      ['two grants', `${CODE}&grant_type=refresh_token`, 'unsupported_grant_type'],
      ['no grant', 'client_id=app', 'unsupported_grant_type'],
      ['nothing', '', 'unsupported_grant_type'],
    ] as const) {
      it(`adds the secret of the gateway for ${what}: ${expected}`, async () => {
        const { status, json } = await post(open('Entra', CLIENT), '/token', body)
        const sent = services.arrived.filter(({ path }) => path.startsWith('/token'))
        if (expected === 200) {
          assert.deepEqual([status, json], [200, { access_token: 't' }])
          assert.equal(form(sent[0])['client_secret'], 'the-secret')
        } else {
          assert.deepEqual([status, json], [400, { error: expected }])
          assert.equal(sent.length, 0)
        }
      })
    }

    it('forwards the form of a public client as it is, without the resource', async () => {
      const front = open('Entra', { clientId: 'app' })
      for (const body of [CODE, CODE.replace('&code_verifier=v', ''), CODE.replace('app', 'b')]) {
        services.arrived.length = 0
        assert.equal((await post(front, '/token', `${body}&resource=x`)).status, 200)
        const sent = services.arrived.at(-1) ?? assert.fail()
        assert.equal(sent.body, body)
        assert.deepEqual(
          [sent.method, sent.path, sent.headers['content-type'], sent.timeout],
          ['POST', '/token?p=1', 'application/x-www-form-urlencoded', 10_000],
        )
      }
    })

    for (const [status, body, expected] of [
      [200, '{"a":1}', 200],
      [400, '{"error":"invalid_grant"}', 400],
      [499, '{}', 499],
      [500, '{}', 503],
      [199, '{}', 503],
      [200, 'text', 503],
      [200, '[1]', 503],
      [200, 'null', 503],
    ] as const) {
      it(`passes on JSON that is no failure of the provider: ${status} ${body}: ${expected}`, async () => {
        tokens = { status, body }
        const reply = await post(open('Entra'), '/token', CODE)
        assert.equal(reply.status, expected)
        if (expected !== 503) assert.deepEqual(reply.json, JSON.parse(body))
        else assert.equal(reply.detail, `authorization server: status ${status}`)
      })
    }

    it('contacts no other host than the issuer, whatever its metadata say', async () => {
      for (const token_endpoint of [
        'https://attacker.example/token',
        'http://idp.example/token',
        7,
        'x',
      ]) {
        metadata = { ...METADATA, token_endpoint }
        const { status, detail } = await post(open('Entra'), '/token', CODE)
        assert.equal(status, 503)
        assert.match(detail ?? '', /does not have the origin of the issuer/)
        assert.equal(services.arrived.at(-1)?.method, 'GET')
      }
    })

    it('reports a provider that does not respond', async () => {
      const front = open('Entra')
      await call(front, '')
      services.respondWith = () => ({ failure: 'timeout' })
      const { status, detail } = await post(front, '/token', CODE)
      assert.deepEqual([status, detail], [503, 'authorization server: timeout'])
    })

    it('redirects users to the provider without the resource', async () => {
      const { status, headers } = await call(open('Entra'), '/authorize', {
        query: '?client_id=app&resource=x&scope=a%20b&scope=c',
      })
      assert.deepEqual(
        [status, headers['location']],
        [302, 'https://idp.example/authorize?p=1&client_id=app&scope=a+b&scope=c'],
      )
      metadata = { ...METADATA, authorization_endpoint: 'https://attacker.example/' }
      assert.equal((await call(open('Entra'), '/authorize')).status, 503)
    })
  })

  for (const [provider, method, name, status] of [
    ['Entra', 'GET', '', 200],
    ['Entra', 'HEAD', '', 200],
    ['Entra', 'POST', '', 405],
    ['Entra', 'DELETE', '/token', 405],
    ['Entra', 'POST', '/authorize', 405],
    ['Entra', 'HEAD', '/authorize', 302],
    ['Auth0', 'GET', '', 200],
    ['Auth0', 'HEAD', '', 200],
    ['Auth0', 'POST', '', 405],
    // Clients call the provider itself.
    ['Auth0', 'POST', '/token', 405],
    ['Auth0', 'GET', '/authorize', 200],
    ['Auth0', 'OPTIONS', '/token', 204],
  ] as const) {
    it(`${provider}: ${method} ${name === '' ? 'of the metadata' : name}: ${status}`, async () => {
      const { status: own, headers } = await call(open(provider), name, { method })
      assert.equal(own, status)
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.equal(headers['cache-control'], 'no-store')
    })
  }

  it('has nothing to do with other paths', () => {
    for (const url of ['/', `${PLACE}x`, '/.well-known/oauth-protected-resource']) {
      assert.equal(open('Entra')(exchangeOf({ url }), BASE), undefined, url)
    }
  })

  describe('has metadata', () => {
    it('that lead clients to the gateway where the provider needs it', async () => {
      const { json } = await call(open('Entra', CLIENT), '')
      assert.deepEqual(json, {
        issuer: 'https://mcp.example/mcp',
        authorization_endpoint: `${ENDPOINTS}/authorize`,
        token_endpoint: `${ENDPOINTS}/token`,
        code_challenge_methods_supported: ['S256'],
        registration_endpoint: `${ENDPOINTS}/client-registration`,
        token_endpoint_auth_methods_supported: ['none'],
      })
    })

    it('that name the audience for providers that choose it so', async () => {
      metadata = { ...METADATA, code_challenge_methods_supported: ['plain', 'S256'] }
      const expected = {
        issuer: 'https://mcp.example/mcp',
        token_endpoint: METADATA.token_endpoint,
      }
      const methods = { code_challenge_methods_supported: ['plain', 'S256'] }
      for (const [provider, audience] of [
        ['Auth0', '&audience=aud'],
        ['Keycloak', ''],
      ] as const) {
        const authorization_endpoint = `${METADATA.authorization_endpoint}${audience}`
        const { json } = await call(open(provider), '')
        assert.deepEqual(json, { ...expected, ...methods, authorization_endpoint })
      }
      metadata = { ...METADATA, authorization_endpoint: 'x' }
      assert.equal((await call(open('Auth0'), '')).json.authorization_endpoint, 'x')
    })

    it('with a registration if there is a client, or if the provider has one', async () => {
      metadata = { ...METADATA, registration_endpoint: 'https://idp.example/register' }
      assert.equal(
        (await call(open('Auth0'), '')).json.registration_endpoint,
        `${ENDPOINTS}/client-registration`,
      )
    })

    for (const [what, own, isGood] of [
      ['of the issuer with a slash', { ...METADATA, issuer: `${ISSUER}/` }, true],
      ['of another issuer', { ...METADATA, issuer: 'https://attacker.example' }, false],
      ['without an issuer', { ...METADATA, issuer: undefined }, false],
      ['that are a list', [], false],
    ] as const) {
      it(`${what} ${isGood ? 'are' : 'are not'} served`, async () => {
        metadata = own
        const { status, detail = '' } = await call(open('Auth0'), '')
        assert.equal(status, isGood ? 200 : 503)
        assert.equal(detail.startsWith('authorization server: metadata: '), !isGood)
      })
    }

    it('that are read once for concurrent requests, and again after five minutes', async () => {
      const front = open('Auth0')
      await Promise.all([call(front, ''), call(front, ''), call(front, '')])
      assert.equal(services.arrived.length, 1)
      assert.equal(services.arrived[0]?.path, '/tenant/v2.0/.well-known/openid-configuration')
      services.time = FRESH - 1
      await call(front, '')
      assert.equal(services.arrived.length, 1)
      services.time = FRESH
      services.respondWith = () => ({ status: 500 })
      assert.equal((await call(front, '')).status, 503)
      // A failure is not kept.
      services.respondWith = () => ({ body: JSON.stringify(METADATA) })
      assert.equal((await call(front, '')).status, 200)
      assert.equal(services.arrived.length, 3)
    })
  })

  describe('registers clients', () => {
    const register = (front: ReturnType<typeof open>, client: object) =>
      post(front, '/client-registration', JSON.stringify(client))
    const uri = 'http://127.0.0.1:1/cb'

    it('as the one that is configured', async () => {
      for (const [name, expected] of [
        ['Tool', { client_name: 'Tool' }],
        ['x'.repeat(257), { client_name: 'x'.repeat(256) }],
        [7, {}],
        [undefined, {}],
      ] as const) {
        const client = { redirect_uris: [uri], client_name: name }
        const { status, json } = await register(open('Auth0', { clientId: 'app' }), client)
        assert.equal(status, 201)
        assert.deepEqual(json, {
          client_id: 'app',
          ...expected,
          redirect_uris: [uri],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        })
      }
    })

    for (const [what, uris, status] of [
      ['no URL', [], 400],
      ['sixteen URLs', Array(16).fill(uri), 201],
      ['seventeen URLs', Array(17).fill(uri), 400],
      ['a text that is no URL', [uri, 'x'], 400],
      ['a number', [uri, 7], 400],
      ['a text in place of a list', uri, 400],
      ['nothing', undefined, 400],
    ] as const) {
      it(`with ${what}: ${status}`, async () => {
        const reply = await register(open('Auth0', { clientId: 'app' }), { redirect_uris: uris })
        assert.equal(reply.status, status)
        if (status === 400) assert.deepEqual(reply.json, { error: 'invalid_redirect_uri' })
      })
    }

    it('at the provider, if none is configured', async () => {
      metadata = { ...METADATA, registration_endpoint: 'https://idp.example/register' }
      tokens = { status: 201, body: '{"client_id":"new"}' }
      const { status, json } = await register(open('Auth0'), { redirect_uris: [uri] })
      assert.deepEqual([status, json], [201, { client_id: 'new' }])
      const sent = services.arrived.at(-1) ?? assert.fail()
      assert.deepEqual(
        [sent.path, sent.headers['content-type'], JSON.parse(sent.body)],
        ['/register', 'application/json', { redirect_uris: [uri] }],
      )
    })

    it('rejects what is not JSON', async () => {
      const front = open('Auth0', { clientId: 'app' })
      for (const body of ['', 'x', '[]', 'null']) {
        assert.equal((await post(front, '/client-registration', body)).status, 400, body)
      }
    })
  })
})

describe('the issuer of an identity provider', () => {
  for (const [issuer, path] of [
    ['https://a.example', '/.well-known/openid-configuration'],
    ['https://a.example/', '/.well-known/openid-configuration'],
    ['https://a.example/t//', '/t/.well-known/openid-configuration'],
    ['https://a.example/?x', undefined],
    ['https://a.example/#x', undefined],
    ['https://a.example/?x#y', undefined],
    ['a.example', undefined],
    ['mailto:a@b', undefined],
  ] as const) {
    it(`${issuer} has ${path === undefined ? 'no metadata' : `its metadata at ${path}`}`, () => {
      assert.equal(serverAt('Auth0', issuer, 'aud')?.metadataPath, path)
    })
  }

  it('of Okta has OAuth metadata', () => {
    assert.equal(
      serverAt('Okta', 'https://a.example/o', 'aud')?.metadataPath,
      '/o/.well-known/oauth-authorization-server',
    )
  })
})

describe('paths at which the gateway reads a body', () => {
  it('are below each place where clients look', () => {
    const below = (path: string) =>
      ['client-registration', 'token'].map((n) => `${PLACE}${path}/${n}`)
    const usual = [...below(''), ...below('/mcp')]
    assert.deepEqual(bodyPaths(undefined), usual)
    assert.deepEqual(bodyPaths('https://a.example/mcp/'), usual)
    assert.deepEqual(bodyPaths('https://a.example/x'), [...usual, ...below('/x')])
    assert.deepEqual(bodyPaths('nonsense'), usual)
  })
})
