import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'
import { type SseMcpServer, startSseMcpServer } from './sse-mcp-server.ts'

/* Clients of the revision without sessions, at servers that have sessions. */

const VERSION = '2026-07-28'
const PROGRAM = join(import.meta.dirname, 'mcp-sdk-program.ts')
const PIDS = join(import.meta.dirname, 'mcp-stdio-program.ts')
const INPUT = { elicitation: { form: {} }, sampling: {}, roots: {} }

let old: SseMcpServer
let current: TestMcpServer
let port = 0
let running: Deciding | undefined
const open: Client[] = []

before(async () => {
  old = await startSseMcpServer('old')
  current = await startMcpServer({ name: 'current' })
  port = await freePort()
})
after(async () => {
  await running?.stop()
  old.close()
  await current.close()
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

const program = (name: string, ...args: readonly string[]) => ({
  name,
  stdio: { cmd: process.execPath, args },
})
const targets = {
  stdio: () => program('old', PROGRAM, 'old'),
  sse: () => ({ name: 'old', sse: { host: `127.0.0.1:${old.port}` } }),
  other: () => program('other', PROGRAM, 'other'),
  pids: () => program('pids', PIDS),
}

async function serve(all: readonly object[], policies: object = {}, options: object = {}) {
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets: all, ...options }, policies }],
    routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function connect(capabilities: object = INPUT): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: VERSION } } },
  )
  if ('elicitation' in capabilities) {
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { colour: 'red' },
    }))
    client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }))
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///root' }] }))
  }
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url))
  open.push(client)
  return client
}

interface McpResponse {
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

async function post(method: string, params: object = {}, meta: object = {}) {
  const { name, uri } = params as { name?: string; uri?: string }
  const named = name ?? uri
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': VERSION,
          'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': INPUT,
          ...meta,
        },
      },
    }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
    },
  })
  const text = await response.text()
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '{}']) => data)
  const messages = (text.startsWith('{') ? [text] : events).map(
    (own) => JSON.parse(own) as McpResponse & { method?: string; params?: object },
  )
  return { status: response.status, messages, body: messages.at(-1) ?? {} }
}

const said = (result: unknown) =>
  (result as { content: readonly { text?: string }[] }).content.map(({ text }) => text).join()
const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort()

for (const kind of ['stdio', 'sse'] as const) {
  describe(`a client of 2026-07-28 at a server over ${kind}`, () => {
    before(() => serve([targets[kind]()]))

    it('discovers the server, lists what it offers and uses it', async () => {
      const client = await connect()
      assert.deepEqual(client.getServerVersion()?.name, 'old')
      const { tools } = await client.listTools()
      assert.ok(names(tools).includes('echo'))
      const result = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
      assert.equal(said(result), 'old/echo: hi')
      const prompt = await client.getPrompt({ name: 'greet', arguments: { who: 'me' } })
      assert.match(JSON.stringify(prompt.messages), /old greets me/)
      const read = await client.readResource({ uri: 'note://one' })
      assert.match(JSON.stringify(read.contents), /old note/)
      assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
      const ref = { type: 'ref/resource' as const, uri: 'page://{id}' }
      const completed = await client.complete({ ref, argument: { name: 'id', value: '' } })
      assert.deepEqual(completed.completion.values, ['a', 'b'])
    })

    it('receives results in the form of its revision', async () => {
      const { body } = await post('server/discover')
      const { supportedVersions, resultType, _meta: meta } = body.result ?? {}
      assert.deepEqual((supportedVersions as string[])[0], VERSION)
      assert.equal(resultType, 'complete')
      assert.ok('io.modelcontextprotocol/serverInfo' in (meta as object))
      const list = (await post('tools/list')).body.result ?? {}
      assert.equal(list['resultType'], 'complete')
      assert.equal(list['ttlMs'], 0)
      assert.equal(list['cacheScope'], 'private')
      const call = await post('tools/call', { name: 'echo', arguments: { text: 'x' } })
      assert.equal(call.status, 200)
      assert.equal(call.body.id, 7)
      assert.equal(call.body.result?.['resultType'], 'complete')
    })

    it('receives errors with the codes and the status of its revision', async () => {
      const resource = await post('resources/read', { uri: 'note://none' })
      assert.equal(resource.body.error?.code, -32602)
      const unknown = await post('tasks/list')
      assert.equal(unknown.status, 404)
      assert.equal(unknown.body.error?.code, -32601)
      const meta = { 'io.modelcontextprotocol/clientCapabilities': undefined }
      const bare = await post('tools/list', {}, meta)
      assert.equal(bare.status, 400)
      assert.equal(bare.body.error?.code, -32602)
    })

    it('serves what the server requests during a call', async () => {
      const client = await connect()
      assert.match(said(await client.callTool({ name: 'elicit' })), /old: accept .*red/)
      assert.match(said(await client.callTool({ name: 'sample' })), /old sampled .*sampled/)
      assert.match(said(await client.callTool({ name: 'roots' })), /file:\/\/\/root/)
    })

    it('may respond in parallel calls, each of which gets its own input', async () => {
      const client = await connect()
      const calls = Array.from({ length: 4 }, () => client.callTool({ name: 'elicit' }))
      for (const result of await Promise.all(calls)) assert.match(said(result), /old: accept/)
    })

    it('is told that it must repeat a call whose input comes too late', async () => {
      const first = await post('tools/call', { name: 'elicit' })
      assert.equal(first.body.result?.['resultType'], 'input_required')
      const { requestState, inputRequests } = first.body.result ?? {}
      const [name = ''] = Object.keys(inputRequests as object)
      const inputResponses = { [name]: { action: 'decline' } }
      const retry = { name: 'elicit', requestState, inputResponses }
      assert.match(said((await post('tools/call', retry)).body.result), /old: decline/)
      const late = await post('tools/call', retry)
      assert.equal(late.body.error?.code, -32602)
      const foreign = await post('tools/call', { ...retry, requestState: 'x' })
      assert.equal(foreign.body.error?.code, -32602)
    })

    it('is asked again for input that it did not send', async () => {
      const first = await post('tools/call', { name: 'elicit' })
      const { requestState } = first.body.result ?? {}
      const again = await post('tools/call', { name: 'elicit', requestState, inputResponses: {} })
      assert.equal(again.body.result?.['resultType'], 'input_required')
      assert.deepEqual(again.body.result?.['inputRequests'], first.body.result?.['inputRequests'])
    })

    it('gets an error if the server requires a capability that it lacks', async () => {
      const meta = { 'io.modelcontextprotocol/clientCapabilities': {} }
      const { status, body } = await post('tools/call', { name: 'elicit' }, meta)
      assert.deepEqual([status, body.error?.code], [400, -32021])
      assert.deepEqual(body.error?.data, { requiredCapabilities: { elicitation: {} } })
    })

    it('receives progress under its own token, and logs only if it requests them', async () => {
      const progress: number[] = []
      const client = await connect()
      const onprogress = (own: { readonly progress: number }) => progress.push(own.progress)
      await client.callTool({ name: 'progress' }, { onprogress })
      assert.deepEqual(progress, [1, 2])
      const quiet = await post('tools/call', { name: 'log' })
      assert.equal(quiet.messages.length, 1)
      const level = { 'io.modelcontextprotocol/logLevel': 'info' }
      const loud = await post('tools/call', { name: 'log' }, level)
      assert.deepEqual(
        loud.messages.map(({ method }) => method),
        ['notifications/message', undefined],
      )
    })

    it('keeps requests with the same ID apart', async () => {
      const texts = ['a', 'b', 'c', 'd', 'e']
      const calls = texts.map((text) => post('tools/call', { name: 'echo', arguments: { text } }))
      const results = (await Promise.all(calls)).map(({ body }) => said(body.result))
      assert.deepEqual(
        results,
        texts.map((text) => `old/echo: ${text}`),
      )
    })
  })
}

describe('clients of 2026-07-28 and programs', () => {
  const pid = async (meta: object = {}) =>
    said((await post('tools/call', { name: 'calls' }, meta)).body.result).split(' ')[0] ?? ''

  it('share a process with earlier requests of the same caller', async () => {
    await serve([targets.pids()])
    const first = await pid()
    assert.equal(await pid(), first)
    const none = { 'io.modelcontextprotocol/clientCapabilities': {} }
    const other = await pid(none)
    assert.notEqual(other, first)
    const parallel = await Promise.all([pid(none), pid(none), pid(none)])
    assert.deepEqual(parallel, [other, other, other])
  })

  it('continue with a new process after one has crashed', async () => {
    await serve([targets.pids()])
    const first = await pid()
    const crashed = await post('tools/call', { name: 'crash' })
    assert.notEqual(crashed.status, 200)
    assert.notEqual(await pid(), first)
  })
})

describe('clients of 2026-07-28 and several servers with sessions', () => {
  for (const mode of ['Conditional', 'Never']) {
    it(`use all of them with the prefix mode ${mode}`, async () => {
      await serve(
        [targets.stdio(), targets.sse(), targets.other()].map(renamed),
        {},
        {
          prefixMode: mode,
        },
      )
      const client = await connect()
      const { tools } = await client.listTools()
      const prefix = mode === 'Never' ? '' : 's2_'
      assert.ok(names(tools).includes(`${prefix}elicit`))
      const name = `${prefix}elicit`
      assert.match(said(await client.callTool({ name })), /accept .*red/)
    })
  }

  const renamed = <T extends object>(target: T, at: number) => ({ ...target, name: `s${at}` })

  it('obey rules, on lists and on calls', async () => {
    await serve([targets.stdio()], {
      mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'echo'" }] },
    })
    const client = await connect()
    assert.deepEqual(names((await client.listTools()).tools), ['echo'])
    const denied = await post('tools/call', { name: 'delete' })
    assert.equal(denied.body.error?.code, -32602)
  })
})
