import type { IncomingMessage, ServerResponse } from 'node:http'

/** The notes of the example, by name. */
const NOTES: Readonly<Record<string, string>> = {
  'team/plan': 'Ship the gateway on Friday.',
  'private/salaries': 'No one should read this.',
}

const text = { type: 'string' } as const
const TOOLS = [
  {
    name: 'list_notes',
    description: 'Lists the names of all notes.',
    inputSchema: { type: 'object', properties: {} },
  },
  {
    name: 'read_note',
    description: 'Reads a note.',
    inputSchema: { type: 'object', properties: { name: text }, required: ['name'] },
  },
  {
    name: 'delete_note',
    description: 'Deletes a note.',
    inputSchema: { type: 'object', properties: { name: text }, required: ['name'] },
  },
]

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: {
    readonly protocolVersion?: unknown
    readonly name?: unknown
    readonly arguments?: { readonly name?: unknown }
  }
}

/** The MCP server of examples/quickstart.yaml, without sessions; false for other requests. */
export function serveExampleMcp(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.url !== '/mcp') return false
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end()
    return true
  }
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const message = read(Buffer.concat(pieces).toString())
    if (message?.id === undefined) {
      response.writeHead(message === undefined ? 400 : 202).end()
      return
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...respond(message) })
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${body}\n`)
  })
  return true
}

function read(body: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function respond({ method, params }: Message): object {
  switch (method) {
    case 'initialize': {
      const { protocolVersion = '2025-11-25' } = params ?? {}
      const serverInfo = { name: 'example', version: '1' }
      return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } }
    }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return { result: { tools: TOOLS } }
    case 'tools/call':
      return call(String(params?.name), String(params?.arguments?.name))
    default:
      return { error: { code: -32_601, message: 'Method not found' } }
  }
}

function call(tool: string, name: string): object {
  const say = (said: string) => ({ result: { content: [{ type: 'text', text: said }] } })
  switch (tool) {
    case 'list_notes':
      return say(Object.keys(NOTES).join('\n'))
    case 'read_note':
      return say(NOTES[name] ?? 'Unknown note.')
    case 'delete_note':
      return say('This is an example: nothing was deleted.')
    default:
      return { error: { code: -32_602, message: `Unknown tool: ${tool}` } }
  }
}
