import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CreateMessageResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'

/* What the conformance suite expects of a server: tools, prompts and resources by these names. */

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

const text = (value: string) => ({ type: 'text' as const, text: value })
const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' }
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
})

function tools(server: McpServer): void {
  const tool = (name: string, content: readonly object[]) =>
    server.registerTool(name, { description: name }, () => ({ content: content as never }))
  tool('test_simple_text', [text('This is a simple text response for testing.')])
  tool('test_image_content', [image])
  tool('test_audio_content', [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }])
  tool('test_embedded_resource', [embedded('test://embedded-resource')])
  tool('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource'),
  ])
  server.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool('test_tool_with_logging', { description: 'Logs' }, async (extra) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool completed']) {
      await extra.sendNotification({
        method: 'notifications/message',
        params: { level: 'info', data },
      })
    }
    return { content: [text('done')] }
  })
  server.registerTool('test_tool_with_progress', { description: 'Progress' }, async (extra) => {
    const progressToken = extra._meta?.progressToken ?? 0
    for (const progress of [0, 50, 100]) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      })
    }
    return { content: [text(String(progressToken))] }
  })
  server.registerTool(
    'test_sampling',
    { description: 'Samples', inputSchema: { prompt: z.string() } },
    async ({ prompt }, extra) => {
      const params = {
        messages: [{ role: 'user' as const, content: text(prompt) }],
        maxTokens: 100,
      }
      const request = { method: 'sampling/createMessage' as const, params }
      const response = await extra.sendRequest(request, CreateMessageResultSchema)
      return { content: [text(`LLM response: ${JSON.stringify(response.content)}`)] }
    },
  )
  const elicits = (name: string, properties: object) =>
    server.registerTool(
      name,
      { description: name, inputSchema: { message: z.string().optional() } },
      async ({ message = 'Please review' }, extra) => {
        const requestedSchema = { type: 'object', properties, required: [] }
        const request = { method: 'elicitation/create', params: { message, requestedSchema } }
        const response = await extra.sendRequest(request as never, ElicitResultSchema)
        return { content: [text(`User response: ${JSON.stringify(response)}`)] }
      },
    )
  elicits('test_elicitation', { username: { type: 'string' }, email: { type: 'string' } })
  elicits('test_elicitation_sep1034_defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  })
  const [one, two] = ['option1', 'option2']
  const titled = [
    { const: 'value1', title: 'First' },
    { const: 'value2', title: 'Second' },
  ]
  elicits('test_elicitation_sep1330_enums', {
    untitledSingle: { type: 'string', enum: [one, two] },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['One', 'Two'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: [one, two] } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  })
  server.registerTool('test_reconnection', { description: 'Closes its stream' }, async (extra) => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    extra.closeSSEStream?.()
    await new Promise((resolve) => setTimeout(resolve, 50))
    return { content: [text('Reconnection test completed successfully')] }
  })
}

function prompts(server: McpServer): void {
  const prompt = (name: string, content: readonly object[]) =>
    server.registerPrompt(name, { description: name }, () => ({
      messages: content.map((own) => ({ role: 'user', content: own as never })),
    }))
  prompt('test_simple_prompt', [text('This is a simple prompt for testing.')])
  prompt('test_prompt_with_image', [image, text('Please analyze the image above.')])
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With arguments',
      argsSchema: { arg1: completable(z.string(), () => ['paris', 'park']), arg2: z.string() },
    },
    ({ arg1, arg2 }) => ({
      messages: [{ role: 'user', content: text(`Prompt with arguments: '${arg1}', '${arg2}'`) }],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: { resourceUri: z.string() } },
    ({ resourceUri }) => ({ messages: [{ role: 'user', content: embedded(resourceUri) }] }),
  )
}

function resources(server: McpServer): void {
  server.registerResource('text', 'test://static-text', { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'test://static-text', mimeType: 'text/plain', text: 'static text' }],
  }))
  server.registerResource('binary', 'test://static-binary', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: PIXEL }],
  }))
  server.registerResource('watched', 'test://watched-resource', {}, () => ({
    contents: [{ uri: 'test://watched-resource', text: 'watched' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource(
    'template',
    template,
    { mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id }) }],
    }),
  )
}

/** Stores events of streams, so that a client can resume one where it was cut off. */
class EventStore {
  readonly #events: { id: string; stream: string; message: object }[] = []

  async storeEvent(stream: string, message: object): Promise<string> {
    const id = `${stream}_${this.#events.length}`
    this.#events.push({ id, stream, message })
    return id
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: never) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === last)
    const stream = this.#events[at]?.stream ?? ''
    for (const event of this.#events.slice(at + 1)) {
      if (event.stream !== stream || !('jsonrpc' in event.message)) continue
      await send(event.id, event.message as never)
    }
    return stream
  }
}

/** Returns a server with all of it, for one session. */
export function makeConformanceServer(): McpServer {
  const server = new McpServer(
    { name: 'conformance', version: '1' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  )
  tools(server)
  prompts(server)
  resources(server)
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    const schema = z.object({ method: z.literal(method) })
    server.server.setRequestHandler(schema as never, () => ({}))
  }
  return server
}

async function listening(listener: RequestListener) {
  const http = createServer(listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const close = () => {
    http.closeAllConnections()
    http.close()
  }
  return { port, close }
}

/** Starts a server that speaks Streamable HTTP; returns its port and how to stop it. */
export function startConformanceServer() {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  return listening((request, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const body: unknown =
        pieces.length === 0 ? undefined : JSON.parse(String(Buffer.concat(pieces)))
      const known = sessions.get(String(request.headers['mcp-session-id']))
      if (known !== undefined) return known.handleRequest(request, response, body)
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        eventStore: new EventStore() as never,
        retryInterval: 500,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await makeConformanceServer().connect(transport as never)
      return transport.handleRequest(request, response, body)
    })().catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
}

/** Starts a server that speaks the transport of 2024-11-05. */
export function startSseConformanceServer() {
  const sessions = new Map<string, SSEServerTransport>()
  return listening((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://server')
    const known = sessions.get(searchParams.get('sessionId') ?? '')
    if (known !== undefined) return void known.handlePostMessage(request, response)
    const transport = new SSEServerTransport('/messages', response)
    sessions.set(transport.sessionId, transport)
    void makeConformanceServer().connect(transport as never)
  })
}
