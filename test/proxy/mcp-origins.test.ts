import assert from 'node:assert/strict'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  },
})

let server: TestMcpServer
let gateway: Deciding
let port = 0

const route = (name: string, path: string, more: object = {}) => ({
  name,
  matches: [{ path: { pathPrefix: path } }],
  backends: [{ backend: 'tools' }],
  ...more,
})

before(async () => {
  server = await startMcpServer()
  port = await freePort()
  const targets = [{ name: 'files', mcp: { host: `127.0.0.1:${server.port}`, path: '/mcp' } }]
  const cors = { allowOrigins: ['https://app.example', 'https://*.apps.example'] }
  const csrf = { additionalOrigins: ['https://partner.example'] }
  gateway = await startDeciding(
    JSON.stringify({
      gateways: { default: { port } },
      backends: [
        { name: 'tools', mcp: { targets } },
        { name: 'local', mcp: { targets, dnsRebindingProtection: true } },
        { name: 'unchecked', mcp: { targets, dnsRebindingProtection: false } },
      ],
      routes: [
        route('plain', '/mcp'),
        route('cors', '/cors', { policies: { cors } }),
        route('csrf', '/csrf', { policies: { csrf } }),
        route('named', '/named', { hostnames: ['mcp.example', '*.tools.example'] }),
        route('local', '/local', { backends: [{ backend: 'local' }] }),
        route('unchecked', '/unchecked', { backends: [{ backend: 'unchecked' }] }),
      ],
    }),
    'json',
  )
})
after(async () => {
  await gateway.stop()
  await server.close()
})

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly to?: string
  readonly host?: string
  readonly origin?: string
}

/** Sends what a page could send, including a Host that fetch does not allow. */
async function send({ path = '/mcp', method = 'POST', to = '127.0.0.1', ...named }: Sent) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...named,
  }
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const sent = request({ host: to, port, path, method, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (piece: Buffer) => {
        text += piece.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(method === 'POST' ? INITIALIZE : undefined)
  })
}

describe('the Origin of requests to MCP servers', () => {
  for (const [path, origin, status] of [
    ['/mcp', undefined, 200],
    ['/mcp', 'http://evil.example', 403],
    ['/mcp', 'null', 403],
    ['/mcp', 'file://', 403],
    ['/mcp', 'http://localhost:3000', 403],
    ['/mcp', 'http://localhost', 403],
    ['/mcp', 'SAME', 200],
    ['/cors', 'https://app.example', 200],
    ['/cors', 'https://one.apps.example', 200],
    ['/cors', 'https://evil.example', 403],
    ['/csrf', 'https://partner.example', 200],
    ['/csrf', 'https://evil.example', 403],
    ['/unchecked', 'https://evil.example', 403],
    ['/local', 'http://localhost:3000', 200],
    ['/local', 'https://evil.example', 403],
  ] as const) {
    it(`${origin ?? 'absent'} at ${path}: ${status}`, async () => {
      const own = origin === 'SAME' ? `http://localhost:${port}` : origin
      const host = `localhost:${port}`
      const { status: got, text } = await send({
        path,
        host,
        ...(own === undefined ? {} : { origin: own }),
      })
      assert.equal(got, status, text)
    })
  }

  it('is checked for streams and the end of sessions, too', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status } = await send({ method, origin: 'http://evil.example' })
      assert.equal(status, 403, method)
    }
    const trusted = await send({ method: 'GET', path: '/csrf', origin: 'https://partner.example' })
    assert.notEqual(trusted.status, 403)
  })

  it('is a reason in the log, and nothing reaches the server', async () => {
    const before = server.seen.length
    const { text } = await send({ origin: 'http://evil.example' })
    assert.match(text, /Origin/)
    assert.equal(server.seen.length, before)
    const line = gateway.lines.findLast((own) => own.includes('"http.status":403')) ?? ''
    assert.match(line, /"reason":"csrf"/)
    assert.match(line, /Origin/)
  })
})

describe('the Host of requests from the same machine', () => {
  for (const [path, host, status] of [
    ['/mcp', 'localhost', 200],
    ['/mcp', 'app.localhost:4000', 200],
    ['/mcp', '127.0.0.1:4000', 200],
    ['/mcp', '[::1]:4000', 200],
    ['/mcp', '192.168.1.5:4000', 200],
    ['/mcp', 'gateway:4000', 200],
    ['/mcp', 'host.docker.internal:4000', 200],
    ['/mcp', 'gateway.test', 200],
    ['/mcp', 'evil.example', 403],
    ['/mcp', 'evil.example:4000', 403],
    ['/mcp', 'localhost.evil.example', 403],
    ['/mcp', '127.0.0.1.evil.example', 403],
    ['/mcp', 'mcp.example', 403],
    ['/named', 'mcp.example', 200],
    ['/named', 'a.tools.example', 200],
    ['/unchecked', 'evil.example', 200],
    ['/local', 'evil.example', 403],
    ['/local', 'gateway', 403],
  ] as const) {
    it(`${host} at ${path}: ${status}`, async () => {
      const { status: got, text } = await send({ path, host })
      assert.equal(got, status, text)
    })
  }

  it('protects from a page whose name resolves to this machine', async () => {
    const rebound = { host: `evil.example:${port}`, origin: `http://evil.example:${port}` }
    assert.equal((await send(rebound)).status, 403)
  })

  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address
  const skip = outside === undefined ? 'this machine has no other address' : false

  it('is not checked on other addresses', { skip }, async () => {
    const { status, text } = await send({ to: outside as string, host: 'mcp.example' })
    assert.equal(status, 200, text)
  })
})
