import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { isForeignResult } from '../../src/protocols/mcp/foreign-response.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* Servers that return the result of one request in the response to another. */

const SECRET = '{"tools":[{"name":"secret","inputSchema":{"type":"object"}}]}'
const LIST = `{"jsonrpc":"2.0","id":1,"result":${SECRET}}`

let http: Server
let gateway: Deciding
let port = 0
/** What the server sends before the response, or instead of it. */
let sent: readonly string[] = [LIST]
let isStream = true

async function startServer(): Promise<void> {
  http = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const events = (all: readonly string[]) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(all.map((one) => `event: message\ndata: ${one}\n\n`).join(''))
    }
    if (request.method === 'GET') {
      events([LIST, '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'])
      return
    }
    const { id, method } = JSON.parse(Buffer.concat(pieces).toString())
    if (id === undefined) response.writeHead(202).end()
    else if (method === 'initialize') {
      const serverInfo = { name: 's', version: '1' }
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    } else if (isStream) events([...sent, `{"jsonrpc":"2.0","id":${id},"result":{"own":1}}`])
    else {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(sent[0])
    }
  })
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
}

function configOf(servers: readonly string[], policies: object): string {
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  const targets = servers.map((name) => ({ name, mcp: { host } }))
  return JSON.stringify({ gateways: { default: { port } }, mcp: { targets, policies } })
}

const RULES = { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'secret'" }] } }

async function call(method: string, body: object | undefined, headers: object) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: {
      'content-type': 'application/json',
      accept: `${body === undefined ? '' : 'application/json, '}text/event-stream`,
      ...headers,
    },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function begin(): Promise<object> {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  }
  const { headers } = await call(
    'POST',
    { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    {},
  )
  return { 'mcp-session-id': headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-06-18' }
}

describe('a result for another request', () => {
  before(async () => {
    await startServer()
    port = await freePort()
    gateway = await startDeciding(configOf(['a'], RULES), 'json')
  })

  after(async () => {
    await gateway.stop()
    http.closeAllConnections()
    http.close()
  })

  for (const [what, servers, policies, name] of [
    ['rules', ['a'], RULES, 'echo'],
    ['several servers', ['a', 'b'], {}, 'a_echo'],
  ] as const) {
    it(`does not reach clients with ${what}`, async () => {
      await gateway.apply(configOf(servers, policies))
      const session = await begin()
      isStream = true
      sent = [
        LIST,
        `[${LIST}]`,
        LIST.replace('"id":1', '"id":2,"id":1'),
        LIST.replace('"id"', '"i\\u0064"'),
      ]
      const tool = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: {} } }
      const { text } = await call('POST', tool, session)
      assert.match(text, /"own"/)
      assert.doesNotMatch(text, /secret/)
      const listened = await call('GET', undefined, session)
      assert.match(listened.text, /list_changed/)
      assert.doesNotMatch(listened.text, /secret/)
      isStream = false
      for (const one of sent) {
        sent = [one]
        const alone = await call('POST', tool, session)
        assert.equal(alone.status, 502)
        assert.doesNotMatch(alone.text, /secret/)
      }
    })
  }

  it('passes with a single server and no rules', async () => {
    await gateway.apply(configOf(['a'], {}))
    isStream = true
    sent = [LIST]
    const { text } = await call('POST', { jsonrpc: '2.0', id: 2, method: 'ping' }, await begin())
    assert.match(text, /secret/)
  })

  it('is identified by its ID, in any spelling', () => {
    const result = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{}}`
    for (const [id, own] of [
      ['1', '1'],
      ['"1"', '1'],
      ['1', '"1"'],
      ['"a\\/b"', '"a/b"'],
    ] as const) {
      assert.equal(isForeignResult(result(id), own), false, `${id} ${own}`)
    }
    for (const [id, own] of [
      ['2', '1'],
      ['null', 'null'],
      ['{}', '1'],
      ['"a"', '"b"'],
    ] as const) {
      assert.equal(isForeignResult(result(id), own), true, `${id} ${own}`)
    }
    assert.equal(isForeignResult('{"jsonrpc":"2.0","result":{}}', '1'), true)
    assert.equal(isForeignResult('{"jsonrpc":"2.0","id":null,"error":{}}', '1'), false)
    assert.equal(isForeignResult('{"jsonrpc":"2.0","id":5,"method":"ping"}', '1'), false)
  })
})
