import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'

/** A server with one no-op tool: `http PORT`, which also serves SSE, or `stdio`. */
const [how, port] = process.argv.slice(2)

interface Asked {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly protocolVersion?: string }
}

function respond({ id, method, params }: Asked): string | undefined {
  if (id === undefined) return undefined
  const result = () => {
    if (method === 'initialize') {
      const { protocolVersion } = params ?? {}
      return {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'b', version: '1' },
      }
    }
    if (method === 'tools/list')
      return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
    return { content: [{ type: 'text', text: 'done' }] }
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result: result() })
}

if (how === 'stdio') {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const text = respond(JSON.parse(line) as Asked)
    if (text !== undefined) process.stdout.write(`${text}\n`)
  })
} else {
  const streams = new Map<string, ServerResponse>()
  createServer((request, response) => {
    const pieces: Buffer[] = []
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://b')
    if (pathname === '/sse') {
      const id = randomUUID()
      streams.set(id, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: endpoint\ndata: /messages?session=${id}\n\n`)
      response.on('close', () => streams.delete(id))
      return
    }
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      if (pathname === '/messages') {
        const text = respond(JSON.parse(Buffer.concat(pieces).toString()) as Asked)
        response.writeHead(202).end()
        const stream = streams.get(searchParams.get('session') ?? '')
        if (text !== undefined) stream?.write(`event: message\ndata: ${text}\n\n`)
        return
      }
      if (request.method !== 'POST') {
        response.writeHead(405).end()
        return
      }
      const asked = JSON.parse(Buffer.concat(pieces).toString()) as Asked
      const text = respond(asked)
      const session = asked.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
      response.writeHead(text === undefined ? 202 : 200, {
        'content-type': 'application/json',
        ...session,
      })
      response.end(text)
    })
  }).listen(Number(port), '127.0.0.1')
}
