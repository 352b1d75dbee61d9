import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

/** A server with one tool that does nothing: `http PORT`, or `stdio`. */
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
  createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
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
