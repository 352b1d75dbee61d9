import assert from 'node:assert/strict'
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/*
 * Arguments that a tool wants repeated in headers (`x-mcp-header`): rules evaluate the argument, so
 * a server that relies on the header must never get another value.
 */

const VERSION = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    note: { type: 'string' },
    at: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
  },
}

/** A server that trusts the headers. */
function credulous(called: IncomingHttpHeaders[]): Server {
  return createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { id, method } = JSON.parse(Buffer.concat(pieces).toString()) as {
      readonly id: unknown
      readonly method: string
    }
    if (method === 'tools/call') called.push(request.headers)
    const tools = ['query', 'plain'].map((name) => ({
      name,
      inputSchema: name === 'query' ? SCHEMA : { type: 'object' },
    }))
    const result =
      method === 'tools/list'
        ? { tools, ttlMs: 0, cacheScope: 'public', resultType: 'complete' }
        : { content: [], resultType: 'complete' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

/** The official server, which checks the headers itself. */
function official(): Server {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'sdk', version: '1' })
    const region = z.string().meta({ 'x-mcp-header': 'Region' })
    server.registerTool('query', { inputSchema: z.object({ region }) }, (given) => ({
      content: [{ type: 'text', text: `in ${given.region}` }],
    }))
    return server
  })
  return createServer(toNodeHandler(handler) as RequestListener)
}

describe('headers that repeat arguments', () => {
  const called: IncomingHttpHeaders[] = []
  const servers = [credulous(called), official()]
  const gateways: Deciding[] = []
  let ports: readonly number[] = []

  before(async () => {
    for (const http of servers) await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
    ports = await Promise.all(servers.map(() => freePort()))
    for (const [index, http] of servers.entries()) {
      const { port } = http.address() as AddressInfo
      const mcp = {
        targets: [{ name: 'db', mcp: { host: `127.0.0.1:${port}` } }],
        policies: {
          mcpAuthorization: { rules: [{ deny: "mcp.tool.arguments.region == 'us'" }] },
        },
      }
      const text = JSON.stringify({ gateways: { default: { port: ports[index] } }, mcp })
      gateways.push(await startDeciding(text))
    }
  })
  after(async () => {
    for (const gateway of gateways) await gateway.stop()
    for (const http of servers) {
      http.closeAllConnections()
      http.close()
    }
  })

  async function post(method: string, params: object, headers: Record<string, string>) {
    const { name } = params as { name?: string }
    const response = await fetch(`http://127.0.0.1:${ports[0]}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
        ...headers,
      },
    })
    const { error } = (await response.json()) as { readonly error?: { readonly code: number } }
    return [response.status, error?.code]
  }

  const given = { region: 'eu', note: 'us', at: { count: 3 } }
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

  for (const headers of [
    { 'Mcp-Param-Region': 'us' },
    { 'mcp-param-region': base64('us') },
    { 'mcp-param-region': '=?base64?!!?=' },
    { 'mcp-param-region': 'eu', 'mcp-param-count': '4' },
    { 'mcp-param-count': 'three' },
    { 'mcp-param-note': 'us' },
    { 'mcp-param-region': 'eu, us' },
  ] as const) {
    it(`${JSON.stringify(headers)} is rejected, and the server is not called`, async () => {
      const before = called.length
      const own = { ...headers } as Record<string, string>
      assert.deepEqual(
        await post('tools/call', { name: 'query', arguments: given }, own),
        [400, -32020],
      )
      assert.equal(called.length, before)
    })
  }

  it('of a tool that declares none, of a missing argument and of another method are rejected, too', async () => {
    const before = called.length
    const region = { 'mcp-param-region': 'us' }
    const of = (name: string, own: object) => post('tools/call', { name, arguments: own }, region)
    assert.deepEqual(await of('plain', { region: 'eu' }), [400, -32020])
    assert.deepEqual(await of('query', {}), [400, -32020])
    assert.deepEqual(await post('tools/list', {}, region), [400, -32020])
    assert.equal(called.length, before)
  })

  it('reach the server if they match the arguments', async () => {
    const headers = { 'mcp-param-region': base64('eu'), 'mcp-param-count': '3' }
    const params = { name: 'query', arguments: given }
    assert.deepEqual(await post('tools/call', params, headers), [200, undefined])
    assert.equal(called.at(-1)?.['mcp-param-count'], '3')
    assert.equal(called.at(-1)?.['mcp-param-region'], base64('eu'))
  })

  it('work between the client and the server of the SDK', async () => {
    const versionNegotiation = { mode: { pin: VERSION } }
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation })
    const url = new URL(`http://127.0.0.1:${ports[1]}/mcp`)
    await client.connect(new StreamableHTTPClientTransport(url))
    await client.listTools()
    const result = await client.callTool({ name: 'query', arguments: { region: 'Zürich' } })
    assert.match(JSON.stringify(result), /in Zürich/)
    await client.close()
  })
})
