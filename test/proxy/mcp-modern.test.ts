import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* The revision without sessions, with the SDK that supports it. */

interface ModernServer {
  readonly port: number
  readonly states: unknown[]
  readonly http: Server
}

async function startServer(name: string): Promise<ModernServer> {
  const states: unknown[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name, version: '1' }, { capabilities: { tools: {} } })
    for (const tool of ['echo', 'delete']) {
      server.registerTool(
        tool,
        { description: tool, inputSchema: z.object({ text: z.string().optional() }) },
        ({ text }) => ({ content: [{ type: 'text', text: `${name}/${tool}: ${text ?? ''}` }] }),
      )
    }
    server.registerTool('ask', { description: 'asks' }, (context) => {
      const state = context.mcpReq.requestState()
      states.push(state)
      if (state === undefined) {
        return inputRequired({
          requestState: 'state of the server',
          inputRequests: {
            colour: inputRequired.elicit({
              message: 'Which?',
              requestedSchema: z.object({ colour: z.string() }),
            }),
          },
        })
      }
      return { content: [{ type: 'text', text: `${name} knows ${String(state)}` }] }
    })
    return server
  })
  const http = createServer(toNodeHandler(handler) as RequestListener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return { port: (http.address() as AddressInfo).port, states, http }
}

let files: ModernServer
let search: ModernServer
let port = 0
let running: Deciding | undefined
const open: Client[] = []

before(async () => {
  files = await startServer('files')
  search = await startServer('search')
  port = await freePort()
})
after(async () => {
  await running?.stop()
  for (const { http } of [files, search]) {
    http.closeAllConnections()
    http.close()
  }
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

async function serve(servers: Readonly<Record<string, ModernServer>>, policies = {}) {
  const targets = Object.entries(servers).map(([name, { port: own }]) => ({
    name,
    mcp: { host: `http://127.0.0.1:${own}/mcp` },
  }))
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets }, policies }],
    routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function connect(mode: 'auto' | 'legacy' | { pin: string } = { pin: '2026-07-28' }) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  )
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { colour: 'red' },
  }))
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url))
  open.push(client)
  return client
}

const VERSION = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

async function post(method: string, params: object, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...headers,
    },
  })
  const text = await response.text()
  const data = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
  return { status: response.status, body: JSON.parse(data) as McpResponse }
}

interface McpResponse {
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

const said = (result: unknown) =>
  (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()
const names = ({ tools }: { tools: readonly { readonly name: string }[] }) =>
  tools.map(({ name }) => name).sort()

describe('MCP without sessions', () => {
  it('works with one server', async () => {
    await serve({ files })
    const client = await connect()
    assert.deepEqual(names(await client.listTools()), ['ask', 'delete', 'echo'])
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
    assert.equal(said(result), 'files/echo: hi')
  })

  it('works with several, which the client sees as one', async () => {
    await serve({ files, search })
    const client = await connect('auto')
    const own = ['ask', 'delete', 'echo']
    assert.deepEqual(names(await client.listTools()), [
      ...own.map((name) => `files_${name}`),
      ...own.map((name) => `search_${name}`),
    ])
    assert.equal(said(await client.callTool({ name: 'search_echo' })), 'search/echo: ')
  })

  it('serves clients of earlier revisions on the same endpoint', async () => {
    await serve({ files })
    const client = await connect('legacy')
    assert.equal(said(await client.callTool({ name: 'echo' })), 'files/echo: ')
  })

  it('seals the state that a server wants back, and accepts it only for the same tool', async () => {
    await serve({ files, search })
    const client = await connect()
    const result = await client.callTool({ name: 'files_ask' })
    assert.equal(said(result), 'files knows state of the server')
    const name = { 'mcp-name': 'files_ask' }
    const { body } = await post('tools/call', { name: 'files_ask', arguments: {} }, name)
    const { requestState } = body.result ?? assert.fail()
    assert.ok(typeof requestState === 'string' && !requestState.includes('server'))
    const inputResponses = { colour: { action: 'accept', content: { colour: 'red' } } }
    for (const [tool, state, code] of [
      ['files_ask', requestState, undefined],
      ['files_ask', `${requestState.slice(0, -2)}AA`, -32602],
      ['files_ask', 'state of the server', -32602],
      ['search_ask', requestState, -32602],
    ] as const) {
      const params = { name: tool, arguments: {}, inputResponses, requestState: state }
      const { body: said } = await post('tools/call', params, { 'mcp-name': tool })
      assert.equal(said.error?.code, code, `${tool} ${state}`)
    }
  })

  it('hides what rules deny, and keeps such lists out of shared caches', async () => {
    await serve({ files }, { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'delete'" }] } })
    const client = await connect()
    assert.deepEqual(names(await client.listTools()), ['ask', 'echo'])
    await assert.rejects(client.callTool({ name: 'delete' }), /Unknown tool: delete/)
    assert.equal(said(await client.callTool({ name: 'echo' })), 'files/echo: ')
    const { body } = await post('tools/list', {})
    assert.equal(body.result?.cacheScope, 'private')
  })

  it('keeps resources that rules restrict out of shared caches', async () => {
    const text =
      '{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"public",' +
      '"contents":[{"uri":"note://one","text":"1","n":1.0,"cacheScope":"public"}]}}'
    const http = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const notes = { port: (http.address() as AddressInfo).port, states: [], http }
    const read = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 7, method: 'resources/read' },
          params: { uri: 'note://one', _meta: META },
        }),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': VERSION,
          'mcp-method': 'resources/read',
          'mcp-name': 'note://one',
        },
      })
      return response.text()
    }
    await serve({ notes })
    assert.equal(await read(), text)
    const rules = [{ allow: "mcp.resource.name == 'note://one'" }]
    await serve({ notes }, { mcpAuthorization: { rules } })
    assert.equal(await read(), text.replace('"public"', '"private"'))
    http.closeAllConnections()
    http.close()
  })

  it('rejects the methods that this revision removed', async () => {
    for (const servers of [{ files }, { files, search }]) {
      await serve(servers)
      for (const [method, params] of [
        ['initialize', { protocolVersion: VERSION, capabilities: {} }],
        ['ping', {}],
        ['logging/setLevel', { level: 'info' }],
        ['resources/subscribe', { uri: 'note://one' }],
        ['resources/unsubscribe', { uri: 'note://one' }],
        ['nothing/known', {}],
      ] as const) {
        const { status, body } = await post(method, params)
        assert.deepEqual([status, body.error?.code], [404, -32601], method)
      }
    }
  })

  it('lists the supported revisions for clients of another one', async () => {
    const key = 'io.modelcontextprotocol/protocolVersion'
    for (const servers of [{ files }, { files, search }]) {
      await serve(servers)
      for (const version of ['2027-01-01', 'other']) {
        for (const method of ['tools/list', 'server/discover']) {
          const body = {
            jsonrpc: '2.0',
            id: 7,
            method,
            params: { _meta: { ...META, [key]: version } },
          }
          const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
            method: 'POST',
            body: JSON.stringify(body),
            headers: {
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              'mcp-protocol-version': version,
              'mcp-method': method,
            },
          })
          const { id, error } = (await response.json()) as {
            readonly id: unknown
            readonly error?: { readonly code: number; readonly data?: { supported?: unknown } }
          }
          const got = [response.status, id, error?.code, error?.data?.supported]
          assert.deepEqual(got, [400, 7, -32022, [VERSION]], `${method} ${version}`)
        }
      }
    }
  })

  it('rejects headers that are missing or disagree with the body', async () => {
    await serve({ files })
    const params = { name: 'echo', arguments: {} }
    for (const headers of [
      { 'mcp-name': 'delete' },
      { 'mcp-name': '=?base64?!!?=' },
      { 'mcp-name': 'echo', 'mcp-method': 'tools/list' },
      { 'mcp-name': 'echo', 'mcp-protocol-version': '2025-06-18' },
      {},
    ]) {
      const { status, body } = await post('tools/call', params, headers)
      assert.deepEqual([status, body.error?.code], [400, -32020], JSON.stringify(headers))
    }
    const coded = { 'mcp-name': `=?base64?${Buffer.from('echo').toString('base64')}?=` }
    assert.equal((await post('tools/call', params, coded)).status, 200)
  })
})
