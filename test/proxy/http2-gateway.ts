import { connect, createServer, type Socket } from 'node:net'
import { ipFromSocket } from '../../src/cel/values/ip.ts'
import { Connection, Destination, Source } from '../../src/exchange/connection.ts'
import type { BackendProgram, ListenerProgram, RouteProgram } from '../../src/program/program.ts'
import { HttpListeners } from '../../src/proxy/http-listeners.ts'
import { Prelude } from '../../src/proxy/prelude.ts'
import { type Port, RequestLoop } from '../../src/proxy/request-loop.ts'
import type { RequestState } from '../../src/proxy/request-state.ts'
import { type RequestId, requestIdOf } from '../../src/telemetry/request-id.ts'
import { Pool, tcpSocket } from '../../src/upstream/pool.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { ServerConnection } from '../../src/wire/http1/server-connection.ts'
import { Http2Pool } from '../../src/wire/http2/client-pool.ts'
import { HTTP2_LIMITS, type Http2Limits } from '../../src/wire/http2/limits.ts'
import { isPreface } from '../../src/wire/http2/preface.ts'
import { ServerSession } from '../../src/wire/http2/server.ts'
import { admitted, FORWARDS_TRAILERS, listen } from './harness.ts'

export type Version = 'h1' | 'h2'

export interface Http2Gateway {
  readonly port: number
  readonly runs: readonly RequestState[]
  readonly rejections: readonly string[]
  /** The count of each event. */
  readonly counts: ReadonlyMap<string, number>
  readonly sessions: ReadonlySet<ServerSession>
  readonly deadlines: Deadlines
  readonly close: () => void
}

export interface Http2GatewayOptions {
  readonly upstream: number
  readonly speaks: Version
  readonly limits?: Partial<Http2Limits>
  readonly timeout?: number
  readonly route?: Partial<RouteProgram>
  /** Properties of the route that change from request to request. */
  readonly parts?: PropertyDescriptorMap
  readonly streams?: number
}

/**
 * Starts a gateway with HTTP/1.1 and HTTP/2 on one cleartext port, and one route to one upstream.
 */
export async function startHttp2Gateway(options: Http2GatewayOptions): Promise<Http2Gateway> {
  const deadlines = new Deadlines(20)
  const limits: Http2Limits = { ...HTTP2_LIMITS, ...options.limits }
  const pool = poolOf(options, deadlines)
  const choice = { pool: pool as Pool, endpoint: 'test', host: '', done: () => {} }
  const backend: BackendProgram = {
    name: 'test',
    upstream: {
      kind: 'cluster',
      cluster: {
        name: 'test',
        isHealthy: true,
        active: 0,
        choose: () => choice,
        close: () => pool.close(),
      },
    },
    steps: [],
    run: () => undefined,
    readsBody: false,
    requestTimeout: options.timeout ?? 20_000,
    responseIdle: 0,
  }
  const route: RouteProgram = {
    name: 'route',
    rule: 'rule',
    steps: [],
    run: () => undefined,
    readsBody: false,
    choose: () => backend,
    timeouts: { request: 0, backendRequest: 0 } as RouteProgram['timeouts'],
    retry: undefined,
    mirrors: [],
    ...options.route,
  }
  if (options.parts !== undefined) Object.defineProperties(route, options.parts)
  const program = {
    gateway: 'test',
    listener: { name: 'http', protocol: 'HTTP', port: 0, policies: [] },
    match: () => route,
  } as unknown as ListenerProgram
  const runs: RequestState[] = []
  const rejections: string[] = []
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerSession>()
  let ids = 0
  const port: Port = {
    listeners: new HttpListeners([program]),
    deadlines,
    maxBody: 1 << 20,
    maxUpload: limits.body,
    trustedHops: 0,
    reading: FORWARDS_TRAILERS,
    nextId: () => requestIdOf(`id-${++ids}`) as RequestId,
    observer: {
      opened: () => {},
      closed: () => {},
      responding: () => {},
      began: () => {},
      requestRejected: (_, { word }) => void rejections.push(word),
      finished: (run) => void runs.push(run),
    },
  }
  const counted = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    const connection = connectionOf(socket)
    const loop = new RequestLoop(admitted(connection), port, connection)
    const next = (isHttp2: boolean) => () => {
      if (isHttp2) {
        const session = new ServerSession(socket, limits, deadlines, loop, { counted })
        sessions.add(session)
        socket.on('close', () => sessions.delete(session))
      } else new ServerConnection(socket, limits, deadlines, loop)
      socket.resume()
    }
    const read = (bytes: Buffer) => {
      const isHttp2 = isPreface(bytes)
      return isHttp2 === undefined ? undefined : { consumed: 0, next: next(isHttp2) }
    }
    new Prelude(socket, limits.headTimeout, deadlines, read, () => socket.destroy())
  })
  const listening = await listen(server)
  const close = () => {
    for (const socket of sockets) socket.destroy()
    pool.close()
    server.close()
  }
  return { port: listening, runs, rejections, counts, sessions, deadlines, close }
}

function poolOf({ speaks, upstream, streams }: Http2GatewayOptions, deadlines: Deadlines) {
  if (speaks === 'h1') {
    const limits = { connectTimeout: 20_000, idleTimeout: 5_000, max: 2_000 }
    return new Pool(tcpSocket('127.0.0.1', upstream), limits, deadlines)
  }
  const limits = { max: 16, ...(streams === undefined ? {} : { streams }) }
  return new Http2Pool(tcpSocket('127.0.0.1', upstream), limits, deadlines) as unknown as Pool
}

function connectionOf(socket: Socket): Connection {
  const address = ipFromSocket(socket.remoteAddress ?? '127.0.0.1')
  if (address === undefined) throw new Error('no address')
  const source = new Source(address, socket.remotePort ?? 0)
  const destination = new Destination(address, socket.localPort ?? 0, undefined)
  return new Connection(source, destination, false, undefined, Date.now())
}

/** Opens a connection and sends the preface, for tests that write frames themselves. */
export async function rawHttp2(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.on('error', () => {})
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(0x4, 0, 0, Buffer.alloc(0)))
  return socket
}

export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
export const END_STREAM = 1
export const END_HEADERS = 4

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Fields without compression: each is a literal without indexing. */
export function fieldBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  )
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length: number[] = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128)
  length.push(rest)
  return Buffer.concat([Buffer.from(length), bytes])
}
