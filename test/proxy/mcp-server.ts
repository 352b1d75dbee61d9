import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'

export interface SeenRequest {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestMcpServer {
  readonly port: number
  /** All received requests, in order. */
  readonly seen: SeenRequest[]
  /** Methods of the received messages. */
  methods(): readonly string[]
  /** Sends a notification to every open session. */
  announce(): void
  readonly sessions: Map<string, StreamableHTTPServerTransport>
  close(): Promise<void>
}

export interface ServerPlan {
  readonly name?: string
  readonly tools?: readonly string[]
  readonly isJson?: boolean
  /** Appended to the names of the tools that every server has. */
  readonly suffix?: string
}

/** Starts a server of the official SDK, with sessions. */
export async function startMcpServer(plan: ServerPlan = {}): Promise<TestMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const servers = new Map<string, McpServer>()
  const seen: SeenRequest[] = []
  const http = createServer((request, response) => {
    void serve(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces).toString()
    seen.push({ method: request.method ?? '', headers: request.headers, body })
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known !== undefined) {
      await known.handleRequest(request, response, body === '' ? undefined : JSON.parse(body))
      return
    }
    if (id !== undefined) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(
        '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}',
      )
      return
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: plan.isJson === true,
      onsessioninitialized: (own) => void sessions.set(own, transport),
      onsessionclosed: (own) => void sessions.delete(own),
    })
    const server = makeServer(plan)
    servers.set(String(servers.size), server)
    await server.connect(transport as never)
    await transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body))
  }
  const port = await listening(http)
  return {
    port,
    seen,
    methods: () =>
      seen.flatMap(({ body }) =>
        body === '' ? [] : [(JSON.parse(body) as { method: string }).method],
      ),
    announce: () => {
      for (const server of servers.values()) server.sendToolListChanged()
    },
    sessions,
    close: async () => {
      for (const transport of sessions.values()) await transport.close()
      http.closeAllConnections()
      http.close()
    },
  }
}

async function listening(http: Server): Promise<number> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return (http.address() as AddressInfo).port
}

export function makeServer({
  name = 'test',
  tools = ['echo', 'add', 'delete'],
  suffix = '',
}: ServerPlan): McpServer {
  const server = new McpServer(
    { name, version: '1.0.0' },
    { capabilities: { logging: {} }, instructions: `Instructions of ${name}.` },
  )
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: String(value) }] })
  for (const tool of tools) {
    server.registerTool(
      tool,
      { description: `The tool ${tool}`, inputSchema: { text: z.string().optional() } },
      ({ text: given }) => text(`${name}/${tool}: ${given ?? ''}`),
    )
  }
  server.registerTool(`link${suffix}`, { description: 'Links to a resource' }, () => ({
    content: [
      { type: 'resource_link', uri: 'note://one', name: 'one' },
      { type: 'resource', resource: { uri: 'note://two', text: 'two' } },
    ],
  }))
  server.registerTool(
    `progress${suffix}`,
    { description: 'Tells how far it is' },
    async (extra) => {
      const token = extra._meta?.progressToken
      for (const progress of [1, 2]) {
        if (token === undefined) continue
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: token, progress, total: 2 },
        })
      }
      return text('done')
    },
  )
  server.registerTool(
    `sample${suffix}`,
    { description: 'Asks the model of the client' },
    async (extra) => {
      const response = await extra.sendRequest(
        {
          method: 'sampling/createMessage',
          params: {
            messages: [{ role: 'user', content: { type: 'text', text: name } }],
            maxTokens: 9,
          },
        },
        CreateMessageResultSchema,
      )
      return text(`${name} sampled ${JSON.stringify(response.content)}`)
    },
  )
  server.registerTool(`roots${suffix}`, { description: 'Asks for roots' }, async (extra) => {
    const { roots } = await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema)
    return text(`${name}: ${roots.map(({ uri }) => uri).join()}`)
  })
  server.registerTool(`elicit${suffix}`, { description: 'Asks the user' }, async (extra) => {
    const response = await extra.sendRequest(
      {
        method: 'elicitation/create',
        params: {
          message: `${name} asks`,
          requestedSchema: { type: 'object', properties: { colour: { type: 'string' } } },
        },
      },
      ElicitResultSchema,
    )
    return text(`${name}: ${response.action} ${JSON.stringify(response.content)}`)
  })
  server.registerTool(`log${suffix}`, { description: 'Logs' }, async (extra) => {
    await extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data: `log of ${name}` },
    })
    return text('logged')
  })
  server.registerPrompt(
    'greet',
    { description: 'Greets', argsSchema: { who: z.string() } },
    ({ who }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${name} greets ${who}` } }],
    }),
  )
  server.registerResource('note', 'note://one', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, text: `${name} note` }],
  }))
  server.registerResource(
    'page',
    new ResourceTemplate('page://{id}', { list: undefined, complete: { id: () => ['a', 'b'] } }),
    {},
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `${name} page ${String(id)}` }] }),
  )
  return server
}
