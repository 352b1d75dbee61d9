import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { until } from './whole-gateway.ts'

let files: TestMcpServer
let search: TestMcpServer
let port = 0
let running: Deciding | undefined
const open: Client[] = []

before(async () => {
  files = await startMcpServer({ name: 'files' })
  search = await startMcpServer({ name: 'search', tools: ['echo', 'find'], isJson: true })
  port = await freePort()
})
after(async () => {
  await running?.stop()
  await files.close()
  await search.close()
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

interface Written {
  readonly targets?: readonly object[]
  readonly options?: object
  readonly policies?: object
  readonly route?: object
  readonly config?: object
}

const at = (name: string, { port: own }: { port: number }) => ({
  name,
  mcp: { host: `127.0.0.1:${own}`, path: '/mcp' },
})

async function serve(written: Written = {}): Promise<Deciding> {
  const { targets = [at('files', files)], options = {}, policies = {}, route = {} } = written
  const text = JSON.stringify({
    ...(written.config === undefined ? {} : { config: written.config }),
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets, ...options }, policies }],
    routes: [{ name: 'tools', policies: route, backends: [{ backend: 'tools' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  return running
}

/** Stops the gateway, so that the next test starts a new one. */
async function restart(): Promise<void> {
  await running?.stop()
  running = undefined
}

const both = () => [at('files', files), at('search', search)]

async function connect(headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
  )
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
  await client.connect(transport as never)
  open.push(client)
  return client
}

async function post(message: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    body: typeof message === 'string' ? message : JSON.stringify(message),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort()
const said = (result: unknown) =>
  (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()

const OF_ALL = ['elicit', 'link', 'log', 'progress', 'roots', 'sample']

describe('one MCP server behind the gateway', () => {
  it('looks the same to a client', async () => {
    await serve()
    const client = await connect()
    assert.deepEqual(client.getServerVersion(), { name: 'files', version: '1.0.0' })
    const { tools } = await client.listTools()
    assert.deepEqual(names(tools), ['add', 'delete', 'echo', ...OF_ALL].sort())
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
    assert.equal(said(result), 'files/echo: hi')
    const { contents } = await client.readResource({ uri: 'note://one' })
    assert.deepEqual(contents, [{ uri: 'note://one', text: 'files note' }])
    const prompt = await client.getPrompt({ name: 'greet', arguments: { who: 'you' } })
    assert.deepEqual(prompt.messages[0]?.content, { type: 'text', text: 'files greets you' })
  })

  it('sends progress, logs and changes, and requests to the client', async () => {
    await serve()
    const client = await connect()
    const logged: unknown[] = []
    let changes = 0
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      logged.push(params.data)
    })
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes++
    })
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }))
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: 'accept',
      content: { colour: 'red' },
    }))
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r' }] }))
    const progress: number[] = []
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: (own) => progress.push(own.progress),
    })
    assert.deepEqual(progress, [1, 2])
    assert.match(said(await client.callTool({ name: 'sample' })), /files sampled .*sampled/)
    assert.equal(said(await client.callTool({ name: 'roots' })), 'files: file:///r')
    assert.match(said(await client.callTool({ name: 'elicit' })), /accept {"colour":"red"}/)
    await client.callTool({ name: 'log' })
    assert.deepEqual(logged, ['log of files'])
    await until('a change is announced', () => {
      files.announce()
      return changes > 0
    })
  })

  it('ends its session with that of the client', async () => {
    await serve()
    const client = await connect()
    const before = files.sessions.size
    await (client.transport as StreamableHTTPClientTransport).terminateSession()
    assert.equal(files.sessions.size, before - 1)
  })

  it('never gets the credentials of a client', async () => {
    await serve()
    await connect({ authorization: 'Bearer secret', cookie: 'a=b', 'x-tenant': 't1' })
    const { headers } = files.seen.at(-1) ?? assert.fail()
    assert.deepEqual(
      [headers.authorization, headers.cookie, headers['x-tenant']],
      [undefined, undefined, 't1'],
    )
  })
})

describe('several MCP servers behind one endpoint', () => {
  it('appear as one server, with prefixed names', async () => {
    await serve({ targets: both() })
    const client = await connect()
    assert.equal(client.getServerVersion()?.name, 'portcullis')
    assert.match(client.getInstructions() ?? '', /of files[\s\S]*of search/)
    const { tools } = await client.listTools()
    const wanted = [
      ...['add', 'delete', 'echo', ...OF_ALL].map((name) => `files_${name}`),
      ...['echo', 'find', ...OF_ALL].map((name) => `search_${name}`),
    ]
    assert.deepEqual(names(tools), wanted.sort())
    for (const name of ['files', 'search']) {
      const result = await client.callTool({ name: `${name}_echo`, arguments: { text: 'x' } })
      assert.equal(said(result), `${name}/echo: x`)
      const { contents } = await client.readResource({ uri: `${name}+note://one` })
      assert.deepEqual(contents, [{ uri: `${name}+note://one`, text: `${name} note` }])
      const { messages } = await client.getPrompt({
        name: `${name}_greet`,
        arguments: { who: 'you' },
      })
      assert.deepEqual(messages[0]?.content, { type: 'text', text: `${name} greets you` })
    }
    const { resourceTemplates } = await client.listResourceTemplates()
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ['files+page://{id}', 'search+page://{id}'],
    )
    const completed = await client.complete({
      ref: { type: 'ref/resource', uri: 'search+page://{id}' },
      argument: { name: 'id', value: '' },
    })
    assert.deepEqual(completed.completion.values, ['a', 'b'])
    await client.ping()
    await client.setLoggingLevel('info')
  })

  it('reject a revision that none of them agreed to, as a single server does', async () => {
    await serve({ targets: both() })
    const client = await connect()
    const session = (client.transport as { sessionId?: string } | undefined)?.sessionId ?? ''
    const list = { jsonrpc: '2.0', id: 3, method: 'tools/list' }
    for (const [version, status] of [
      ['1999-01-01', 400],
      ['other', 400],
      ['2025-06-18', 200],
      ['2025-11-25', 200],
    ] as const) {
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': version }
      const response = await post(list, headers)
      assert.equal(response.status, status, `${version}: ${response.text}`)
    }
  })

  it('link to resources by names that lead back to them', async () => {
    await serve({ targets: both() })
    const client = await connect()
    const { content } = await client.callTool({ name: 'files_link' })
    assert.deepEqual(content, [
      { type: 'resource_link', uri: 'files+note://one', name: 'one' },
      { type: 'resource', resource: { uri: 'files+note://two', text: 'two' } },
    ])
  })

  it('send concurrent requests to the client, and each gets its own response', async () => {
    await serve({ targets: [at('files', files), at('more', files)] })
    const client = await connect()
    client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { role: 'assistant', model: 'm', content: params.messages[0]?.content as never }
    })
    const results = await Promise.all(
      ['files_sample', 'more_sample', 'files_sample'].map((name) => client.callTool({ name })),
    )
    for (const result of results) assert.match(said(result), /files sampled/)
  })

  it('that are down fail the others only if configured to', async () => {
    const dead = { name: 'dead', mcp: { host: `127.0.0.1:${await freePort()}` } }
    await serve({ targets: [at('files', files), dead], options: { failureMode: 'FailOpen' } })
    const client = await connect()
    const { tools } = await client.listTools()
    assert.ok(names(tools).includes('files_echo'))
    await assert.rejects(client.callTool({ name: 'dead_echo' }))
    await serve({ targets: [at('files', files), dead] })
    await assert.rejects(connect())
  })
})

describe('rules about MCP', () => {
  const rules = (...list: readonly object[]) => ({ mcpAuthorization: { rules: list } })

  it('hide what they deny, and call no server for it', async () => {
    const gateway = await serve({
      policies: rules({ allow: "mcp.tool.name == 'echo'" }, { allow: 'has(mcp.prompt)' }),
    })
    const client = await connect()
    assert.deepEqual(names((await client.listTools()).tools), ['echo'])
    assert.deepEqual(names((await client.listPrompts()).prompts), ['greet'])
    assert.deepEqual((await client.listResources()).resources, [])
    assert.equal(said(await client.callTool({ name: 'echo' })), 'files/echo: ')
    const count = files.seen.length
    await assert.rejects(client.callTool({ name: 'delete' }), /-32602.*Unknown tool: delete/)
    assert.equal(files.seen.length, count)
    const [record] = gateway.decisions()
    assert.equal(record?.stage, 'mcp')
  })

  it('respond to a denied tool as to one that does not exist', async () => {
    await serve({ policies: rules({ deny: "mcp.tool.name == 'delete'" }) })
    const client = await connect()
    const session = (client.transport as StreamableHTTPClientTransport).sessionId ?? ''
    const call = async (name: string) => {
      const params = { name, arguments: {} }
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const { status, headers, text } = await post(message, { 'mcp-session-id': session })
      const own = [...headers].filter(([key]) => key !== 'x-request-id' && key !== 'date')
      return [status, own, text.replaceAll(name, 'NAME')]
    }
    assert.deepEqual(await call('delete'), await call('denied'))
  })

  it('read arguments at the call, and keep a tool in lists if some call may use it', async () => {
    await serve({
      policies: rules({ allow: "mcp.tool.name == 'echo' && mcp.tool.arguments.text == 'ok'" }),
    })
    const client = await connect()
    assert.deepEqual(names((await client.listTools()).tools), ['echo'])
    const good = await client.callTool({ name: 'echo', arguments: { text: 'ok' } })
    assert.equal(said(good), 'files/echo: ok')
    await assert.rejects(client.callTool({ name: 'echo', arguments: { text: 'no' } }), /Unknown/)
    await assert.rejects(client.callTool({ name: 'add', arguments: { text: 'ok' } }), /Unknown/)
  })

  it('evaluate the body, regardless of the headers', async () => {
    await serve({ policies: rules({ deny: "mcp.tool.name == 'delete'" }) })
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete' } }
    for (const headers of [{ 'mcp-name': 'echo' }, { 'mcp-method': 'tools/list' }]) {
      const { status, text } = await post(message, headers)
      assert.equal(status, 400)
      assert.equal((JSON.parse(text) as { error: { code: number } }).error.code, -32020)
    }
    const twice =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"delete"}}'
    assert.equal((await post(twice)).status, 400)
  })

  it('see servers by name, through all prefixes', async () => {
    await serve({
      targets: both(),
      policies: rules({ allow: "mcp.tool.target == 'search' && mcp.tool.name == 'find'" }),
    })
    const client = await connect()
    assert.deepEqual(names((await client.listTools()).tools), ['search_find'])
    assert.equal(said(await client.callTool({ name: 'search_find' })), 'search/find: ')
    await assert.rejects(client.callTool({ name: 'files_echo' }), /Unknown tool: files_echo/)
  })
})

describe('IDs of MCP sessions', () => {
  const config = { session: { key: 'ab'.repeat(32) } }
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    },
  }
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

  it('belong to one caller, and are a 404 for any other', async () => {
    const basic = (user: string) => ({
      authorization: `Basic ${Buffer.from(`${user}:${user}`).toString('base64')}`,
    })
    const { hash } = await import('bcryptjs')
    const users = await Promise.all(
      ['ann', 'bob'].map(async (user) => `${user}:${await hash(user, 4)}`),
    )
    await serve({ route: { basicAuth: { htpasswd: users.join('\n'), realm: 'r' } } })
    const { headers } = await post(initialize, basic('ann'))
    const id = headers.get('mcp-session-id') ?? assert.fail()
    assert.equal((await post(list, { ...basic('ann'), 'mcp-session-id': id })).status, 200)
    assert.equal((await post(list, { ...basic('bob'), 'mcp-session-id': id })).status, 404)
    const last = id.at(-1) === 'A' ? 'B' : 'A'
    const changed = `${id.slice(0, -1)}${last}`
    assert.equal((await post(list, { ...basic('ann'), 'mcp-session-id': changed })).status, 404)
  })

  it('are valid in another process with the same key', async () => {
    await restart()
    await serve({ targets: both(), config })
    const { headers } = await post(initialize)
    const id = headers.get('mcp-session-id') ?? assert.fail()
    await restart()
    await serve({ targets: both(), config })
    const { status, text } = await post(list, { 'mcp-session-id': id })
    assert.equal(status, 200)
    assert.match(text, /files_echo/)
  })
})
