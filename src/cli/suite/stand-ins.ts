import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Suite } from './format.ts'
import { type Offered, respondTo } from './mcp-stand-in.ts'

/** What came to a backend. */
export interface Arrival {
  readonly backend: string
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Servers in place of the backends of a configuration, one for each, on loopback. */
export class StandIns {
  readonly arrivals: Arrival[] = []
  readonly #answers: Suite['backends']
  readonly #servers = new Map<string, Server>()
  /** Those that are servers of MCP. */
  readonly #mcp: ReadonlyMap<string, Offered>

  constructor(answers: Suite['backends'], mcp: ReadonlyMap<string, Offered> = new Map()) {
    this.#answers = answers
    this.#mcp = mcp
  }

  async open(names: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    const ports = new Map<string, number>()
    for (const name of names) {
      const server = createServer((request, response) => void this.#answer(name, request, response))
      this.#servers.set(name, server)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      ports.set(name, (server.address() as AddressInfo).port)
    }
    return ports
  }

  close(): void {
    for (const server of this.#servers.values()) {
      server.close()
      server.closeAllConnections()
    }
  }

  async #answer(backend: string, request: IncomingMessage, response: ServerResponse) {
    const { method = '', url = '' } = request
    const headers = Object.fromEntries(
      Object.entries(request.headersDistinct).map(([name, values]) => [
        name,
        values?.join(', ') ?? '',
      ]),
    )
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    this.arrivals.push({ backend, method, path: url, headers, body })
    const answer = this.#answers[backend]
    const offered = this.#mcp.get(backend)
    if (offered !== undefined && (answer?.status ?? 200) === 200) {
      const said = respondTo(body, offered, answer?.body ?? backend)
      const status = method !== 'POST' ? 405 : said === undefined ? 202 : 200
      response.writeHead(status, { 'content-type': 'application/json', ...answer?.headers })
      response.end(said)
      return
    }
    response.writeHead(answer?.status ?? 200, answer?.headers ?? {})
    response.end(answer?.body ?? `${backend}\n`)
  }
}
