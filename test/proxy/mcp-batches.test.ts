import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { until } from './whole-gateway.ts'

let json: TestMcpServer
let streaming: TestMcpServer
let port = 0
let running: Deciding

const TYPES = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...TYPES, ...headers },
  })
  const { status } = response
  return { status, headers: response.headers, text: await response.text() }
}

const call = (id: unknown, name: string) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name, arguments: { text: `said ${id}` } },
})
const NOTE = { jsonrpc: '2.0', method: 'notifications/initialized' }
const initialize = (protocolVersion: string) => ({
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

/** Starts a session and returns its headers. */
async function begin(path: string, version = '2025-03-26'): Promise<Record<string, string>> {
  const { status, headers } = await post(path, initialize(version))
  assert.equal(status, 200)
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  assert.equal((await post(path, NOTE, session)).status, 202)
  return session
}

describe('MCP batches', () => {
  before(async () => {
    json = await startMcpServer({ name: 'json', tools: ['echo', 'find'], isJson: true })
    streaming = await startMcpServer({ name: 'streaming', tools: ['echo', 'find'] })
    port = await freePort()
    const backend = (name: string, own: TestMcpServer) => ({
      name,
      mcp: { targets: [{ name, mcp: { host: `127.0.0.1:${own.port}`, path: '/mcp' } }] },
      policies: { mcpAuthorization: { rules: [{ deny: "mcp.tool.name == 'find'" }] } },
    })
    const route = (name: string) => ({
      name,
      matches: [{ path: { pathPrefix: `/${name}` } }],
      backends: [{ backend: name }],
    })
    running = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [backend('json', json), backend('streaming', streaming)],
        routes: [route('json'), route('streaming')],
      }),
      'json',
    )
  })

  after(async () => {
    await running?.stop()
    await json.close()
    await streaming.close()
  })

  it('get one list as the response, and each message is decided separately', async () => {
    const session = await begin('/json')
    const batch = [call(1, 'echo'), NOTE, call('two', 'find'), call(3, 'unknown')]
    const { status, headers, text } = await post('/json', batch, session)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json')
    const [first, second, third, ...more] = JSON.parse(text)
    assert.deepEqual(more, [])
    assert.equal(first.id, 1)
    assert.match(JSON.stringify(first.result), /said 1/)
    // A denied tool differs from an unknown one only by its name.
    assert.deepEqual([second.id, third.id], ['two', 3])
    assert.deepEqual(
      JSON.stringify(second).replace('"two"', '3').replace('find', 'unknown'),
      JSON.stringify(third),
    )
    const counted = (outcome: string) =>
      running.metric(
        `portcullis_mcp_calls_total{route="json",target="json",tool="echo",method="tools/call",outcome="${outcome}"}`,
      )
    await until('the count', () => counted('success') === 1)
  })

  it('get one stream as the response if a server starts one', async () => {
    const session = await begin('/streaming')
    const batch = [call(1, 'find'), call(2, 'echo'), call(3, 'echo')]
    const { status, headers, text } = await post('/streaming', batch, session)
    assert.equal(status, 200)
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
    const data = text.split('\n').filter((line) => line.startsWith('data: {'))
    const ids = data.map((line) => JSON.parse(line.slice(6)).id)
    assert.deepEqual(ids, [1, 2, 3])
    assert.match(text, /said 2/)
    assert.match(text, /said 3/)
    assert.doesNotMatch(text, /said 1/)
  })

  it('get 202 if no message in them expects a response', async () => {
    const session = await begin('/json')
    const { status, text } = await post('/json', [NOTE, NOTE], session)
    assert.deepEqual([status, text], [202, ''])
  })

  for (const [what, batch] of [
    ['nothing', []],
    ['too many messages', Array.from({ length: 101 }, (_, id) => call(id, 'echo'))],
    ['a handshake', [initialize('2025-03-26')]],
    ['the same id twice', [call(1, 'echo'), call(1, 'echo')]],
    ['something else', [call(1, 'echo'), 'hello']],
    ['another batch', [[call(1, 'echo')]]],
  ] as const) {
    it(`are rejected with ${what} in them`, async () => {
      const session = await begin('/json')
      const { status, text } = await post('/json', batch, session)
      assert.equal(status, 400)
      assert.equal(JSON.parse(text).error.code, -32600)
    })
  }

  describe('over the stream of 2024-11-05', () => {
    /** The address for messages, and the events of the stream. */
    async function listen(path: string) {
      const stop = new AbortController()
      const { body } = await fetch(`http://127.0.0.1:${port}${path}/sse`, {
        headers: { accept: 'text/event-stream' },
        signal: stop.signal,
      })
      let text = ''
      const read = async () => {
        for await (const bytes of body ?? []) text += Buffer.from(bytes).toString()
      }
      read().catch(() => {})
      const address = () => /data: (\/\S+sessionId=\S+)/.exec(text)?.[1] ?? ''
      await until('the address', () => address() !== '')
      const messages = () =>
        [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, one = '']) => JSON.parse(one))
      return { address: address(), messages, text: () => text, stop: () => stop.abort() }
    }

    const session = async (path: string) => {
      const stream = await listen(path)
      assert.equal((await post(stream.address, initialize('2024-11-05'))).status, 202)
      await until('the handshake', () => stream.messages().length === 1)
      assert.equal((await post(stream.address, NOTE)).status, 202)
      return stream
    }

    for (const path of ['/json', '/streaming']) {
      it(`get responses one by one: ${path}`, async () => {
        const stream = await session(path)
        const batch = [call(1, 'echo'), NOTE, call('two', 'find'), call(3, 'echo')]
        assert.equal((await post(stream.address, batch)).status, 202)
        await until('the responses', () => stream.messages().length >= 4)
        const [, first, second, third, ...more] = stream.messages()
        assert.deepEqual(more, [])
        assert.deepEqual([first.id, second.id, third.id], [1, 'two', 3])
        assert.match(JSON.stringify(first.result), /said 1/)
        assert.doesNotMatch(JSON.stringify(second), /said/)
        assert.match(JSON.stringify(third.result), /said 3/)
        assert.equal((await post(stream.address, [NOTE])).status, 202)
        stream.stop()
      })
    }

    it('are rejected if they are malformed, in later revisions, and on streams of other callers', async () => {
      const stream = await session('/json')
      for (const batch of [[], [call(1, 'echo'), 'hello'], [initialize('2024-11-05')]]) {
        assert.equal((await post(stream.address, batch)).status, 400)
      }
      const forged = stream.address.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
      assert.equal((await post(forged, [call(1, 'echo')])).status, 404)
      const later = { 'mcp-protocol-version': '2025-06-18' }
      assert.equal((await post(stream.address, [call(1, 'echo')], later)).status, 400)
      stream.stop()
    })
  })

  it('are rejected in later revisions', async () => {
    const session = await begin('/json', '2025-06-18')
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      const headers = { ...session, 'mcp-protocol-version': version }
      assert.equal((await post('/json', [call(1, 'echo')], headers)).status, 400)
    }
  })

  it('are rejected in sessions of other callers', async () => {
    const session = { 'mcp-session-id': 'made-up' }
    assert.equal((await post('/json', [call(1, 'echo')], session)).status, 404)
  })
})
