import type { Socket } from 'node:net'
import { Connection, type Destination, type Source } from '../exchange/connection.ts'
import { destinationOf, moveSource, sourceOf } from '../exchange/peer.ts'
import type { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import { ServerConnection } from '../wire/http1/server-connection.ts'
import type {
  ConnectionError,
  Http2Count,
  Http2Observer,
  ResetReason,
} from '../wire/http2/limits.ts'
import { type ProxyHeader, readProxyHeader } from '../wire/proxy-protocol/read.ts'
import type { AcceptedSocket, Served } from './accept-deps.ts'
import { acceptTls } from './accept-tls.ts'
import { admit } from './admission.ts'
import type { BoundPort } from './bound-port.ts'
import type { CallOutName } from './call-outs.ts'
import { isAlike, type PortPlan, type ProxyProtocolPlan } from './port-plan.ts'
import { Prelude, type PreludeEnd, type PreludeFound } from './prelude.ts'
import { type RejectionWord, rejectedConnection } from './rejection.ts'
import { type Port, RequestLoop } from './request-loop.ts'
import { CLOSED_BY, type ClosedWord, type Serving, type WireProtocol } from './serving.ts'
import type { StreamTarget } from './stream-types.ts'
import { serveStream } from './tcp.ts'

/** One accepted socket, from its first byte until other code owns it. */
export class DownstreamSocket implements AcceptedSocket, Http2Observer {
  readonly socket: Socket
  /** The stream that its bytes are read from: the socket, or TLS on it. */
  carrier: Socket
  readonly boundPort: BoundPort
  /** The plan whose rules admitted it before anything but a ClientHello was read. */
  admittedBy: PortPlan | undefined = undefined
  /** The permit from those rules. */
  permit: Permit<'connection'> | undefined = undefined
  /** The connection as the rules saw it when they admitted it. */
  admitted: Connection | undefined = undefined
  readonly openedAt = Date.now()
  source: Source | undefined = undefined
  served: Served | undefined = undefined
  /** Why it ends, if more is known than the socket shows. */
  closedBy: ClosedWord | undefined = undefined
  /** The listener that it was admitted to; requests for any other are misdirected. */
  listener: ListenerProgram | undefined = undefined
  slot = -1
  readonly #kind: PortPlan['kind']
  #localAddress = ''
  #localPort = 0
  #addressKey: string | undefined = undefined
  #serving: Serving | undefined = undefined
  #isHttp2 = false
  #received = 0
  #sent = 0
  #isCut = false

  constructor(socket: Socket, boundPort: BoundPort) {
    this.socket = socket
    this.carrier = socket
    this.boundPort = boundPort
    this.#kind = boundPort.plan.kind
    socket.on('close', () => this.#left())
  }

  /** The current plan: rules that change before a client sends its ClientHello apply to it. */
  get plan(): PortPlan {
    return this.boundPort.plan
  }

  start(): void {
    const { socket, plan } = this
    const { enabled, time, interval, retries } = plan.keepalive
    if (enabled) socket.setKeepAlive(true, time, interval, retries)
    this.source = sourceOf(socket.remoteAddress ?? '', socket.remotePort ?? 0)
    this.#localAddress = socket.localAddress ?? ''
    this.#localPort = socket.localPort ?? 0
    // A client that has already disconnected has no addresses.
    if (this.source === undefined || this.#localAddress === '') socket.destroy()
    else if (plan.proxyProtocol !== undefined) this.#readProxyHeader(plan.proxyProtocol)
    else this.#sourced()
  }

  /** Called once the protocol and its server are known. */
  serves(protocol: WireProtocol): void {
    const { listeners } = this.plan
    const listener = this.listener ?? (listeners.length === 1 ? listeners[0] : undefined)
    const gateway = listeners[0]?.gateway ?? ''
    // Requests on one connection may be for several listeners of its gateway.
    const name = listener === undefined ? gateway : `${gateway}/${listener.listener.name}`
    this.#serving = this.boundPort.observer.served?.(name, protocol)
    this.#isHttp2 = protocol === 'http2'
  }

  /** Counts the bytes received and sent since the last call. */
  recordBytes(): void {
    const { bytesRead, bytesWritten } = this.carrier
    this.#serving?.moved(bytesRead - this.#received, bytesWritten - this.#sent)
    this.#received = bytesRead
    this.#sent = bytesWritten
  }

  counted(what: Http2Count): void {
    this.closedBy ??= CLOSED_BY[what]
    this.#serving?.counted(what, this.source)
  }

  failed(error: ConnectionError): void {
    this.#serving?.failed(error, this.source)
  }

  reset(reason: ResetReason): void {
    this.#serving?.reset?.(reason)
  }

  drain(): void {
    this.closedBy ??= 'drain'
    if (this.served === undefined) this.carrier.destroy()
    else this.served.drain()
  }

  /** Drains it, and cuts it off if that takes longer than `grace`. */
  end(grace: number): void {
    this.closedBy ??= 'removed'
    this.drain()
    this.#after(grace, () => this.cut())
  }

  /** Whether the gateway cut it off while something was in progress. */
  get isCut(): boolean {
    return this.#isCut
  }

  cut(): void {
    this.#isCut = true
    this.carrier.destroy()
  }

  /** Something threw, which is a bug: it admits no one, and affects only this connection. */
  broke(callOut: CallOutName, error: unknown): void {
    this.closedBy ??= 'error'
    this.carrier.destroy()
    const { listener, plan } = this
    const gateway = plan.listeners[0]?.gateway
    const connection = this.source && this.connection(false, undefined, undefined)
    const place = { gateway, listener: listener?.listener.name, connection }
    this.boundPort.observer.broke?.(callOut, error, place)
  }

  guard(callOut: CallOutName, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.broke(callOut, error)
    }
  }

  /** Whether this plan could have accepted it in the same way as the previous one. */
  fits(plan: PortPlan): boolean {
    if (plan.kind !== this.#kind) return false
    const { listener } = this
    return listener === undefined || plan.listeners.some((other) => isAlike(other, listener))
  }

  /** Closes the connection without sending a byte. */
  reject(word: RejectionWord, detail: string, connection: Connection | undefined): void {
    this.carrier.destroy()
    const rejection = rejectedConnection(word, detail, this.plan, this.listener, connection)
    this.boundPort.acceptDeps.observer.rejected(rejection)
  }

  /** The target of its bytes; if there is none, closes the connection and reports it. */
  target(listener: ListenerProgram, connection: Connection): StreamTarget | undefined {
    try {
      const target = this.boundPort.acceptDeps.route(listener, connection, [])
      if (typeof target !== 'string') return target
      this.reject('no-route', target, connection)
    } catch (error) {
      this.broke('stream', error)
    }
    return undefined
  }

  connection(isEncrypted: boolean, sni: string | undefined, hostname: string | undefined) {
    const source = this.source as Source
    const local = destinationOf(this.#localAddress, this.#localPort, hostname)
    const destination = local as Destination
    return new Connection(source, destination, isEncrypted, sni, this.openedAt)
  }

  /** Serves HTTP/1.1 or HTTP/2 on a socket that carries HTTP. */
  serveHttp(
    permit: Permit<'connection'>,
    socket: Socket,
    connection: Connection,
    port: Port,
    isHttp2: boolean,
  ): void {
    const { deadlines, http2 } = this.boundPort.acceptDeps
    const closing = (word: ClosedWord) => {
      this.closedBy ??= word
    }
    const loop = new RequestLoop(permit, port, connection, closing, () => this.#isCut)
    this.serves(isHttp2 && http2 !== undefined ? 'http2' : 'http1')
    if (isHttp2 && http2 !== undefined) {
      this.served = http2.serve(socket, loop, this.plan, this)
    } else {
      this.served = new ServerConnection(socket, this.plan.http, deadlines, loop)
      socket.resume()
    }
    const { served } = this
    if (this.plan.longest > 0) this.#after(this.plan.longest, () => served.drain())
  }

  /** The peer is a proxy in front of the client, and sends the client's address. */
  #readProxyHeader({ mode, version }: ProxyProtocolPlan): void {
    const reject = (detail: string) =>
      this.reject('proxy-protocol', detail, this.connection(false, undefined, undefined))
    const read = (bytes: Buffer): PreludeFound | undefined => {
      const header = readProxyHeader(bytes, version)
      if (header === 'more') return undefined
      if (header === 'no-header' && mode === 'Optional')
        return { consumed: 0, next: () => this.#sourced() }
      if (typeof header === 'string') return { consumed: 0, next: () => reject(header) }
      return { consumed: header.length, next: () => this.#moved(header, reject) }
    }
    const { deadlines } = this.boundPort
    const broke = (error: unknown) => this.broke('accept', error)
    new Prelude(this.socket, this.plan.tls.handshakeTimeout, deadlines, read, reject, broke)
  }

  #moved({ peers }: ProxyHeader, reject: (detail: string) => void): void {
    const source = this.source as Source
    if (peers !== undefined && !moveSource(source, peers.source.address, peers.source.port))
      reject('bad-address')
    else this.#sourced()
  }

  /** The true source is known: counts it by address, then admits it if the rules allow. */
  #sourced(): void {
    const { counts } = this.boundPort.acceptDeps
    const key = counts.enterFrom(this.source as Source)
    if (!(key instanceof Promise)) {
      this.#entered(key)
      return
    }
    void key.then((own) => {
      if (!this.socket.destroyed) this.guard('accept', () => this.#entered(own))
      else if (own !== undefined) counts.leaveFrom(own)
    })
  }

  /** `key` identifies its address in the counts; undefined if the limit is exceeded. */
  #entered(key: string | undefined): void {
    const { plan } = this
    const connection = this.connection(false, undefined, undefined)
    this.#addressKey = key
    if (key === undefined) {
      const word = 'connections-per-address'
      this.reject(word, word, connection)
      return
    }
    const { kind, listeners } = plan
    // Only a ClientHello adds information to the source: without one, there is nothing to wait for.
    if (kind !== 'tls' || plan.admitsAtOnce) {
      this.permit = admit(this, connection, listeners)
      if (this.permit === undefined) return
      this.admittedBy = plan
    }
    if (kind !== 'tls') this.admitted = connection
    const { permit } = this
    if (kind === 'tls') acceptTls(this, connection)
    else if (kind === 'closed' || permit === undefined) {
      this.reject('no-route', 'invalid-listener', connection)
    } else if (kind === 'http') this.#plainHttp(permit, connection)
    else {
      this.listener = listeners[0] as ListenerProgram
      const target = this.target(this.listener, connection)
      if (target === undefined) return
      serveStream(permit, this, this.listener, this.socket, connection, target)
    }
  }

  #plainHttp(permit: Permit<'connection'>, connection: Connection): void {
    const { boundPort, socket, plan } = this
    const { http2, deadlines } = boundPort.acceptDeps
    if (http2 === undefined) {
      this.serveHttp(permit, socket, connection, boundPort, false)
      return
    }
    const read = (bytes: Buffer) => {
      const isHttp2 = http2.isPreface(bytes)
      if (isHttp2 === undefined) return undefined
      const next = () => this.serveHttp(permit, socket, connection, boundPort, isHttp2)
      return { consumed: 0, next }
    }
    const gone = (end: PreludeEnd) => {
      if (end === 'timeout') boundPort.acceptDeps.observer.unheard?.()
      socket.destroy()
    }
    const broke = (error: unknown) => this.broke('connection', error)
    new Prelude(socket, plan.http.headTimeout, deadlines, read, gone, broke)
  }

  #after(milliseconds: number, then: () => void): void {
    const { deadlines } = this.boundPort.acceptDeps
    const timed = {
      slot: -1,
      deadline: performance.now() + milliseconds,
      expire: () => {
        deadlines.remove(timed)
        then()
      },
    }
    deadlines.add(timed)
    this.socket.on('close', () => deadlines.remove(timed))
  }

  #left(): void {
    if (this.#addressKey !== undefined) this.boundPort.acceptDeps.counts.leaveFrom(this.#addressKey)
    this.boundPort.left(this)
    this.guard('telemetry', () => {
      // The side that closes first ended it: the client, or the gateway when it is done.
      const isClients = this.carrier.readableEnded || this.carrier.errored !== null
      this.recordBytes()
      const report = () =>
        this.#serving?.closed(this.closedBy ?? (isClients ? 'client' : 'finished'))
      // HTTP/2 reports a moment later why it closed.
      if (this.#isHttp2) setImmediate(() => this.guard('telemetry', report))
      else report()
    })
  }
}
