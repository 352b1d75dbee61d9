import type { IncomingMessage, ServerResponse } from 'node:http'
import { AnyMethodServer } from './any-method.ts'
import type { Suite } from './format.ts'
import { type Offered, respondTo } from './mcp-stand-in.ts'

/** A request that arrived at a backend. */
export interface Arrival {
  readonly backend: string
  readonly method: string
  readonly path: string
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Servers on loopback that replace the backends of a configuration, one for each. */
export class StandIns {
  readonly arrivals: Arrival[] = []
  readonly #responses: Suite['backends']
  readonly #servers = new Map<string, AnyMethodServer>()
  /** The stand-ins that are MCP servers. */
  readonly #mcp: ReadonlyMap<string, Offered>

  constructor(responses: Suite['backends'], mcp: ReadonlyMap<string, Offered> = new Map()) {
    this.#responses = responses
    this.#mcp = mcp
  }

  async open(names: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    const ports = new Map<string, number>()
    for (const name of names) {
      const server = new AnyMethodServer((method, ...args) => {
        void this.#respond(name, method, ...args)
      })
      this.#servers.set(name, server)
      ports.set(name, await server.listen())
    }
    return ports
  }

  close(): void {
    for (const server of this.#servers.values()) server.close()
  }

  async #respond(
    backend: string,
    method: string,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const { url = '' } = request
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
    const own = this.#responses[backend]
    const offered = this.#mcp.get(backend)
    if (offered !== undefined && (own?.status ?? 200) === 200) {
      const said = respondTo(body, offered, own?.body ?? backend)
      const status = method !== 'POST' ? 405 : said === undefined ? 202 : 200
      response.writeHead(status, { 'content-type': 'application/json', ...own?.headers })
      response.end(said)
      return
    }
    response.writeHead(own?.status ?? 200, own?.headers ?? {})
    response.end(own?.body ?? `${backend}\n`)
  }
}
