import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

/* IDs lead back to the server that issued them, however tools are named. */

const MODES = [
  ...(['Conditional', 'Always', 'Never'] as const).map((mode) => [mode, 1] as const),
  ...(['Conditional', 'Always', 'Never'] as const).map((mode) => [mode, 2] as const),
]

let port = 0
let running: Deciding | undefined

before(async () => {
  port = await freePort()
})
afterEach(async () => {
  await running?.stop()
  running = undefined
})

async function serve(prefixMode: string, ports: readonly number[]): Promise<void> {
  const targets = ports.map((own, at) => ({ name: `s${at}`, mcp: { host: `127.0.0.1:${own}` } }))
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'tools', mcp: { targets, prefixMode } }],
    routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
  })
  running = await startDeciding(text, 'json')
}

/** The client's name for a tool of a server. */
function named(mode: string, count: number, server: number, tool: string): string {
  return mode === 'Always' || (mode === 'Conditional' && count > 1) ? `s${server}_${tool}` : tool
}

describe('requests of servers to a client', () => {
  const servers: TestMcpServer[] = []
  before(async () => {
    for (const at of [0, 1]) {
      servers.push(await startMcpServer({ name: `s${at}`, tools: [], suffix: String(at) }))
    }
  })
  after(async () => {
    for (const server of servers) await server.close()
  })

  for (const [mode, count] of MODES) {
    it(`get their responses from ${count} with prefixMode: ${mode}`, {
      timeout: 20_000,
    }, async () => {
      await serve(
        mode,
        servers.slice(0, count).map((own) => own.port),
      )
      const client = new Client(
        { name: 'test', version: '1' },
        { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
      )
      client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return { role: 'assistant', model: 'm', content: params.messages[0]?.content as never }
      })
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
        action: 'accept',
        content: { asked: params.message },
      }))
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r' }] }))
      const url = new URL(`http://127.0.0.1:${port}/mcp`)
      await client.connect(new StreamableHTTPClientTransport(url) as never)
      const call = async (server: number, tool: string, options = {}) => {
        const name = named(mode, count, server, `${tool}${server}`)
        const { content } = await client.callTool({ name }, undefined, {
          timeout: 5_000,
          ...options,
        })
        return (content as readonly { text: string }[])[0]?.text ?? ''
      }
      // At once, and with the same IDs: the servers count their requests from 0.
      const all = servers.slice(0, count).map(async (_, server) => {
        assert.match(await call(server, 'sample'), new RegExp(`s${server} sampled .*"s${server}"`))
        assert.equal(await call(server, 'roots'), `s${server}: file:///r`)
        assert.match(await call(server, 'elicit'), new RegExp(`"asked":"s${server} asks"`))
        const progress: number[] = []
        const onprogress = (own: { progress: number }) => void progress.push(own.progress)
        await call(server, 'progress', { onprogress })
        assert.deepEqual(progress, [1, 2])
      })
      await Promise.all(all)
      await client.close()
    })
  }
})

/** A server whose only tool runs as a task, which needs input of the user. */
interface TaskServer {
  readonly port: number
  readonly received: Received[]
  close(): void
}

interface Received {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly taskId?: string; readonly name?: string }
  readonly result?: { readonly _meta?: object; readonly action?: string }
}

const TASK = 'io.modelcontextprotocol/related-task'

async function startTaskServer(name: string): Promise<TaskServer> {
  const received: Received[] = []
  const http: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const message = JSON.parse(Buffer.concat(pieces).toString()) as Received
    received.push(message)
    const { id, method = '', params = {} } = message
    if (id === undefined || method === '') return void response.writeHead(202).end()
    const { taskId } = params
    const status = taskId === 'task-1' ? 'working' : 'unknown task'
    const own = { taskId, status: `${name}: ${status}`, ttl: 60_000 }
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks: { list: {}, cancel: {} } },
        serverInfo: { name, version: '1' },
      },
      'tools/list': { tools: [{ name: `run-${name}`, inputSchema: { type: 'object' } }] },
      'tools/call': { task: { taskId: 'task-1', status: 'working', ttl: 60_000 } },
      'tasks/list': { tasks: [{ taskId: 'task-1', status: 'working', ttl: 60_000 }] },
      'tasks/get': own,
      'tasks/cancel': own,
      'tasks/result': { content: [], _meta: { [TASK]: { taskId } } },
    }
    const reply = { jsonrpc: '2.0', id, result: results[method] ?? {} }
    if (method !== 'tasks/result') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const asks = { _meta: { [TASK]: { taskId } }, message: name, requestedSchema: {} }
    const requests = [
      { id: 0, method: 'elicitation/create', params: asks },
      // About a task of the client, whose ID the client chose.
      { id: 1, method: 'tasks/get', params: { taskId: 'of the client' } },
    ]
    for (const one of [...requests, reply]) {
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...one })}\n\n`)
    }
    response.end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const close = () => {
    http.closeAllConnections()
    http.close()
  }
  return { port: (http.address() as AddressInfo).port, received, close }
}

describe('tasks', () => {
  const servers: TaskServer[] = []
  before(async () => {
    for (const name of ['s0', 's1']) servers.push(await startTaskServer(name))
  })
  after(() => {
    for (const server of servers) server.close()
  })

  async function post(message: object) {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
    })
    const text = await response.text()
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? '')
    const all = (events.length > 0 ? events : text === '' ? [] : [text]).map(
      (one) => JSON.parse(one) as { id: unknown; params: Params; result: Result },
    )
    return { all, last: all.at(-1)?.result }
  }

  interface Params {
    readonly _meta: Readonly<Record<string, { readonly taskId: string }>>
    readonly taskId: string
  }
  interface Result {
    readonly task: { readonly taskId: string }
    readonly tasks: readonly { readonly taskId: string }[]
    readonly taskId: string
    readonly status: string
    readonly _meta: Params['_meta']
  }

  for (const [mode, count] of MODES) {
    it(`of ${count} are found with prefixMode: ${mode}`, async () => {
      const own = servers.slice(0, count)
      await serve(
        mode,
        own.map(({ port: each }) => each),
      )
      const created = await Promise.all(
        own.map(async (_, server) => {
          const name = named(mode, count, server, `run-s${server}`)
          const params = { name, task: { ttl: 60_000 } }
          const { last } = await post({ id: 1, method: 'tools/call', params })
          return last?.task.taskId ?? ''
        }),
      )
      assert.equal(new Set(created).size, count, 'two tasks of different servers have one ID')
      const { last: listed } = await post({ id: 2, method: 'tasks/list' })
      assert.deepEqual(
        listed?.tasks.map(({ taskId }) => taskId),
        created,
      )
      for (const [server, taskId] of created.entries()) {
        for (const method of ['tasks/get', 'tasks/cancel']) {
          const { last } = await post({ id: 3, method, params: { taskId } })
          assert.deepEqual([last?.taskId, last?.status], [taskId, `s${server}: working`])
        }
        const { all, last } = await post({ id: 4, method: 'tasks/result', params: { taskId } })
        assert.equal(last?._meta[TASK]?.taskId, taskId)
        const [asked, about] = all
        assert.equal(asked?.params._meta[TASK]?.taskId, taskId)
        assert.equal(about?.params.taskId, 'of the client')
        const { received } = servers[server] ?? assert.fail()
        received.length = 0
        const _meta = { [TASK]: { taskId } }
        await post({ id: asked?.id, result: { action: 'decline', _meta } })
        const reply = { id: 0, jsonrpc: '2.0' }
        const related = { [TASK]: { taskId: 'task-1' } }
        assert.deepEqual(received, [{ ...reply, result: { action: 'decline', _meta: related } }])
      }
    })
  }
})
