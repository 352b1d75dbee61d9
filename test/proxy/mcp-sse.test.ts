import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { MessageStreams, type StreamMessage } from '../../src/exchange/message-streams.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { type SseMcpServer, startSseMcpServer } from './sse-mcp-server.ts'
import { until } from './whole-gateway.ts'

describe('the transport of 2024-11-05', () => {
  let current: TestMcpServer
  let old: SseMcpServer
  let port = 0
  let gateway: Deciding | undefined
  const open: Client[] = []

  before(async () => {
    current = await startMcpServer({ name: 'current' })
    old = await startSseMcpServer('old')
    port = await freePort()
  })
  after(async () => {
    old?.close()
    await current?.close()
  })
  beforeEach(() => {
    old.endpoint = undefined
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await client.close()
    await gateway?.stop()
    gateway = undefined
  })

  const targetsOf = () => ({
    current: { name: 'current', mcp: { host: `127.0.0.1:${current.port}` } },
    old: { name: 'old', sse: { host: `127.0.0.1:${old.port}` } },
  })

  async function serve(
    names: readonly ('current' | 'old')[],
    policies: object = {},
    route: object = {},
  ): Promise<Deciding> {
    const targets = names.map((name) => targetsOf()[name])
    const text = JSON.stringify({
      config: { session: { key: 'ab'.repeat(32) } },
      gateways: { default: { port } },
      backends: [{ name: 'tools', mcp: { targets }, policies }],
      routes: [{ name: 'tools', policies: route, backends: [{ backend: 'tools' }] }],
    })
    gateway = await startDeciding(text)
    return gateway
  }

  async function connect(isOld: boolean, headers: Record<string, string> = {}): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } })
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }))
    const base = `http://127.0.0.1:${port}`
    const options = { requestInit: { headers } }
    const transport = isOld
      ? new SSEClientTransport(new URL(`${base}/mcp/sse`), options)
      : new StreamableHTTPClientTransport(new URL(`${base}/mcp`), options)
    await client.connect(transport as never)
    open.push(client)
    return client
  }

  const said = (result: unknown) =>
    (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()

  for (const [isOld, names] of [
    [true, ['current']],
    [false, ['old']],
    [true, ['old']],
    [true, ['current', 'old']],
    [false, ['current', 'old']],
  ] as const) {
    it(`serves ${isOld ? 'an old' : 'a current'} client of ${names.join(' and ')}`, async () => {
      await serve(names)
      const client = await connect(isOld)
      const prefix = (name: string) => (names.length > 1 ? `${name}_` : '')
      const { tools } = await client.listTools()
      for (const name of names) {
        const tool = (own: string) => `${prefix(name)}${own}`
        assert.ok(tools.some((one) => one.name === tool('echo')))
        const echoed = await client.callTool({ name: tool('echo'), arguments: { text: 'a\nb' } })
        assert.equal(said(echoed), `${name}/echo: a\nb`)
        const progress: number[] = []
        await client.callTool({ name: tool('progress') }, undefined, {
          onprogress: (one) => progress.push(one.progress),
        })
        assert.deepEqual(progress, [1, 2])
        assert.match(said(await client.callTool({ name: tool('sample') })), /sampled/)
      }
      const unknown = await client.callTool({ name: `${prefix(names[0])}none` })
      assert.equal(unknown.isError, true)
      await client.ping()
    })
  }

  it('delivers server notifications to an old client', async () => {
    await serve(['current'])
    const client = await connect(true)
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes++
    })
    await until('a change is announced', () => {
      current.announce()
      return changes > 0
    })
  })

  it('ends the sessions of servers with the stream', async () => {
    await serve(['current', 'old'])
    const [before, held] = [current.sessions.size, old.sessions.size]
    const client = await connect(true)
    assert.deepEqual([current.sessions.size, old.sessions.size], [before + 1, held + 1])
    await client.close()
    await until('they end', () => current.sessions.size === before && old.sessions.size === held)
  })

  it('is subject to the same rules', async () => {
    const rules = [{ allow: "mcp.tool.name == 'echo'" }]
    await serve(['current'], { mcpAuthorization: { rules } })
    const client = await connect(true)
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['echo'],
    )
    const count = current.seen.length
    await assert.rejects(client.callTool({ name: 'delete' }), /Unknown tool: delete/)
    assert.equal(current.seen.length, count)
  })

  it('has streams of one caller, whose address no other caller can use', async () => {
    const basic = (user: string) => ({
      authorization: `Basic ${Buffer.from(`${user}:${user}`).toString('base64')}`,
    })
    const { hash } = await import('bcryptjs')
    const users = await Promise.all(
      ['ann', 'bob'].map(async (user) => `${user}:${await hash(user, 4)}`),
    )
    await serve(['current'], {}, { basicAuth: { htpasswd: users.join('\n'), realm: 'r' } })
    const abort = new AbortController()
    const stream = await fetch(`http://127.0.0.1:${port}/mcp/sse`, {
      headers: { accept: 'text/event-stream', ...basic('ann') },
      signal: abort.signal,
    })
    const reader = stream.body?.getReader() ?? assert.fail()
    const first = new TextDecoder().decode((await reader.read()).value)
    const [, path = ''] = /^event: endpoint\ndata: (\S+)\n\n$/.exec(first) ?? []
    assert.match(path, /^\/mcp\/sse\?sessionId=/)
    const post = async (at: string, user: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${at}`, {
        method: 'POST',
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2024-11-05',
            capabilities: {},
            clientInfo: { name: 't', version: '1' },
          },
        }),
        headers: { 'content-type': 'application/json', ...basic(user) },
      })
      await response.text()
      return response.status
    }
    assert.equal(await post(path, 'bob'), 404)
    assert.equal(await post(`${path.slice(0, -2)}${path.endsWith('AA') ? 'BB' : 'AA'}`, 'ann'), 404)
    assert.equal(await post(path, 'ann'), 202)
    const second = new TextDecoder().decode((await reader.read()).value)
    assert.match(second, /event: message\n(?:id: .*\n)?data: \{.*"protocolVersion":"2024-11-05"/)
    abort.abort()
  })

  it('never sends messages to an address on another host', async () => {
    for (const endpoint of ['http://evil.example/messages', '//evil.example/messages']) {
      old.endpoint = endpoint
      await serve(['old'])
      const count = old.headers.length
      await assert.rejects(connect(false))
      assert.deepEqual(
        old.headers.slice(count).map((headers) => headers['content-type']),
        [undefined],
      )
      await gateway?.stop()
      gateway = undefined
    }
  })

  it('does not forward the credentials of clients to old servers', async () => {
    await serve(['old'])
    await connect(false, { authorization: 'Bearer secret', cookie: 'a=b' })
    assert.ok(!JSON.stringify(old.headers).includes('secret'))
  })

  it('restarts sessions of old servers in another process', async () => {
    await serve(['old'])
    const client = await connect(false)
    assert.equal(said(await client.callTool({ name: 'echo' })), 'old/echo: ')
    await gateway?.stop()
    await serve(['old'])
    assert.equal(said(await client.callTool({ name: 'echo' })), 'old/echo: ')
  })
})

describe('streams whose requests reach other workers', () => {
  it('get their own messages', async () => {
    const all: MessageStreams[] = []
    const tell = (from: number) => (message: StreamMessage) => {
      for (const [index, own] of all.entries()) {
        if (index !== from) setImmediate(() => own.receive(message))
      }
    }
    for (const index of [0, 1, 2]) all.push(new MessageStreams(tell(index)))
    const [first, second, third] = all as [MessageStreams, MessageStreams, MessageStreams]
    const got: string[] = []
    const close = first.open('k', {
      write: (text) => void got.push(text),
      began: (session) => void got.push(`session ${session}`),
    })
    const waited = third.sessionOf('k')
    second.begin('k', 's1')
    second.deliver('k', 'one')
    assert.equal(await waited, 's1')
    assert.equal(third.sessionOf('k'), 's1')
    third.deliver('k', 'two')
    third.deliver('other', 'three')
    await until('all came', () => got.length === 3)
    assert.deepEqual(got, ['session s1', 'one', 'two'])
    close()
    await until('it is forgotten', () => third.sessionOf('k') instanceof Promise)
    assert.equal(first.size, 0)
  })
})
