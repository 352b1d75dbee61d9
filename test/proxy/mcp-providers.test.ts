import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  exchangeAuthorization,
  registerClient,
  startAuthorization,
} from '@modelcontextprotocol/sdk/client/auth.js'
import * as jose from 'jose'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

/*
 * Identity providers as strict servers: each implements what the vendor documents, and rejects what
 * the vendor rejects. The client is the MCP SDK.
 */

interface Vendor {
  /** The path of the issuer, below the server. */
  readonly path: string
  readonly metadata: string
  readonly keys: string
  readonly registers: boolean
  /** How the audience of a token is chosen. */
  readonly audienceBy: 'audience' | 'client'
  readonly rejectsResource: boolean
}

const OPENID = '/.well-known/openid-configuration'
const VENDORS: Readonly<Record<string, Vendor>> = {
  Auth0: {
    ...{ path: '/', metadata: OPENID, keys: '/.well-known/jwks.json', registers: true },
    ...{ audienceBy: 'audience', rejectsResource: false },
  },
  Keycloak: {
    ...{ path: '/realms/tools', metadata: `/realms/tools${OPENID}`, registers: true },
    ...{ keys: '/realms/tools/protocol/openid-connect/certs' },
    ...{ audienceBy: 'client', rejectsResource: false },
  },
  Okta: {
    ...{ path: '/oauth2/default', registers: false, keys: '/oauth2/default/v1/keys' },
    ...{ metadata: '/oauth2/default/.well-known/oauth-authorization-server' },
    ...{ audienceBy: 'audience', rejectsResource: false },
  },
  Descope: {
    ...{ path: '/P2abc', metadata: `/P2abc${OPENID}`, keys: '/P2abc/.well-known/jwks.json' },
    ...{ registers: true, audienceBy: 'client', rejectsResource: false },
  },
  Authentik: {
    ...{ path: '/application/o/tools/', metadata: `/application/o/tools${OPENID}` },
    ...{ keys: '/application/o/tools/jwks/', registers: false },
    ...{ audienceBy: 'client', rejectsResource: false },
  },
  Entra: {
    ...{ path: '/tenant/v2.0', metadata: `/tenant/v2.0${OPENID}`, registers: false },
    ...{ keys: '/tenant/discovery/v2.0/keys', audienceBy: 'client', rejectsResource: true },
  },
}

const SECRET = 'the-secret-of-the-gateway'

describe('identity providers behind the gateway', () => {
  let idp: Server
  let server: TestMcpServer
  let gateway: Deciding
  let port = 0
  let vendor: Vendor = VENDORS['Auth0'] as Vendor
  let resource = ''
  let privateKey: CryptoKey
  let jwk: jose.JWK
  let challenge = ''
  /** Requests at the provider: method, path and body. */
  const arrived: { method: string; path: string; body: string; headers: object }[] = []
  let brokenMetadata: object | undefined

  const at = () => `http://127.0.0.1:${(idp.address() as AddressInfo).port}`
  const issuerOf = ({ path }: Vendor) => `${at()}${path}`

  async function bodyOf(request: IncomingMessage): Promise<string> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    return Buffer.concat(pieces).toString()
  }

  async function respond(method: string, path: string, body: string): Promise<[number, object]> {
    const url = new URL(path, at())
    if (url.pathname === vendor.keys) return [200, { keys: [jwk] }]
    if (url.pathname === vendor.metadata) {
      return [
        200,
        {
          issuer: issuerOf(vendor),
          authorization_endpoint: `${at()}/authorize`,
          token_endpoint: `${at()}/token`,
          jwks_uri: `${at()}${vendor.keys}`,
          response_types_supported: ['code'],
          authorization_response_iss_parameter_supported: true,
          ...(vendor.registers ? { registration_endpoint: `${at()}/register` } : {}),
          ...(vendor.rejectsResource ? {} : { code_challenge_methods_supported: ['S256'] }),
          ...brokenMetadata,
        },
      ]
    }
    if (method === 'POST' && url.pathname === '/register' && vendor.registers) {
      const { redirect_uris: uris } = JSON.parse(body) as { redirect_uris: string[] }
      return [201, { client_id: 'registered', redirect_uris: uris }]
    }
    if (method === 'POST' && url.pathname === '/token') {
      const form = new URLSearchParams(body)
      if (vendor.rejectsResource && form.has('resource')) {
        return [400, { error: 'invalid_target', error_description: 'AADSTS901002' }]
      }
      const verifier = form.get('code_verifier') ?? ''
      const isProven = createHash('sha256').update(verifier).digest('base64url') === challenge
      if (!isProven) return [400, { error: 'invalid_grant' }]
      const isSecret = form.get('client_secret') === SECRET
      if (vendor.rejectsResource && !isSecret) return [401, { error: 'invalid_client' }]
      const token = await new jose.SignJWT({ scope: 'tools' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(issuerOf(vendor))
        .setSubject('ann')
        .setAudience(resource)
        .setExpirationTime('5m')
        .sign(privateKey)
      return [200, { access_token: token, token_type: 'Bearer', expires_in: 300 }]
    }
    return [404, { error: 'not_found' }]
  }

  before(async () => {
    const pair = await jose.generateKeyPair('ES256')
    privateKey = pair.privateKey
    jwk = { ...(await jose.exportJWK(pair.publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }
    idp = createServer((request, response) => {
      const { method = '', url = '', headers } = request
      bodyOf(request)
        .then(async (body) => {
          arrived.push({ method, path: url, body, headers })
          const [status, value] = await respond(method, url, body)
          response.writeHead(status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(value))
        })
        .catch(() => response.destroy())
    })
    await new Promise<void>((done) => idp.listen(0, '127.0.0.1', done))
    server = await startMcpServer({ name: 'files' })
    port = await freePort()
    resource = `http://127.0.0.1:${port}/mcp`
    gateway = await startDeciding(configOf('Auth0'))
  })
  after(async () => {
    await gateway?.stop()
    await server?.close()
    idp?.close()
    idp?.closeAllConnections()
  })
  beforeEach(() => {
    arrived.length = 0
    brokenMetadata = undefined
  })

  function configOf(provider: string, more: object = {}): string {
    vendor = VENDORS[provider] as Vendor
    return JSON.stringify({
      gateways: { default: { port } },
      mcp: {
        targets: [{ name: 'files', mcp: { host: `127.0.0.1:${server.port}` } }],
        policies: {
          mcpAuthentication: {
            issuer: issuerOf(vendor),
            audiences: [resource],
            provider,
            resourceMetadata: { resource, scopesSupported: ['tools'] },
            ...more,
          },
          authorization: { rules: [{ require: "jwt.sub == 'ann'" }] },
        },
      },
    })
  }

  const call = (token: string) =>
    fetch(resource, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        },
      }),
    })

  const REDIRECT = 'http://localhost:9999/callback'

  for (const [name, own] of Object.entries(VENDORS)) {
    it(`${name}: a client of the SDK finds its way from 401 to a call`, async () => {
      const secret = own.rejectsResource ? { clientSecret: SECRET } : {}
      await gateway.apply(configOf(name, own.registers ? {} : { clientId: 'known', ...secret }))
      assert.equal((await call('')).status, 401)
      const found = await discoverOAuthProtectedResourceMetadata(resource)
      assert.deepEqual(found.authorization_servers, [resource])
      const [authority = ''] = found.authorization_servers ?? []
      const metadata = await discoverAuthorizationServerMetadata(authority)
      assert.ok(metadata)
      assert.equal(metadata.issuer, resource)
      assert.equal(JSON.stringify(metadata).includes('iss_parameter'), false)
      const client = await registerClient(authority, {
        metadata,
        clientMetadata: { redirect_uris: [REDIRECT], client_name: 'test' },
      })
      assert.equal(client.client_id, own.registers ? 'registered' : 'known')
      const { authorizationUrl, codeVerifier } = await startAuthorization(authority, {
        metadata,
        clientInformation: client,
        redirectUrl: REDIRECT,
        resource: new URL(resource),
      })
      let asked = authorizationUrl
      if (own.rejectsResource) {
        const response = await fetch(authorizationUrl, { redirect: 'manual' })
        assert.equal(response.status, 302)
        asked = new URL(response.headers.get('location') ?? '')
        assert.equal(asked.searchParams.get('resource'), null)
      }
      assert.equal(`${asked.origin}${asked.pathname}`, `${at()}/authorize`)
      const audience = asked.searchParams.get('audience')
      assert.equal(audience, own.audienceBy === 'audience' ? resource : null)
      challenge = asked.searchParams.get('code_challenge') ?? ''
      const tokens = await exchangeAuthorization(authority, {
        metadata,
        clientInformation: client,
        authorizationCode: 'code',
        codeVerifier,
        redirectUri: REDIRECT,
        resource: new URL(resource),
      })
      assert.equal((await call(tokens.access_token)).status, 200)
      // Only the client's registration reaches the provider.
      const registered = arrived.filter(({ path }) => path === '/register')
      assert.equal(registered.length, own.registers ? 1 : 0)
    })
  }

  it('the format of other gateways is accepted as well', () => {
    const text = configOf('Keycloak').replace('"provider":"Keycloak"', '"provider":{"keycloak":{}}')
    const { diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
    assert.deepEqual(diagnostics, [])
  })

  it('the secret of the gateway is only for codes with proof (PKCE)', async () => {
    await gateway.apply(configOf('Entra', { clientId: 'known', clientSecret: SECRET }))
    const token = `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp/token`
    for (const [what, form, error] of [
      ['client credentials', 'grant_type=client_credentials&client_id=known', 'unsupported_grant'],
      ['a grant twice', 'grant_type=refresh_token&grant_type=client_credentials', 'unsupported'],
      ['no proof', 'grant_type=authorization_code&client_id=known&code=x', 'invalid_grant'],
      ['another client', 'grant_type=refresh_token&client_id=other', 'invalid_client'],
      ['two clients', 'grant_type=refresh_token&client_id=known&client_id=other', 'invalid_client'],
    ] as const) {
      arrived.length = 0
      const response = await fetch(token, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form,
      })
      assert.equal(response.status, 400, what)
      assert.match(await response.text(), new RegExp(error), what)
      assert.deepEqual(
        arrived.filter(({ path }) => path === '/token'),
        [],
        what,
      )
    }
  })

  it('references of a provider to other hosts are not followed, and nothing is guessed', async () => {
    const base = `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp`
    const register = () =>
      fetch(`${base}/client-registration`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-client' },
        body: JSON.stringify({ redirect_uris: [REDIRECT] }),
      })
    await gateway.apply(configOf('Descope'))
    brokenMetadata = { registration_endpoint: 'http://127.0.0.1:9/register' }
    assert.equal((await register()).status, 503)
    await gateway.apply(configOf('Keycloak', { leeway: '1s' }))
    brokenMetadata = { issuer: 'https://other.example' }
    assert.equal((await fetch(base)).status, 503)
    await gateway.apply(configOf('Keycloak', { leeway: '2s' }))
    brokenMetadata = undefined
    assert.equal((await register()).status, 201)
    const [sent] = arrived.filter(({ path }) => path === '/register')
    assert.equal(JSON.stringify(sent).includes('of-the-client'), false)
    assert.equal((await fetch(base, { method: 'DELETE' })).status, 405)
    const preflight = await fetch(`${base}/client-registration`, { method: 'OPTIONS' })
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  })

  it('registration in place of the provider accepts only redirect URIs', async () => {
    await gateway.apply(configOf('Authentik', { clientId: 'known' }))
    const url = `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp/client-registration`
    for (const body of ['', '[]', '{}', '{"redirect_uris":[]}', '{"redirect_uris":["x"]}']) {
      const response = await fetch(url, { method: 'POST', body })
      assert.equal(response.status, 400, body)
    }
  })

  for (const [what, more, message] of [
    ['without metadata', { resourceMetadata: undefined }, '`resourceMetadata` is missing'],
    ['a secret for others', { clientSecret: 'x' }, 'the gateway does not send token requests'],
    ['no URL', { issuer: 'x', jwks: '{"keys":[]}' }, '`provider` requires a single issuer'],
    [
      'a client without a provider',
      { provider: undefined, clientId: 'x' },
      '`provider` is missing',
    ],
  ] as const) {
    it(`is an error: ${what}`, () => {
      const text = configOf('Auth0', more)
      const { diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
      assert.ok(
        diagnostics.some((own) => own.message.startsWith(message)),
        JSON.stringify(diagnostics),
      )
    })
  }
})
