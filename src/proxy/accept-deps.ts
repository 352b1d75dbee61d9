import type { Socket } from 'node:net'
import type { Connection } from '../exchange/connection.ts'
import type { Decision } from '../exchange/decision.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { DownstreamEvents } from '../wire/downstream.ts'
import type { Http2Observer } from '../wire/http2/limits.ts'
import type { HandshakeFailure } from '../wire/tls/handshake-failure.ts'
import type { Secured } from '../wire/tls/terminate.ts'
import type { Terminators } from '../wire/tls/terminators.ts'
import type { CallOutName } from './call-outs.ts'
import type { ConnectionCounts } from './connection-counts.ts'
import type { Load } from './load.ts'
import type { Observer } from './port.ts'
import type { PortPlan } from './port-plan.ts'
import type { RejectedConnection, RejectionWord } from './rejection.ts'
import type { ClosedWord, Serving, WireProtocol } from './serving.ts'
import type { Streamed, StreamRouter } from './stream-types.ts'

interface TlsObserver {
  secured(connection: Connection, listener: ListenerProgram, secured: Secured): void
  /**
   * Without a listener if not even a ClientHello arrived. `id`: what the client receives, if it gets
   * a response.
   */
  unsecured(
    connection: Connection,
    listener: ListenerProgram | undefined,
    reason: HandshakeFailure,
    milliseconds: number,
    id?: string,
  ): void
}

export interface AcceptObserver extends Observer, TlsObserver {
  /** Called when the gateway begins to serve a connection. */
  served?(listener: string, protocol: WireProtocol): Serving
  rejected(rejection: RejectedConnection): void
  /** A client sent nothing that tells its protocol in time. */
  unheard?(): void
  /** Called when network authorization made a decision that is worth recording. */
  decided?(connection: Connection, listener: ListenerProgram, decision: Decision): void
  streamed(connection: Connection, listener: ListenerProgram, streamed: Streamed): void
}

/** Something that serves a connection and can be drained. */
export interface Served {
  /** Closes the connection as soon as nothing is in progress. */
  drain(): void
}

/** HTTP/2 on a socket, after ALPN selected it or a client sent its preface. */
export interface Http2 {
  /** Undefined if more bytes are needed. */
  isPreface(bytes: Buffer): boolean | undefined
  serve(socket: Socket, events: DownstreamEvents, plan: PortPlan, observer: Http2Observer): Served
}

/** An accepted socket, for code that admits it or forwards its bytes. */
export interface AcceptedSocket {
  readonly boundPort: {
    readonly acceptDeps: AcceptDeps
    readonly deadlines: Deadlines
    readonly observer: AcceptObserver
  }
  readonly plan: PortPlan
  /** The stream that its bytes are read from: the socket, or TLS on it. */
  readonly carrier: Socket
  /** The connection as the rules saw it when they admitted it. */
  readonly admitted: Connection | undefined
  readonly listener: ListenerProgram | undefined
  readonly isCut: boolean
  served: Served | undefined
  closedBy: ClosedWord | undefined
  fits(plan: PortPlan): boolean
  end(grace: number): void
  reject(word: RejectionWord, detail: string, connection: Connection | undefined): void
  serves(protocol: WireProtocol): void
  guard(callOut: CallOutName, work: () => void): void
  broke(callOut: CallOutName, error: unknown): void
}

/** Shared by all ports. */
export interface AcceptDeps {
  readonly deadlines: Deadlines
  readonly counts: ConnectionCounts
  readonly route: StreamRouter
  readonly observer: AcceptObserver
  readonly nextId: () => RequestId
  readonly terminators: Terminators
  readonly load?: Load
  /** If undefined, HTTP/2 is not offered. */
  readonly http2: Http2 | undefined
}
