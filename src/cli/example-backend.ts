import { createServer, type Server } from 'node:http'
import { listen } from '../admin/servers.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { serveExampleMcp } from './example-mcp.ts'
import { serveExampleModel } from './example-model.ts'

/** The backend of examples/quickstart.yaml: echoes requests, serves a model and an MCP server. */
export async function startExampleBackend(
  port: number,
  file: string,
): Promise<Server | Diagnostic> {
  const server = createServer((request, response) => {
    if (serveExampleModel(request, response)) return
    if (serveExampleMcp(request, response)) return
    const { method, url, headers } = request
    const body = `${JSON.stringify({ method, path: url, headers }, undefined, 2)}\n`
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(method === 'HEAD' ? undefined : body)
  })
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const
  const origin = { kind: 'object', object: file, field: 'backends.example' } as const
  return (await listen(server, address, origin)) ?? server
}
