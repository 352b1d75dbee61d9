import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Session } from 'node:inspector/promises'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { freePort } from '../free-port.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

/*
 * Calls and sessions leave nothing on the heap, whether they end normally or either side aborts
 * them: after a garbage collection the heap is back to its previous size. A leak grows in every
 * round, and code that V8 compiles adds to only some rounds, so the round with the smallest growth
 * counts. The clients and servers of this test run in the same process: they are part of the heap,
 * and leave nothing either. AI_LEAKS=2000 runs the long form.
 */

const COUNT = Number(process.env['AI_LEAKS'] ?? 60)
const ROUNDS = 6
const AT_ONCE = 20
/**
 * Bytes that one call may leave, based on measurements without a leak; a leaked stream or session
 * takes thousands.
 */
const ALLOWED = 150

const inspector = new Session()
inspector.connect()

/** Collects garbage through the inspector, because tests run without `--expose-gc`. */
const collect = () => inspector.post('HeapProfiler.collectGarbage')

/** Excludes the spaces that hold compiled code. */
const SPACES: ReadonlySet<string> = new Set(['old_space', 'new_space', 'large_object_space'])

function usedByData(): number {
  const own = getHeapSpaceStatistics().filter(({ space_name: name }) => SPACES.has(name))
  return own.reduce((sum, { space_used_size: used }) => sum + used, 0)
}

async function heap(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 3; turn++) {
    await wait(20)
    await collect()
    least = Math.min(least, usedByData())
  }
  return least
}

/** Returns the bytes that each call leaves behind. */
async function leftBy(work: () => Promise<void>, isIdle: () => boolean): Promise<number> {
  const left: number[] = []
  let before = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < ROUNDS; turn++) {
    for (let done = 0; done < COUNT; done += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    }
    await until('all to be over', isIdle)
    const now = await heap()
    left.push((now - before) / COUNT)
    before = now
  }
  if (process.env['AI_LEAKS'] !== undefined) console.log(left.map(Math.round).join(' '))
  return Math.min(...left.slice(2))
}

const chunk = (content: string) => {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices })}\n\n`
}
const event = (type: string, rest: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] }
const FIRST = {
  openAI: chunk('first '),
  anthropic:
    event('message_start', { message: { ...MESSAGE, usage: { input_tokens: 3 } } }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'first ' } }),
} as const
type Kind = keyof typeof FIRST

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** A provider whose streams start, and then stall or break off, as the prompt says. */
function providerOf(kind: Kind): Server {
  return createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (body.includes('silent')) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(FIRST[kind])
    if (body.includes('die')) setTimeout(() => response.destroy(), 5)
  })
}

const TOOLS = ['echo', 'hang'].map((name) => ({ name, inputSchema: { type: 'object' } }))

/** An MCP server that tracks its open sessions. */
class SessionServer {
  readonly open = new Set<string>()
  streams = 0
  readonly http = createServer((request, response) => void this.#serve(request, response))

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const id = String(request.headers['mcp-session-id'] ?? '')
    if (request.method === 'GET') {
      this.streams++
      response.on('close', () => this.streams--)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': here\n\n')
      return
    }
    if (request.method === 'DELETE') {
      this.open.delete(id)
      response.writeHead(200).end()
      return
    }
    const asked = JSON.parse(body) as { id?: unknown; method: string; params?: { name?: string } }
    if (asked.id === undefined) {
      response.writeHead(202).end()
      return
    }
    if (asked.params?.name === 'hang') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const params = { level: 'info', data: 'begun' }
      response.write(
        `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n\n`,
      )
      return
    }
    const isHandshake = asked.method === 'initialize'
    const own = isHandshake ? randomUUID() : id
    if (isHandshake) this.open.add(own)
    const result = isHandshake
      ? {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        }
      : { content: [{ type: 'text', text: 'done' }], tools: TOOLS }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': own })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result }))
  }
}

describe('finished traffic to models and tools', () => {
  const providers = { openAI: providerOf('openAI'), anthropic: providerOf('anthropic') }
  const servers = [new SessionServer(), new SessionServer()]
  let gateway: WholeGateway
  let port = 0

  before(async () => {
    port = await freePort()
    for (const http of [...Object.values(providers), ...servers.map((own) => own.http)]) {
      await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
    }
    const at = (http: Server) => `127.0.0.1:${(http.address() as AddressInfo).port}`
    const models = (['openAI', 'anthropic'] as const).map((kind) => ({
      ...{ name: kind, provider: kind },
      params: { apiKey: 'x', hostOverride: at(providers[kind]) },
    }))
    const budgets = [{ tokens: 1_000_000_000, per: 'Day' }]
    const targets = servers.map(({ http }, index) => ({
      name: `s${index}`,
      mcp: { host: at(http) },
    }))
    gateway = await startWhole(
      JSON.stringify({
        frontendPolicies: { accessLog: { filter: 'false' } },
        gateways: { default: { port } },
        llm: { models, policies: { budgets } },
        mcp: { targets, policies: { mcpAuthorization: { rules: [{ allow: 'true' }] } } },
      }),
    )
  })

  after(async () => {
    inspector.disconnect()
    await gateway?.stop()
    for (const http of [...Object.values(providers), ...servers.map((own) => own.http)]) {
      http.close()
      http.closeAllConnections()
    }
  })

  const isIdle = () => gateway.connections() === 0 && servers.every(({ streams }) => streams === 0)

  /** Opens a new connection; resolves once the response contains `awaited` or ends. */
  const send = (method: string, path: string, body: string, headers: string, awaited: string) =>
    new Promise<{ socket: Socket; text: string }>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' })
      let text = ''
      const done = () => resolve({ socket, text })
      socket.setEncoding('latin1').on('data', (piece) => {
        text += String(piece)
        if (awaited !== '' && text.includes(awaited)) done()
      })
      socket.on('error', () => socket.destroy())
      socket.on('close', done)
      const head = `${method} ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`
      socket.write(`${head}content-length: ${body.length}\r\n${headers}\r\n${body}`)
      if (awaited === '') socket.once('connect', () => setTimeout(done, 30))
    })

  const prompt = (model: string, content: string) =>
    JSON.stringify({
      ...{ model, stream: true, max_tokens: 9, messages: [{ role: 'user', content }] },
    })

  for (const kind of ['openAI', 'anthropic'] as const) {
    const call = (content: string, awaited: string) =>
      send('POST', '/v1/chat/completions', prompt(kind, content), '', awaited)
    const cases = {
      'a stream that its client breaks off': () => call('hi', 'first '),
      'a stream that its provider breaks off': () => call('die', 'never'),
      'a call that its client gives up before anything came': () => call('silent', ''),
    }
    for (const [what, make] of Object.entries(cases)) {
      it(`${kind}: ${what} leaves nothing`, { timeout: 300_000 }, async () => {
        const left = await leftBy(async () => void (await make()).socket.destroy(), isIdle)
        assert.ok(left < ALLOWED, `${left.toFixed(0)} bytes each`)
      })
    }
  }

  const rpc = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message })
  const ACCEPT = 'accept: application/json, text/event-stream\r\n'
  const begin = async () => {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    }
    const asked = rpc({ id: 1, method: 'initialize', params })
    const { socket, text } = await send('POST', '/mcp', asked, ACCEPT, '"serverInfo"')
    socket.destroy()
    const [, id] = /\r\nmcp-session-id: (\S+)/i.exec(text) ?? assert.fail(text)
    return `${ACCEPT}mcp-session-id: ${id}\r\n`
  }
  const end = async (session: string) => {
    const { socket, text } = await send('DELETE', '/mcp', '', session, '\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 200/)
    socket.destroy()
  }
  const call = (session: string, name: string, awaited: string) =>
    send('POST', '/mcp', rpc({ id: 2, method: 'tools/call', params: { name } }), session, awaited)

  it('a closed MCP session leaves nothing in the gateway or at its servers', async () => {
    const left = await leftBy(async () => {
      const session = await begin()
      const stream = await send('GET', '/mcp', '', session, ': here')
      const called = await call(session, 's0_echo', 'done')
      for (const { socket } of [stream, called]) socket.destroy()
      await end(session)
    }, isIdle)
    assert.ok(left < ALLOWED, `${left.toFixed(0)} bytes each`)
    for (const { open } of servers) await until('sessions to end', () => open.size === 0)
  })

  it('a tool call that its client aborts leaves nothing', async () => {
    const session = await begin()
    const left = await leftBy(async () => {
      const { socket } = await call(session, 's1_hang', 'begun')
      socket.destroy()
    }, isIdle)
    assert.ok(left < ALLOWED, `${left.toFixed(0)} bytes each`)
    await end(session)
  })
})
