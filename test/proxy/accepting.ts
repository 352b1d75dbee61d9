import { connect } from 'node:net'
import type { Connection } from '../../src/exchange/connection.ts'
import type { Decision } from '../../src/exchange/decision.ts'
import type { Listener, TerminatedTls } from '../../src/model/gateway.ts'
import type { Model } from '../../src/model/model.ts'
import type { ValidPolicy } from '../../src/model/policy.ts'
import { sealSecret } from '../../src/policies/schema.ts'
import type {
  ListenerProgram,
  NetworkDecision,
  Program,
  RouteProgram,
} from '../../src/program/program.ts'
import type { AcceptDeps, AcceptObserver } from '../../src/proxy/accept-deps.ts'
import { ConnectionCounts } from '../../src/proxy/connection-counts.ts'
import { http2Sessions } from '../../src/proxy/http2.ts'
import { Listeners } from '../../src/proxy/listen.ts'
import type { RequestState } from '../../src/proxy/request-state.ts'
import type { Streamed, StreamRouter, StreamTarget } from '../../src/proxy/stream-types.ts'
import { type RequestId, requestIdOf } from '../../src/telemetry/request-id.ts'
import { Pool, tcpSocket } from '../../src/upstream/pool.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { Terminators } from '../../src/wire/tls/terminators.ts'
import { TicketKeys } from '../../src/wire/tls/ticket-keys.ts'
import type { KeyPair } from '../tls/certificates.ts'
import { startUpstream } from './harness.ts'

export { freePort as free } from '../free-port.ts'

/** A decision made by a function, in place of the rules of a policy. */
export function networkDecision(
  accepts: (connection: Connection) => boolean,
  reads: Partial<NetworkDecision> = {},
): NetworkDecision {
  const denied: Decision = {
    stage: 'connection',
    isAllowed: false,
    isEnforced: true,
    cause: 'matched',
    rule: undefined,
    failure: undefined,
    nearest: undefined,
    search: undefined,
    audited: undefined,
    invalid: undefined,
    provider: undefined,
    isSkipped: false,
    attributes: [],
  }
  return {
    readsHostname: false,
    readsCertificate: false,
    decide: (connection) => (accepts(connection) ? undefined : denied),
    admittedBy: () => undefined,
    *explain() {
      yield
      return []
    },
    ...reads,
  }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'

export interface AcceptingPortOptions {
  readonly route?: StreamRouter
  readonly hasHttp2?: boolean
  readonly connections?: number
  readonly connectionsPerAddress?: number
  readonly grace?: number
  readonly counts?: ConnectionCounts
}

/**
 * Starts ports for any Program, with an upstream that says hello, and records everything seen
 * there.
 */
export async function acceptingPort(options: AcceptingPortOptions = {}) {
  const deadlines = new Deadlines(20)
  const { connections: max = 10_000, connectionsPerAddress = 10_000 } = options
  const counts = options.counts ?? new ConnectionCounts({ connections: max, connectionsPerAddress })
  const seen: string[] = []
  const connections: Connection[] = []
  const runs: RequestState[] = []
  const streams: Streamed[] = []
  let held: Promise<void> | undefined
  let asked: (() => void) | undefined
  const upstream = await startUpstream(async (text, socket) => {
    const heads = text.split('\r\n\r\n').length - 1
    asked?.()
    await held
    for (let i = 0; i < heads; i++) socket.write(OK, 'latin1')
  })
  const observer: AcceptObserver = {
    opened: (connection) => void connections.push(connection),
    closed: () => {},
    requestRejected: (_, { word }) => void seen.push(`refused ${word}`),
    responding: () => {},
    began: () => {},
    finished: (run) => void runs.push(run),
    rejected: ({ word, detail }) => void seen.push(`rejected ${word} ${detail}`),
    streamed: (_, __, streamed) => {
      streams.push(streamed)
      seen.push(`streamed ${streamed.reason}`)
    },
    secured: () => void seen.push('secured'),
    unsecured: (_, __, reason) => void seen.push(`unsecured ${reason}`),
  }
  let ids = 0
  const acceptDeps: AcceptDeps = {
    deadlines,
    counts,
    terminators: new Terminators(new TicketKeys()),
    route: options.route ?? (() => 'no-route'),
    observer,
    nextId: () => requestIdOf(`id-${++ids}`) as RequestId,
    http2: options.hasHttp2 === true ? http2Sessions(deadlines) : undefined,
  }
  const listeners = new Listeners(acceptDeps, {
    host: '::',
    backlog: 511,
    reusePort: false,
    grace: options.grace ?? 500,
  })
  /** Delays responses until the returned function is called. */
  const hold = () => {
    const wait = Promise.withResolvers<void>()
    const request = Promise.withResolvers<void>()
    held = wait.promise
    asked = request.resolve
    return Object.assign(() => wait.resolve(), { asked: request.promise })
  }
  const close = async () => {
    await listeners.drain(0)
    upstream.close()
  }
  return { listeners, upstream, hold, seen, connections, runs, streams, counts, close }
}

/** Routes streams to ports of this machine: each attempt goes to the next port. */
export function streamTo(...ports: readonly number[]): StreamRouter {
  return (_, __, tried) => {
    const port = ports[tried.length]
    if (port === undefined) return 'no-endpoint'
    const dial: StreamTarget['dial'] = (_permit, events) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      const failed = () => events.failed('connect-refused', '')
      socket.once('error', failed)
      socket.once('connect', () => {
        socket.off('error', failed)
        events.opened(socket, '')
      })
      return { cancel: () => void socket.destroy() }
    }
    return { backend: 'test', endpoint: `127.0.0.1:${port}`, dial, done: () => {} }
  }
}

/** The `tls` of a listener that terminates TLS with this certificate. */
export function terminated({ cert, key }: KeyPair, clients?: { ca: string }): TerminatedTls {
  return {
    mode: 'Terminate',
    certificates: [{ cert: { text: cert }, key: sealSecret(key) }],
    ...(clients === undefined ? {} : { clients: { ca: { text: clients.ca }, mode: 'Require' } }),
  }
}

export const PLACE = {
  kind: 'part',
  file: 'gateway.yaml',
  part: 'frontendPolicies',
  field: '',
} as const

export function programOf(listeners: readonly ListenerProgram[]): Program {
  const model = { gateways: [], frontend: [] } as unknown as Model
  return { model, listeners, diagnostics: [], clusters: new Map(), state: new Map() }
}

export function frontendPolicy(kind: string, value: unknown): ValidPolicy {
  const place = { section: 'frontend', level: 'frontend', policy: 'p', origin: PLACE } as const
  return { state: 'valid', kind, value, ...place }
}

interface ListenerRest {
  readonly frontend?: readonly ValidPolicy[]
  readonly network?: NetworkDecision
}

export function httpListener(
  port: number,
  upstream: { readonly port: number },
  listener: Partial<Listener> = {},
  rest: ListenerRest = {},
): ListenerProgram {
  const pool = new Pool(
    tcpSocket('127.0.0.1', upstream.port),
    { connectTimeout: 1_000, idleTimeout: 5_000, max: 2_000 },
    new Deadlines(20),
  )
  const cluster = {
    name: 'test',
    isHealthy: true,
    active: 0,
    choose: () => ({ pool, endpoint: 'test', host: '', done: () => {} }),
    close: () => pool.close(),
  }
  const run = () => undefined
  const reached = { kind: 'cluster', cluster } as const
  const backend = {
    name: 'test',
    upstream: reached,
    steps: [],
    run,
    readsBody: false,
    requestTimeout: 0,
    responseIdle: 0,
  }
  const route: RouteProgram = {
    name: 'route',
    rule: 'rule',
    steps: [],
    run,
    readsBody: false,
    choose: () => backend,
    timeouts: { request: 0, backendRequest: 5_000, responseIdle: 0 },
    retry: undefined,
    mirrors: [],
  }
  const name = listener.hostname ?? 'http'
  const base = { name, protocol: 'HTTP', port, policies: [], origin: PLACE } as const
  return {
    gateway: 'gateway',
    listener: { ...base, ...listener } as Listener,
    frontend: rest.frontend ?? [],
    network: rest.network,
    match: () => route,
  }
}
