import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { ipFromSocket } from '../../src/cel/values/ip.ts'
import { Connection, Destination, Source } from '../../src/exchange/connection.ts'
import { runSteps, type Step } from '../../src/exchange/step.ts'
import { Permit } from '../../src/program/permit.ts'
import type { BackendProgram, ListenerProgram, RouteProgram } from '../../src/program/program.ts'
import { HttpListeners } from '../../src/proxy/http-listeners.ts'
import type { RequestReading } from '../../src/proxy/port-plan.ts'
import { type Port, RequestLoop } from '../../src/proxy/request-loop.ts'
import type { RequestState } from '../../src/proxy/request-state.ts'
import { type RequestId, requestIdOf } from '../../src/telemetry/request-id.ts'
import type { Attempt } from '../../src/upstream/cluster.ts'
import { Pool, tcpSocket } from '../../src/upstream/pool.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { RequestNames } from '../../src/wire/http1/request-names.ts'
import { ServerConnection } from '../../src/wire/http1/server-connection.ts'
import type { ServerLimits } from '../../src/wire/http1/server-limits.ts'
import { haveResponses } from './complete-responses.ts'

export interface TestGateway {
  readonly port: number
  readonly runs: readonly RequestState[]
  readonly attempts: readonly Attempt[]
  readonly rejections: readonly string[]
  /** The number of open connections. */
  readonly open: () => number
  readonly close: () => Promise<void>
}

export const LIMITS: ServerLimits = {
  head: 32_768,
  target: 8_192,
  fields: 100,
  idle: 5_000,
  headTimeout: 5_000,
  bodyTimeout: 5_000,
  writeTimeout: 5_000,
  body: Number.POSITIVE_INFINITY,
  lowersNames: false,
  upgrades: new Set(['x', 'chat']),
}

/** The settings of a gateway that forwards the trailers of requests. */
export const FORWARDS_TRAILERS: RequestReading = {
  forwarded: 'Preserve',
  keepsSlashes: false,
  names: new RequestNames({ underscores: 'Auto', forwardsTrailers: true }),
}

/** Starts a gateway with one route to one upstream, on real sockets. */
export async function startGateway(
  upstream: number,
  options: {
    limits?: Partial<ServerLimits>
    steps?: readonly Step[]
    timeout?: number
    route?: Partial<RouteProgram>
  } = {},
): Promise<TestGateway> {
  const deadlines = new Deadlines(20)
  const pool = new Pool(
    tcpSocket('127.0.0.1', upstream),
    { connectTimeout: 1_000, idleTimeout: 5_000, max: 2_000 },
    deadlines,
  )
  const attempts: Attempt[] = []
  const cluster = {
    name: 'test',
    isHealthy: true,
    active: 0,
    choose: () => ({
      pool,
      endpoint: 'test',
      host: '',
      done: (own: Attempt) => attempts.push(own),
    }),
    close: () => pool.close(),
  }
  const steps = options.steps ?? []
  const backend: BackendProgram = {
    name: 'test',
    upstream: { kind: 'cluster', cluster },
    steps: [],
    run: () => undefined,
    readsBody: false,
    requestTimeout: options.timeout ?? 5_000,
    responseIdle: 0,
  }
  const route: RouteProgram = {
    name: 'route',
    rule: 'rule',
    steps,
    run: (exchange) => runSteps(steps, exchange),
    readsBody: false,
    choose: () => backend,
    timeouts: { request: 0, backendRequest: 0, responseIdle: 0 },
    retry: undefined,
    mirrors: [],
    ...options.route,
  }
  const program = {
    gateway: 'test',
    listener: { name: 'http', protocol: 'HTTP', port: 0, policies: [] },
    steps: [],
    match: () => route,
  } as unknown as ListenerProgram
  const runs: RequestState[] = []
  const rejections: string[] = []
  const sockets = new Set<Socket>()
  let ids = 0
  const observer = {
    opened: () => {},
    closed: () => {},
    responding: () => {},
    began: () => {},
    requestRejected: (_: Connection, { word }: { word: string }) => void rejections.push(word),
    finished: (run: RequestState) => void runs.push(run),
  }
  const port: Port = {
    listeners: new HttpListeners([program]),
    observer,
    deadlines,
    maxBody: 1 << 20,
    maxUpload: options.limits?.body ?? Number.POSITIVE_INFINITY,
    trustedHops: 0,
    reading: FORWARDS_TRAILERS,
    nextId: () => requestIdOf(`id-${++ids}`) as RequestId,
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    const address = ipFromSocket(socket.remoteAddress ?? '')
    if (address === undefined) return void socket.destroy()
    const source = new Source(address, socket.remotePort ?? 0)
    const destination = new Destination(address, socket.localPort ?? 0, undefined)
    const connection = new Connection(source, destination, false, undefined, Date.now())
    const loop = new RequestLoop(admitted(connection), port, connection)
    new ServerConnection(socket, { ...LIMITS, ...options.limits }, deadlines, loop)
  })
  const listening = await listen(server)
  return {
    port: listening,
    runs,
    attempts,
    rejections,
    open: () => sockets.size,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      pool.close()
      server.close()
    },
  }
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A server that receives and sends raw bytes. */
export interface RawUpstream {
  readonly port: number
  /** What each connection received, as latin1. */
  readonly received: string[]
  readonly sockets: Set<Socket>
  readonly close: () => void
}

export async function startUpstream(
  onData: (text: string, socket: Socket, all: string) => void,
): Promise<RawUpstream> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const at = received.push('') - 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      received[at] += text
      onData(text, socket, received[at] as string)
    })
  })
  const port = await listen(server)
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { port, received, sockets, close }
}

/** An upstream that responds to every complete head with the same bytes. */
export function startEcho(response: string): Promise<RawUpstream> {
  return startUpstream((text, socket) => {
    const heads = text.split('\r\n\r\n').length - 1
    for (let i = 0; i < heads; i++) socket.write(response, 'latin1')
  })
}

/** Far beyond what any response takes. */
const HANGS_MS = 60_000

/**
 * Sends bytes and collects the response until it contains `until` or the peer closes. The client
 * ends the connection after complete responses, and collects what still comes.
 */
export async function exchange(
  port: number,
  bytes: string | Buffer,
  until?: string | RegExp,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  const sent = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
  const requests = sent.toString('latin1')
  let text = ''
  let isHung = false
  const done = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      text += data.toString('latin1')
      const isThere = typeof until === 'string' ? text.includes(until) : until?.test(text)
      if (isThere) resolve()
      else if (haveResponses(requests, text)) socket.end()
    })
    socket.on('close', () => resolve())
  })
  socket.write(sent)
  const timer = setTimeout(() => {
    isHung = true
    socket.destroy()
  }, HANGS_MS)
  await done
  clearTimeout(timer)
  socket.destroy()
  if (isHung) throw new Error(`the exchange does not end: ${requests} → ${text}`)
  return text
}

/** The permit of a connection to which no rule applies. */
export function admitted(connection: Connection): Permit<'connection'> {
  const permit = Permit.connection([], connection, () => {})
  if (permit === undefined) throw new Error('nobody denied it')
  return permit
}
