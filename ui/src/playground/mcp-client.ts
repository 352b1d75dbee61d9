import type { PlaygroundResponse } from '../api/shapes.ts'
import { play } from './play.ts'

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: { readonly properties?: Readonly<Record<string, unknown>> }
}

export interface McpSession {
  readonly listener: string
  readonly path: string
  /** Headers of the client, which rules can read. */
  readonly headers: Readonly<Record<string, string>>
  readonly id: string | undefined
}

const VERSION = '2025-06-18'

/** Opens a session through the gateway, as any MCP client does. */
export async function openSession(at: Omit<McpSession, 'id'>): Promise<McpSession> {
  const params = {
    protocolVersion: VERSION,
    capabilities: {},
    clientInfo: { name: 'portcullis-playground', version: '1' },
  }
  const response = await post({ ...at, id: undefined }, 'initialize', params, 1)
  resultOf(response)
  const session = { ...at, id: response.headers['mcp-session-id'] }
  await post(session, 'notifications/initialized', undefined, undefined)
  return session
}

export async function listTools(session: McpSession): Promise<readonly Tool[]> {
  const { tools } = resultOf(await post(session, 'tools/list', {}, 2)) as {
    readonly tools?: readonly Tool[]
  }
  return tools ?? []
}

export async function callTool(session: McpSession, name: string, args: unknown): Promise<unknown> {
  return resultOf(await post(session, 'tools/call', { name, arguments: args }, 3))
}

function post(
  { listener, path, headers, id: session }: McpSession,
  method: string,
  params: unknown,
  id: number | undefined,
): Promise<PlaygroundResponse> {
  return play({
    listener,
    method: 'POST',
    path,
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      method,
      ...(id === undefined ? {} : { id }),
      ...(params === undefined ? {} : { params }),
    }),
  })
}

/** Reads the result from JSON or from an SSE event; throws errors of the server or gateway. */
function resultOf({ status, headers, body }: PlaygroundResponse): unknown {
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  const texts = isStream ? [...body.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data) : [body]
  for (const text of texts) {
    try {
      const message = JSON.parse(text ?? '') as {
        readonly result?: unknown
        readonly error?: { readonly message?: string }
      }
      if (message.result !== undefined) return message.result
      if (message.error !== undefined) throw new Failure(message.error.message ?? 'an error')
    } catch (error) {
      if (error instanceof Failure) throw error
    }
  }
  throw new Failure(`The gateway responded with ${status}: ${body.slice(0, 300)}`)
}

class Failure extends Error {}
