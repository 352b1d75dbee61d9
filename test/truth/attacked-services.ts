import { once } from 'node:events'
import { request as ask, createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js'
import { startAuthorizationService } from '../proxy/authorization-service.ts'
import { picks, startPicker } from '../proxy/endpoint-picker.ts'
import { decodeEnvoy, encodeEnvoy } from '../proxy/envoy-messages.ts'
import { startProcessor } from '../proxy/processor.ts'
import type { Tree } from './document.ts'
import { World } from './gateways.ts'
import { settings } from './generate.ts'
import type { Request } from './wire.ts'

/** Addresses for attack files, each as `host:port`. */
export interface Addresses {
  readonly port: number
  /** Backends that respond to everything and, as authorization services, allow everything. */
  readonly backends: readonly string[]
  /** A service that denies every request. */
  readonly rejecting: string
  /** Speaks MCP. */
  readonly tools: string
  /** A processor that responds to every request itself, with 403. */
  readonly processor: string
  /** A rate limit service that reports every request as over the limit. */
  readonly limiter: string
  /** Allows every request over gRPC and sets the role `a`; denies requests with `no` in `x-say`. */
  readonly authorizer: string
  /** A gRPC service whose responses contain a header that no message can have. */
  readonly unwritable: string
  /** Picks the first backend; responds with 429 to requests with `no` in `x-say`. */
  readonly picker: string
}

/** The tools of the server. */
export const OFFERED = ['read', 'write'] as const

/** A world with a service that denies everything and an MCP server beside its backends. */
export class AttackedServices {
  readonly world: World
  readonly addresses: Addresses
  readonly #servers: readonly Server[]
  readonly #grpc: readonly GrpcService[]

  private constructor(world: World, servers: readonly Server[], grpc: readonly GrpcService[]) {
    const [processor = '', limiter = '', authorizer = '', unwritable = '', picker = ''] = grpc.map(
      ({ port }) => `127.0.0.1:${port}`,
    )
    const [rejecting = '', tools = ''] = servers.map(addressOf)
    const { ports, backends } = world.place
    this.world = world
    this.#servers = servers
    this.#grpc = grpc
    this.addresses = {
      port: ports[0] as number,
      backends: backends.map((port) => `127.0.0.1:${port}`),
      rejecting,
      tools,
      processor,
      limiter,
      authorizer,
      unwritable,
      picker,
    }
  }

  static async open(): Promise<AttackedServices> {
    const reject: RequestListener = (_, response) => void response.writeHead(403).end()
    const servers = [createServer(reject), createServer(serve)]
    for (const server of servers) server.listen(0, '127.0.0.1')
    await Promise.all(servers.map((server) => once(server, 'listening')))
    const processor = await startProcessor()
    processor.respondWith = () => [{ immediateResponse: { status: { code: 403 } } }]
    const authorizer = await startAuthorizationService()
    const ok = { okResponse: {}, dynamicMetadata: { fields: { role: { stringValue: 'a' } } } }
    authorizer.respondWith = ({ attributes }) => {
      const { headers } = attributes.request.http
      return headers['x-say'] === 'no' ? { status: { code: 7 }, deniedResponse: {} } : ok
    }
    const unwritable = await startAuthorizationService()
    unwritable.respondWith = () => ({
      okResponse: { headers: [{ header: { key: 'x-role', value: 'a\r\nb: c' } }] },
    })
    const world = await World.open()
    const picker = await startPicker()
    picker.decide = ({ headers, body }) => {
      if (headers['x-say'] === 'no') return [{ immediateResponse: { status: { code: 429 } } }]
      return picks(`127.0.0.1:${world.place.backends[0]}`, body)
    }
    const grpc = [processor, await startLimiter(), authorizer, unwritable, picker]
    return new AttackedServices(world, servers, grpc)
  }

  async close(): Promise<void> {
    await this.world.close()
    for (const one of this.#grpc) one.close()
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

  /** Whether a message is served; a denied one may get 200 as well. */
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
      // A closed connection is a denial, too.
      sent.on('error', () => resolve(false)).end(body)
    })
  }
}

interface GrpcService {
  readonly port: number
  close(): void
}

async function startLimiter(): Promise<GrpcService> {
  const OVER_LIMIT = 2
  const server = new GrpcServer()
  const method = {
    path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: object) => encodeEnvoy('RateLimitRequest', value),
    requestDeserialize: (bytes: Buffer) => decodeEnvoy('RateLimitRequest', bytes) as object,
    responseSerialize: (value: object) => encodeEnvoy('RateLimitResponse', value),
    responseDeserialize: (bytes: Buffer) => decodeEnvoy('RateLimitResponse', bytes) as object,
  }
  const limit = (_: unknown, done: (error: null, value: object) => void) =>
    done(null, { overallCode: OVER_LIMIT, statuses: [{ code: OVER_LIMIT }] })
  server.addService({ shouldRateLimit: method }, { shouldRateLimit: limit })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, own) =>
      error === null ? resolve(own) : reject(error),
    ),
  )
  return { port, close: () => server.forceShutdown() }
}

const serve: RequestListener = (message, response) => {
  let text = ''
  message.on('data', (bytes: Buffer) => void (text += bytes.toString()))
  message.on('end', () => {
    response.setHeader('content-type', 'application/json')
    const { method = '', id } = text.startsWith('{') ? JSON.parse(text) : {}
    if (id === undefined) return void response.writeHead(202).end()
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? DONE }))
  })
}

const DONE = { content: [{ type: 'text', text: 'done' }] }
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'attacked', version: '1' },
  },
  'tools/list': { tools: OFFERED.map((name) => ({ name, inputSchema: { type: 'object' } })) },
}

function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
