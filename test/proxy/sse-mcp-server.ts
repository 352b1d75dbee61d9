import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { makeServer } from './mcp-server.ts'

export interface SseMcpServer {
  readonly port: number
  readonly sessions: Map<string, SSEServerTransport>
  readonly headers: IncomingHttpHeaders[]
  /** Replaces the address that it would send. */
  endpoint: string | undefined
  close(): void
}

/** A server of the official SDK that supports only the transport of 2024-11-05. */
export async function startSseMcpServer(name: string): Promise<SseMcpServer> {
  const sessions = new Map<string, SSEServerTransport>()
  const headers: IncomingHttpHeaders[] = []
  const http = createServer(async (request, response) => {
    headers.push(request.headers)
    const url = new URL(request.url ?? '', 'http://server')
    if (request.method === 'GET' && url.pathname === '/sse') {
      if (own.endpoint !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`event: endpoint\ndata: ${own.endpoint}\n\n`)
        return
      }
      const transport = new SSEServerTransport('/messages', response)
      sessions.set(transport.sessionId, transport)
      response.on('close', () => sessions.delete(transport.sessionId))
      await makeServer({ name }).connect(transport as never)
      return
    }
    const transport = sessions.get(url.searchParams.get('sessionId') ?? '')
    if (request.method !== 'POST' || url.pathname !== '/messages' || transport === undefined) {
      response.writeHead(404).end()
      return
    }
    await transport.handlePostMessage(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const own: SseMcpServer = {
    port: (http.address() as AddressInfo).port,
    sessions,
    headers,
    endpoint: undefined,
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  }
  return own
}
