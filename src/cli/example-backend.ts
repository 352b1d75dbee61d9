import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** The backend of examples/quickstart.yaml: it says what reached it. */
export async function startExampleBackend(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    const body = `${JSON.stringify({ method, path: url, headers }, undefined, 2)}\n`
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(method === 'HEAD' ? undefined : body)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
