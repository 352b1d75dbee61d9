import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server without sessions that lists tools exactly as they are written here. */
export interface RawMcpServer {
  readonly port: number
  /** JSON strings. */
  tools: readonly string[]
  /** Names of the called tools. */
  readonly called: string[]
  /** Requested methods. */
  readonly methods: string[]
  close(): void
}

export async function startRawMcpServer(tools: readonly string[]): Promise<RawMcpServer> {
  const called: string[] = []
  const methods: string[] = []
  const http = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const { id, method, params } = JSON.parse(Buffer.concat(pieces).toString()) as {
      readonly id?: unknown
      readonly method: string
      readonly params?: { readonly name?: string; readonly protocolVersion?: string }
    }
    methods.push(method)
    if (id === undefined) {
      response.writeHead(202).end()
      return
    }
    const result = () => {
      if (method === 'initialize') {
        const protocolVersion = params?.protocolVersion
        const serverInfo = { name: 'raw', version: '1' }
        return JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo })
      }
      if (method === 'tools/list') return `{"tools":[${server.tools.join(',')}]}`
      called.push(params?.name ?? '')
      return '{"content":[{"type":"text","text":"done"}]}'
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result()}}`)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const server: RawMcpServer = {
    port: (http.address() as AddressInfo).port,
    tools,
    called,
    methods,
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  }
  return server
}
