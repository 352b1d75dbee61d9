import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as jose from 'jose'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { startTokenEndpoint, type TokenEndpoint } from './token-endpoint.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'https://files.internal/mcp'
/** Contains characters that a form must encode. */
const SECRET = 's3 cr+t:&é'

describe('exchanged tokens for backends', () => {
  let server: TestMcpServer
  let endpoint: TokenEndpoint
  let gateway: Deciding
  let port = 0
  let config = ''
  let users = 0
  let token: (sub?: string, life?: string) => Promise<string>

  before(async () => {
    server = await startMcpServer({ name: 'files' })
    port = await freePort()
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
    const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }
    const plan = { client: 'the gateway', secret: SECRET, audience: AUDIENCE, publicKey }
    endpoint = await startTokenEndpoint(plan)
    token = (sub = `user-${users++}`, life = '1h') =>
      new jose.SignJWT({ scope: 'all' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(ISSUER)
        .setSubject(sub)
        .setAudience('https://tools.example/mcp')
        .setExpirationTime(life)
        .sign(privateKey)
    config = JSON.stringify({
      gateways: { default: { port } },
      mcp: {
        targets: [
          {
            name: 'files',
            mcp: { host: `127.0.0.1:${server.port}` },
            policies: {
              backendAuth: {
                oauthTokenExchange: {
                  tokenEndpoint: `http://127.0.0.1:${endpoint.port}/token`,
                  clientId: 'the gateway',
                  clientSecret: SECRET,
                  audiences: [AUDIENCE],
                  scopes: ['files:read', 'files:list'],
                  timeout: '5s',
                },
              },
            },
          },
        ],
        policies: {
          mcpAuthentication: {
            mode: 'Optional',
            issuer: ISSUER,
            jwks: JSON.stringify({ keys: [jwk] }),
            audiences: ['https://tools.example/mcp'],
          },
        },
      },
    })
    gateway = await startDeciding(config)
  })
  after(async () => {
    await gateway?.stop()
    endpoint?.close()
    await server?.close()
  })
  beforeEach(() => {
    endpoint.accepted.length = 0
    endpoint.rejected.length = 0
    endpoint.life = 3_600
    endpoint.fault = undefined
    server.seen.length = 0
  })

  const initialize = async (bearer: string | undefined) => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
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
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      },
    })
    await response.text()
    return response.status
  }

  const received = () => server.seen.map(({ headers }) => headers.authorization ?? '')

  it('reach the server in place of the token of the client', async () => {
    const own = await token('ann')
    assert.equal(await initialize(own), 200)
    assert.deepEqual(endpoint.rejected, [])
    const [form] = endpoint.accepted
    assert.equal(form?.get('scope'), 'files:read files:list')
    const [sent = ''] = received()
    const claims = jose.decodeJwt(sent.replace('Bearer ', ''))
    assert.deepEqual([claims.sub, claims.aud], ['ann', AUDIENCE])
    assert.ok(!JSON.stringify(server.seen).includes(own))
    assert.ok(!gateway.lines.some((line) => line.includes(own) || line.includes(SECRET)))
  })

  it('are cached for each token, and fetched once for concurrent requests', async () => {
    const [ann, bob] = [await token(), await token()]
    const statuses = await Promise.all([ann, ann, ann, bob, ann, bob].map(initialize))
    assert.deepEqual(statuses, Array(6).fill(200))
    assert.equal(await initialize(ann), 200)
    assert.equal(endpoint.accepted.length, 2)
    assert.equal(new Set(received()).size, 2)
  })

  it('are fetched again when they are about to expire', async () => {
    const own = await token()
    endpoint.life = 0.001
    assert.equal(await initialize(own), 200)
    assert.equal(await initialize(own), 200)
    assert.equal(endpoint.accepted.length, 2)
    endpoint.life = undefined
    assert.equal(await initialize(own), 200)
    assert.equal(await initialize(own), 200)
    assert.equal(endpoint.accepted.length, 3)
  })

  it('never outlive the token of the client', async () => {
    const own = await token('short', '2s')
    assert.equal(await initialize(own), 200)
    // For the gateway this is a different token, although the client is the same.
    assert.equal(await initialize(await token('short', '3s')), 200)
    assert.equal(endpoint.accepted.length, 2)
  })

  for (const [what, fault, status] of [
    ['a subject that it rejects', undefined, 403],
    ['the token of the client as it is', 'same-token', 503],
    ['nothing', 'silent', 503],
    ['an error of its own', { status: 500, body: '{}' }, 503],
    ['that the gateway is unknown', { status: 401, body: '{"error":"invalid_client"}' }, 500],
    ['no JSON', { status: 200, body: 'token' }, 503],
    ['no token', { status: 200, body: '{"token_type":"Bearer"}' }, 503],
    [
      'a token that is bound to a key',
      { status: 200, body: '{"access_token":"abc","token_type":"DPoP"}' },
      503,
    ],
    [
      'a token that cannot be sent',
      { status: 200, body: '{"access_token":"a\\r\\nb: c","token_type":"Bearer"}' },
      503,
    ],
  ] as const) {
    it(`fail closed if the authorization server says ${what}`, async () => {
      endpoint.fault = fault
      const own = await token(fault === undefined ? 'barred' : undefined)
      assert.equal(await initialize(own), status)
      assert.deepEqual(server.seen, [])
      // Failures are not cached.
      endpoint.fault = undefined
      if (fault !== undefined) assert.equal(await initialize(own), 200)
    })
  }

  it('require an authenticated client', async () => {
    assert.equal(await initialize(undefined), 403)
    assert.deepEqual([server.seen, endpoint.accepted], [[], []])
  })

  it('must be restricted to an audience', () => {
    const text = config.replace(`"audiences":["${AUDIENCE}"],`, '')
    const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
    assert.ok(diagnostics.some(({ message }) => message.includes('valid for any server')))
  })
})
