import { once } from 'node:events'
import { request as ask, createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Tree } from './document.ts'
import { World } from './gateways.ts'
import { settings } from './generate.ts'
import type { Request } from './wire.ts'

/** What files of attacks name: addresses, each as `host:port`. */
export interface Addresses {
  readonly port: number
  /** Backends that respond to everything, and that admit everything where they are asked. */
  readonly backends: readonly string[]
  /** A service that denies whatever it is asked. */
  readonly refusing: string
  /** Speaks MCP. */
  readonly tools: string
}

/** Tools that the server has. */
export const OFFERED = ['read', 'write'] as const

/** A world with a service that denies everything and a server of tools beside its backends. */
export class AttackedServices {
  readonly world: World
  readonly addresses: Addresses
  readonly #servers: readonly Server[]

  private constructor(world: World, servers: readonly Server[]) {
    const [refusing = '', tools = ''] = servers.map(addressOf)
    const { ports, backends } = world.place
    this.world = world
    this.#servers = servers
    this.addresses = {
      port: ports[0] as number,
      backends: backends.map((port) => `127.0.0.1:${port}`),
      refusing,
      tools,
    }
  }

  static async open(): Promise<AttackedServices> {
    const refuse: RequestListener = (_, response) => void response.writeHead(403).end()
    const servers = [createServer(refuse), createServer(answer)]
    for (const server of servers) server.listen(0, '127.0.0.1')
    await Promise.all(servers.map((server) => once(server, 'listening')))
    return new AttackedServices(await World.open(), servers)
  }

  async close(): Promise<void> {
    await this.world.close()
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  /** A file with the usual settings and one port. */
  fileOf({ config = {}, ...rest }: Tree): Tree {
    const usual = { gateways: { default: { port: this.addresses.port } } }
    return { config: { ...settings([]), ...(config as Tree) }, ...usual, ...rest }
  }

  /** Whether a message is served; one that is denied may have 200 as well. */
  message({ method = 'POST', target = '/mcp', headers = [], body }: Partial<Request>) {
    const { port } = this.addresses
    return new Promise<boolean>((resolve) => {
      const fields = Object.fromEntries([['host', 'a.test'], ...headers])
      const options = { host: '127.0.0.1', port, method, path: target, agent: false }
      const sent = ask({ ...options, headers: fields }, (response) => {
        let text = ''
        response.on('data', (bytes: Buffer) => void (text += bytes.toString()))
        response.on('end', () => {
          resolve((response.statusCode ?? 500) < 400 && !text.includes('"error":'))
        })
      })
      // A connection that is closed is a denial, too.
      sent.on('error', () => resolve(false)).end(body)
    })
  }
}

const answer: RequestListener = (message, response) => {
  let text = ''
  message.on('data', (bytes: Buffer) => void (text += bytes.toString()))
  message.on('end', () => {
    const result = text.includes('tools/list')
      ? { tools: OFFERED.map((name) => ({ name, inputSchema: { type: 'object' } })) }
      : { content: [{ type: 'text', text: 'done' }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  })
}

function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
