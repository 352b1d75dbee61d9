import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { discoverOAuthProtectedResourceMetadata } from '@modelcontextprotocol/sdk/client/auth.js'
import * as jose from 'jose'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, modelOf, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

const ISSUER = 'https://issuer.example'

describe('MCP with OAuth', () => {
  let server: TestMcpServer
  let gateway: Deciding
  let port = 0
  let token: (audience: string) => Promise<string>

  const configOf = (jwks: string, policies: object, metadata: object = {}) =>
    JSON.stringify({
      gateways: { default: { port } },
      mcp: {
        targets: [{ name: 'files', mcp: { host: `127.0.0.1:${server.port}` } }],
        policies: {
          mcpAuthentication: {
            issuer: ISSUER,
            jwks,
            audiences: ['https://tools.example/mcp'],
            resourceMetadata: { scopesSupported: ['tools:read'], ...metadata },
          },
          ...policies,
        },
      },
    })

  before(async () => {
    server = await startMcpServer({ name: 'files' })
    port = await freePort()
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
    const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }
    token = (audience) =>
      new jose.SignJWT({ scope: 'tools:read' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(ISSUER)
        .setSubject('ann')
        .setAudience(audience)
        .setExpirationTime('5m')
        .sign(privateKey)
    const rules = [{ allow: "jwt.scope.contains('tools:read')" }]
    gateway = await startDeciding(
      configOf(JSON.stringify({ keys: [jwk] }), { mcpAuthorization: { rules } }),
    )
  })
  after(async () => {
    await gateway.stop()
    await server.close()
  })

  const initialize = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
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
        ...headers,
      },
    })

  it('tells clients without a token where to find the authorization server', async () => {
    const response = await initialize({})
    assert.equal(response.status, 401)
    const challenge = response.headers.get('www-authenticate') ?? ''
    const [, url = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
    assert.equal(url, `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`)
    assert.match(challenge, /^Bearer .*scope="tools:read"/)
    const { error } = (await response.json()) as { error: { code: number } }
    assert.equal(error.code, -32600)
    assert.deepEqual(await (await fetch(url)).json(), {
      resource: `http://127.0.0.1:${port}/mcp`,
      authorization_servers: [ISSUER],
      bearer_methods_supported: ['header'],
      scopes_supported: ['tools:read'],
    })
    const found = await discoverOAuthProtectedResourceMetadata(`http://127.0.0.1:${port}/mcp`)
    assert.deepEqual(found.authorization_servers, [ISSUER])
  })

  it('admits only tokens for this resource, and does not forward them to the server', async () => {
    const other = await token('https://other.example')
    assert.equal((await initialize({ authorization: `Bearer ${other}` })).status, 401)
    const count = server.seen.length
    const good = await token('https://tools.example/mcp')
    assert.equal((await initialize({ authorization: `Bearer ${good}` })).status, 200)
    assert.equal(server.seen.length, count + 1)
    assert.equal(server.seen.at(-1)?.headers.authorization, undefined)
  })

  it('redirects requests for authorization server metadata to that server', async () => {
    for (const path of ['', '/mcp']) {
      const url = `http://127.0.0.1:${port}/.well-known/oauth-authorization-server${path}`
      const response = await fetch(url, { redirect: 'manual' })
      assert.equal(response.status, 307)
      assert.equal(
        response.headers.get('location'),
        `${ISSUER}/.well-known/oauth-authorization-server`,
      )
    }
  })

  it('lets browser clients read metadata with a custom header, and nothing else', async () => {
    const ask = async (path: string, method: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://inspector.example',
          'access-control-request-method': method,
          'access-control-request-headers': 'mcp-protocol-version',
        },
      })
      const { headers, status } = response
      return [status, headers.get('access-control-allow-origin')]
    }
    for (const place of ['oauth-protected-resource', 'oauth-authorization-server']) {
      for (const end of ['', '/mcp']) {
        assert.deepEqual(await ask(`/.well-known/${place}${end}`, 'GET'), [204, '*'])
      }
      assert.deepEqual(await ask(`/.well-known/${place}/mcp`, 'POST'), [401, null])
    }
    assert.deepEqual(await ask('/mcp', 'GET'), [401, null])
  })

  it('uses the configured name of the resource', () => {
    const model = modelOf(configOf('{"keys":[]}', {}, { resource: 'https://tools.example/mcp' }))
    assert.match(JSON.stringify(model), /"resource":"https:\/\/tools.example\/mcp"/)
  })

  it('requires an audience', () => {
    const text = configOf('{"keys":[]}', {}).replace('["https://tools.example/mcp"]', '[]')
    const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
    assert.deepEqual(
      diagnostics.map(({ message }) => message),
      ['`audiences` is missing'],
    )
  })
})
