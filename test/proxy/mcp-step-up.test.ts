import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import * as jose from 'jose'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

const ISSUER = 'https://issuer.example'
const RESOURCE = 'https://tools.example/mcp'
const HAS_WRITE = "jwt.scope.split(' ').exists(s, s == 'files:write')"

describe('MCP with scopes', () => {
  let server: TestMcpServer
  let gateway: Deciding
  let port = 0
  let token: (scope: string, sub?: string) => Promise<string>

  before(async () => {
    server = await startMcpServer({ name: 'files' })
    port = await freePort()
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
    const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }
    token = (scope, sub = 'ann') =>
      new jose.SignJWT({ scope })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(ISSUER)
        .setSubject(sub)
        .setAudience(RESOURCE)
        .setExpirationTime('5m')
        .sign(privateKey)
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        mcp: {
          targets: [{ name: 'files', mcp: { host: `127.0.0.1:${server.port}` } }],
          policies: {
            mcpAuthentication: {
              issuer: ISSUER,
              jwks: JSON.stringify({ keys: [jwk] }),
              audiences: [RESOURCE],
              resourceMetadata: { resource: RESOURCE, scopesSupported: ['files:read'] },
            },
            mcpAuthorization: {
              rules: [
                {
                  require: `!(mcp.tool.name in ['delete', 'nothing']) || ${HAS_WRITE}`,
                  scopes: ['files:write', 'files:delete'],
                },
                { deny: "jwt.sub == 'eve' && mcp.tool.name == 'delete'" },
                { allow: "mcp.tool.name in ['echo', 'delete']" },
              ],
            },
          },
        },
      }),
    )
  })
  after(async () => {
    await gateway?.stop()
    await server?.close()
  })

  async function ask(bearer: string, method: string, params: object = {}, session = '') {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${bearer}`,
        ...(session === '' ? {} : { 'mcp-session-id': session }),
      },
    })
    return { response, text: await response.text() }
  }

  async function begin(bearer: string): Promise<string> {
    const { response } = await ask(bearer, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    })
    return response.headers.get('mcp-session-id') ?? assert.fail()
  }

  it('lists the scopes that a token lacks, and calls no server', async () => {
    const small = await token('files:read')
    const session = await begin(small)
    const { text: list } = await ask(small, 'tools/list', {}, session)
    assert.match(list, /"name":"delete"/)
    const count = server.seen.length
    const { response, text } = await ask(small, 'tools/call', { name: 'delete' }, session)
    assert.equal(response.status, 403)
    assert.equal((JSON.parse(text) as { id: number }).id, 7)
    const found = extractWWWAuthenticateParams(response)
    assert.equal(found.error, 'insufficient_scope')
    assert.equal(found.scope, 'files:read files:write files:delete')
    assert.equal(
      String(found.resourceMetadataUrl),
      'https://tools.example/.well-known/oauth-protected-resource/mcp',
    )
    assert.equal(server.seen.length, count)
    const [record] = gateway.decisions()
    assert.deepEqual(record?.rule?.scopes, ['files:write', 'files:delete'])
    // The same session continues with a token that has more scopes.
    const large = await token('files:read files:write')
    const { text: done } = await ask(large, 'tools/call', { name: 'delete' }, session)
    assert.match(done, /files\/delete/)
  })

  it('does not mention scopes to clients that other rules deny', async () => {
    for (const [sub, name] of [
      ['eve', 'delete'],
      ['ann', 'nothing'],
      ['ann', 'add'],
    ] as const) {
      const small = await token('files:read', sub)
      const session = await begin(small)
      const { response, text } = await ask(small, 'tools/call', { name }, session)
      assert.equal(response.status, 200, `${sub} ${name}`)
      assert.equal(response.headers.get('www-authenticate'), null)
      assert.match(text, new RegExp(`Unknown tool: ${name}`))
    }
  })

  it('accepts scopes only for Require rules', () => {
    for (const rules of [
      [{ allow: 'true', scopes: ['a'] }],
      [{ require: 'true', scopes: ['a b'] }],
      [{ require: 'true', scopes: [] }],
    ]) {
      const text = JSON.stringify({
        gateways: { default: { port: 80 } },
        mcp: {
          targets: [{ name: 'a', mcp: { host: 'a:80' } }],
          policies: { mcpAuthorization: { rules } },
        },
      })
      const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
      assert.ok(
        diagnostics.some(({ severity }) => severity === 'error'),
        JSON.stringify(rules),
      )
    }
  })
})
