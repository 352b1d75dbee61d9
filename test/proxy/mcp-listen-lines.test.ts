import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* Servers whose response to `subscriptions/listen` has one message per line. */

const VERSION = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

const ACKNOWLEDGED = {
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications: { toolsListChanged: true } },
}
const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: {} }
const RESULT = { jsonrpc: '2.0', id: 7, result: { resultType: 'complete' } }

async function startServer() {
  let respond = (_: ServerResponse): void => {}
  const http = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      respond(response)
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    port: (http.address() as AddressInfo).port,
    respond: (how: typeof respond) => {
      respond = how
    },
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  }
}

let servers: readonly Awaited<ReturnType<typeof startServer>>[] = []
let port = 0
let running: Deciding | undefined

before(async () => {
  servers = [await startServer(), await startServer()]
  port = await freePort()
})
afterEach(async () => {
  await running?.stop()
  running = undefined
})
after(() => {
  for (const server of servers) server.close()
})

async function listen(count: number): Promise<{ response: Response; read(): Promise<string> }> {
  const targets = servers
    .slice(0, count)
    .map((own, at) => ({ name: `s${at}`, mcp: { host: `127.0.0.1:${own.port}` } }))
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets } }],
    routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
  })
  running = await startDeciding(text, 'json')
  const params = { notifications: { toolsListChanged: true }, _meta: META }
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'subscriptions/listen',
    },
    signal: AbortSignal.timeout(10_000),
  })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  const read = async () => decoder.decode((await reader?.read())?.value)
  return { response, read }
}

const dataOf = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''))

describe('a subscription whose server sends lines', () => {
  for (const count of [1, 2]) {
    it(`is a stream for the client of ${count}, message by message`, async () => {
      const open: ServerResponse[] = []
      for (const server of servers) {
        server.respond((response) => {
          open.push(response)
          response.write(`${JSON.stringify(ACKNOWLEDGED)}\n`)
        })
      }
      const { response, read } = await listen(count)
      assert.equal(response.headers.get('content-type'), 'text/event-stream')
      assert.deepEqual(dataOf(await read()), [ACKNOWLEDGED])
      // In two pieces.
      const [first] = open
      const line = `${JSON.stringify(CHANGED)}\n`
      first?.write(line.slice(0, 20))
      setTimeout(() => first?.write(line.slice(20)), 20)
      assert.deepEqual(dataOf(await read()), [CHANGED])
      for (const own of open) own.end(JSON.stringify(RESULT))
      assert.deepEqual(dataOf(await read()), [RESULT])
    })
  }

  it('is an ordinary response if its only message has several lines', async () => {
    servers[0]?.respond((response) => response.end(JSON.stringify(RESULT, undefined, 2)))
    const { response, read } = await listen(1)
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.deepEqual(JSON.parse(await read()), RESULT)
  })
})
