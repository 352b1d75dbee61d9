import type { Socket } from 'node:net'
import type { Connection } from '../exchange/connection.ts'
import type { Decision } from '../exchange/decision.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { DownstreamEvents } from '../wire/downstream.ts'
import type { Http2Observer } from '../wire/http2/limits.ts'
import type { Terminators } from '../wire/tls/terminators.ts'
import type { TlsObserver } from './accept-tls.ts'
import type { ConnectionCounts } from './connection-counts.ts'
import type { Load } from './load.ts'
import type { Observer } from './port.ts'
import type { PortPlan } from './port-plan.ts'
import type { Rejection } from './rejection.ts'
import type { Serving, WireProtocol } from './serving.ts'
import type { Streamed, StreamRouter } from './tcp.ts'

export interface AcceptObserver extends Observer, TlsObserver {
  /** A connection is served from now on. */
  served?(listener: string, protocol: WireProtocol): Serving
  rejected(rejection: Rejection): void
  /** Network authorization decided something that is worth telling. */
  decided?(connection: Connection, listener: ListenerProgram, decision: Decision): void
  streamed(connection: Connection, listener: ListenerProgram, streamed: Streamed): void
}

/** Something that serves a connection and can be asked to come to an end. */
export interface Served {
  /** Closes as soon as nothing is under way. */
  drain(): void
}

/** HTTP/2 on a socket, after ALPN chose it or a client began with its preface. */
export interface Http2 {
  /** Undefined: more bytes are needed to tell. */
  isPreface(bytes: Buffer): boolean | undefined
  serve(socket: Socket, events: DownstreamEvents, plan: PortPlan, observer: Http2Observer): Served
}

/** What all ports share. */
export interface AcceptDeps {
  readonly deadlines: Deadlines
  readonly counts: ConnectionCounts
  readonly route: StreamRouter
  readonly observer: AcceptObserver
  readonly nextId: () => string
  readonly terminators: Terminators
  readonly load?: Load
  /** Without it HTTP/2 is not offered. */
  readonly http2: Http2 | undefined
}
