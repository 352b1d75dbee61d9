import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/* A model provider and an MCP server for the soak test, each as small as its clients allow. */

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

export async function serveModel(request: IncomingMessage, response: ServerResponse) {
  const { stream } = JSON.parse(await read(request)) as { readonly stream: boolean }
  if (!stream) {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x' } }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'c', model: 'm', choices, usage: USAGE }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (own: object) => `data: ${JSON.stringify({ id: 'c', model: 'm', ...own })}\n\n`
  for (let i = 0; i < 20; i++) {
    response.write(event({ choices: [{ index: 0, delta: { content: `word ${i} ` } }] }))
  }
  setTimeout(() => response.end(`${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`), 20)
}

interface Asked {
  readonly id?: unknown
  readonly method: string
}

export async function serveTools(request: IncomingMessage, response: ServerResponse) {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n')
    return
  }
  const text = await read(request)
  if (request.method === 'DELETE') {
    response.end()
    return
  }
  const { id, method } = JSON.parse(text) as Asked
  const serverInfo = { name: 'soak', version: '1' }
  const results: Readonly<Record<string, object>> = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  }
  const session = method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
  response.writeHead(200, { 'content-type': 'application/json', ...session })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
}
