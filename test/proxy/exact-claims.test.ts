import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { serveModel } from '../soak/model-and-tools.ts'
import { listen } from './harness.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

/* Integers in tokens that a double cannot hold, such as identifiers that count milliseconds. */

const SIGNER = signerOf('ES256')
const CLAIMS = [
  '"sub":"a","id":9007199254740993',
  '"sub":9007199254740993',
  '"sub":18446744073709551615',
  '"sub":123456789012345678901234567890',
  '"id":[{"n":-9007199254740993}]',
]
const initialize = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}
const MESSAGES = [{ role: 'user', content: 'hello' }]
const REQUESTS: readonly (readonly [string, object])[] = [
  ['/plain', {}],
  ['/v1/chat/completions', { model: 'm', messages: MESSAGES }],
  ['/v1/responses', { model: 'm', input: 'hello' }],
  ['/v1/messages', { model: 'm', max_tokens: 9, messages: MESSAGES }],
  ['/mcp', initialize],
  ['/agent', { jsonrpc: '2.0', id: 1, method: 'message/send', params: {} }],
]

describe('a token with integers beyond 2^53', () => {
  let backend: Server
  let tools: TestMcpServer
  let running: Deciding
  let port = 0

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url?.startsWith('/v1/')) serveModel(request, response)
      else request.resume().on('end', () => response.end('{"jsonrpc":"2.0","id":1,"result":{}}'))
    })
    const host = `127.0.0.1:${await listen(backend)}`
    tools = await startMcpServer({ name: 'tools' })
    port = await freePort()
    const authentication = {
      issuer: 'https://issuer.example',
      jwks: { inline: keySetText(SIGNER) },
    }
    running = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        frontendPolicies: {},
        backends: [
          { name: 'models', ai: { name: 'm', hostOverride: host, provider: { openAI: {} } } },
          {
            name: 'tools',
            mcp: { targets: [{ name: 't', mcp: { host: `127.0.0.1:${tools.port}` } }] },
          },
        ],
        routes: [
          ['/v1', [{ backend: 'models' }], {}],
          ['/mcp', [{ backend: 'tools' }], {}],
          ['/agent', [{ host }], { a2a: {} }],
          ['/plain', [{ host }], {}],
        ].map(([pathPrefix, backends, policies], index) => ({
          name: `r${index}`,
          matches: [{ path: { pathPrefix } }],
          policies: { jwtAuthentication: { providers: [authentication] }, ...(policies as object) },
          backends,
        })),
      }),
    )
  })

  after(async () => {
    await running?.stop()
    await tools.close()
    backend.closeAllConnections()
    backend.close()
  })

  for (const [path, body] of REQUESTS) {
    it(`is accepted at ${path}`, async () => {
      for (const claims of CLAIMS) {
        const token = tokenOf(SIGNER, `{"iss":"https://issuer.example","exp":4102444800,${claims}}`)
        const response = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${token}`,
          },
        })
        const text = await response.text()
        assert.equal(response.status, 200, `${claims}: ${text}`)
      }
    })
  }
})
