import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* Servers that send arbitrary data, and clients that look for a bypass. */

const TOOLS = [{ name: 'echo' }, { name: 'secret' }]
const result = { tools: TOOLS }
const response = { jsonrpc: '2.0', id: 1, result }

describe('MCP servers that misbehave', () => {
  let port = 0
  let server: Server
  let gateway: Deciding
  let say: (response: ServerResponse, method: string) => void = () => {}
  let asked: string[] = []

  before(async () => {
    server = createServer((request, out) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        asked.push(Buffer.concat(pieces).toString())
        say(out, request.method ?? '')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = await freePort()
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const rules = [{ deny: "mcp.tool.name == 'secret'" }]
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        mcp: {
          targets: [{ name: 'one', mcp: { host } }],
          policies: { mcpAuthorization: { rules } },
        },
      }),
    )
  })
  after(async () => {
    await gateway.stop()
    server.closeAllConnections()
    server.close()
  })

  const json = (body: string) => (out: ServerResponse) => {
    out.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const stream = (body: string) => (out: ServerResponse) => {
    out.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const byte of Buffer.from(body)) out.write(Buffer.from([byte]))
    out.end()
  }

  async function ask(method: string, message?: object, headers = {}) {
    const body = message === undefined ? null : JSON.stringify({ jsonrpc: '2.0', ...message })
    const said = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method,
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    return { status: said.status, text: await said.text().catch(() => 'cut') }
  }
  const list = () => ask('POST', { id: 1, method: 'tools/list' })

  for (const [name, reply] of [
    ['JSON', json(JSON.stringify(response))],
    ['a stream, byte by byte', stream(`data: ${JSON.stringify(response)}\r\n\r\n`)],
    [
      'data in several lines',
      stream(`data: ${JSON.stringify(response, null, 1).replaceAll('\n', '\ndata: ')}\n\n`),
    ],
    ['a batch', json(JSON.stringify([response]))],
    ['a batch in a stream', stream(`data: ${JSON.stringify([response])}\n\n`)],
    [
      'a list that is named twice',
      json(`{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":${JSON.stringify(TOOLS)}}}`),
    ],
    [
      'a name that is said twice',
      json('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"secret","name":"echo"}]}}'),
    ],
    [
      'names with escapes',
      json('{"jsonrpc":"2.0","id":1,"result":{"t\\u006fols":[{"name":"s\\u0065cret"}]}}'),
    ],
    ['broken JSON', json(JSON.stringify(response).slice(0, -3))],
    ['a text', json('secret')],
  ] as const) {
    it(`never show what is hidden: ${name}`, async () => {
      say = reply
      const { text } = await list()
      assert.doesNotMatch(text, /secret|s\\u0065cret/)
    })
  }

  it('keep the spelling of everything that the gateway need not change', async () => {
    const item = '{ "name": "echo", "x": 1.0, "y": 12345678901234567890, "z": "\\u00e9" }'
    say = json(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${item}],"other":1.50}}`)
    const { text } = await list()
    assert.ok(text.includes(item) && text.includes('"other":1.50'), text)
  })

  it('do not show more in a resumed stream', async () => {
    say = (out, method) => {
      if (method === 'GET') stream(`id: 7\ndata: ${JSON.stringify(response)}\n\n`)(out)
    }
    const { status, text } = await ask('GET', undefined, { 'last-event-id': '6' })
    assert.equal(status, 200)
    assert.match(text, /^id: 7$/m)
    assert.match(text, /echo/)
    assert.doesNotMatch(text, /secret/)
  })

  it('fail only one request', async () => {
    for (const broken of [
      (out: ServerResponse) => void out.destroy(),
      (out: ServerResponse) =>
        void out.writeHead(200, { 'content-type': 'application/json' }).end(),
      (out: ServerResponse) => void out.writeHead(500).end('no'),
      (out: ServerResponse) => {
        out.writeHead(200, { 'content-type': 'text/event-stream' })
        out.write('data: {"jsonrpc"')
        setTimeout(() => out.destroy(), 20)
      },
    ]) {
      say = broken
      await list().catch(() => {})
      say = json(JSON.stringify(response))
      assert.equal((await list()).status, 200)
    }
  })

  it('do not receive unreadable requests', async () => {
    say = json(JSON.stringify(response))
    asked = []
    for (const body of [
      '[[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}}]]',
      '[{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"secret"}}]',
      '[{"jsonrpc":"2.0","method":"notifications/initialized"},{"id":1,"method":"tools/call"}]',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"secret"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["secret"]}',
      '{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"secret"}}',
      '{"id":1,"method":"tools/call","params":{"name":"secret"}}',
    ]) {
      const said = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      })
      assert.equal(said.status, 400, body)
    }
    assert.deepEqual(asked, [])
  })
})
