import { createHmac } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  McpServer,
  ProtocolError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

/* What the conformance suite for 2026-07-28 expects of a server, over each transport. */

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='
const NONE = z.object({})

const text = (value: string) => ({ type: 'text' as const, text: value })
const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' }
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
})
const elicit = (message: string, property: string) =>
  inputRequired.elicit({ message, requestedSchema: z.object({ [property]: z.string() }) as never })
const sample = (prompt: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: text(prompt) }],
    maxTokens: 100,
  })

function tools(server: McpServer, changes: Changes): void {
  const tool = (name: string, content: readonly object[]) =>
    server.registerTool(name, { description: name, inputSchema: NONE }, () => ({
      content: content as never,
    }))
  tool('test_simple_text', [text('This is a simple text response for testing.')])
  tool('test_image_content', [image])
  tool('test_audio_content', [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }])
  tool('test_embedded_resource', [embedded('test://embedded-resource')])
  tool('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource'),
  ])
  server.registerTool('test_error_handling', { description: 'Fails', inputSchema: NONE }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Progress', inputSchema: NONE },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (const progress of [0, 50, 100]) {
        if (progressToken === undefined) continue
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      }
      return { content: [text('done')] }
    },
  )
  const without = (name: string, requests: () => Record<string, ReturnType<typeof elicit>>) =>
    server.registerTool(name, { description: name, inputSchema: NONE }, () =>
      inputRequired({ inputRequests: requests() }),
    )
  without('test_missing_capability', () => ({ sampled: sample('Hi') }))
  without('test_streaming_elicitation', () => ({ confirm: elicit('OK?', 'ok') }))
  server.registerTool(
    'test_logging_tool',
    { description: 'Logs', inputSchema: NONE },
    async (_, { mcpReq }) => {
      await mcpReq.log('info', 'logged')
      return { content: [text('done')] }
    },
  )
  const trigger = (name: string, change: () => void) =>
    server.registerTool(name, { description: name, inputSchema: NONE }, () => {
      change()
      return { content: [text('changed')] }
    })
  trigger('test_trigger_tool_change', changes.tools)
  trigger('test_trigger_prompt_change', changes.prompts)
  inputTools(server)
}

type Responses = Record<string, unknown> | undefined

/** Tools that request input, some of them several times. */
function inputTools(server: McpServer): void {
  const requesting = (
    name: string,
    requests: () => Record<string, ReturnType<typeof elicit>>,
    state?: string,
  ) =>
    server.registerTool(name, { description: name, inputSchema: NONE }, (_, { mcpReq }) => {
      const inputRequests = requests()
      const responses = mcpReq.inputResponses as Responses
      const isComplete = Object.keys(inputRequests).every((key) => responses?.[key] !== undefined)
      if (isComplete) return { content: [text(`state-ok ${JSON.stringify(responses)}`)] }
      return inputRequired({
        inputRequests,
        ...(state === undefined ? {} : { requestState: state }),
      })
    })
  requesting('test_input_required_result_elicitation', () => ({
    user_name: elicit('What is your name?', 'name'),
  }))
  requesting('test_input_required_result_sampling', () => ({
    capital_question: sample('What is the capital of France?'),
  }))
  requesting('test_input_required_result_list_roots', () => ({
    client_roots: inputRequired.listRoots(),
  }))
  const state = 'the state of the server'
  requesting(
    'test_input_required_result_request_state',
    () => ({ confirm: elicit('OK?', 'ok') }),
    state,
  )
  requesting(
    'test_input_required_result_multiple_inputs',
    () => ({
      user_name: elicit('What is your name?', 'name'),
      greeting: sample('Generate a greeting'),
      client_roots: inputRequired.listRoots(),
    }),
    state,
  )
  requesting('test_input_required_result_capabilities', () => ({
    capital_question: sample('What is the capital of France?'),
  }))
  server.registerTool(
    'test_input_required_result_multi_round',
    { description: 'Two rounds', inputSchema: NONE },
    (_, { mcpReq }) => {
      const round = mcpReq.requestState()
      if (round === 'second') return { content: [text('done')] }
      const isFirst = round === undefined
      return inputRequired({
        requestState: isFirst ? 'first' : 'second',
        inputRequests: isFirst
          ? { step1: elicit('Step 1: What is your name?', 'name') }
          : { step2: elicit('Step 2: What is your favorite color?', 'color') },
      })
    },
  )
  const signed = createHmac('sha256', 'key').update('state').digest('hex')
  server.registerTool(
    'test_input_required_result_tampered_state',
    { description: 'Signed state', inputSchema: NONE },
    (_, { mcpReq }) => {
      const given = mcpReq.requestState()
      if (given === undefined) {
        return inputRequired({
          requestState: signed,
          inputRequests: { confirm: elicit('OK?', 'ok') },
        })
      }
      if (given !== signed) throw new ProtocolError(-32602, 'Invalid params: requestState')
      return { content: [text('state-ok')] }
    },
  )
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
      argsSchema: z.object({
        arg1: completable(z.string(), () => ['paris', 'park']),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [{ role: 'user', content: text(`Prompt with arguments: '${arg1}', '${arg2}'`) }],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({ messages: [{ role: 'user', content: embedded(resourceUri) }] }),
  )
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Requests input' },
    ({ mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses as Responses, 'user_context')
      if (given !== undefined) {
        return { messages: [{ role: 'user', content: text(JSON.stringify(given)) }] }
      }
      const message = 'What context should the prompt use?'
      return inputRequired({ inputRequests: { user_context: elicit(message, 'context') } })
    },
  )
}

function resources(server: McpServer): void {
  server.registerResource('text', 'test://static-text', { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'test://static-text', mimeType: 'text/plain', text: 'static text' }],
  }))
  server.registerResource('binary', 'test://static-binary', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: PIXEL }],
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

/** How a server announces that its lists have changed. */
interface Changes {
  tools(): void
  prompts(): void
}

/** By default, in the session of the server. */
export function fixtureServer(changes?: Changes): McpServer {
  const server = new McpServer(
    { name: 'fixtures', version: '1' },
    { capabilities: { logging: {}, tools: { listChanged: true }, prompts: { listChanged: true } } },
  )
  const inSession = {
    tools: () => server.sendToolListChanged(),
    prompts: () => server.sendPromptListChanged(),
  }
  tools(server, changes ?? inSession)
  prompts(server)
  resources(server)
  return server
}

export interface FixtureServer {
  readonly port: number
  close(): void
}

async function listening(http: Server): Promise<FixtureServer> {
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  const close = () => {
    http.closeAllConnections()
    http.close()
  }
  return { port: (http.address() as AddressInfo).port, close }
}

/** Starts the server over Streamable HTTP: it serves the revision without sessions itself. */
export function startFixtures(): Promise<FixtureServer> {
  const handler = createMcpHandler(() =>
    fixtureServer({
      tools: () => handler.notify.toolsChanged(),
      prompts: () => handler.notify.promptsChanged(),
    }),
  )
  return listening(createServer(toNodeHandler(handler) as RequestListener))
}

/** Starts another server of the same revision: it has nothing that the suite uses. */
export function startOther(): Promise<FixtureServer> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'other', version: '1' })
    server.registerTool('other', { description: 'Another', inputSchema: NONE }, () => ({
      content: [text('other')],
    }))
    return server
  })
  return listening(createServer(toNodeHandler(handler) as RequestListener))
}

/** Starts the server over the transport of 2024-11-05, with sessions. */
export function startSseFixtures(): Promise<FixtureServer> {
  const sessions = new Map<string, SSEServerTransport>()
  const listener: RequestListener = (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://server')
    const session = sessions.get(searchParams.get('sessionId') ?? '')
    if (session !== undefined) return void session.handlePostMessage(request, response)
    const transport = new SSEServerTransport('/messages', response)
    sessions.set(transport.sessionId, transport)
    void fixtureServer().connect(transport as never)
  }
  return listening(createServer(listener))
}
