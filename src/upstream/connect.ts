import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { KeepaliveSettings } from '../model/settings.ts'
import { connectLending } from '../wire/lent-reads.ts'
import { type Address, isLocal } from './addresses.ts'
import type { Handshake } from './backend-tls.ts'
import { type ConnectFailure, connectFailure, handshakeFailure } from './connect-failure.ts'
import type { Resolution } from './dns.ts'

/** Where to connect to. */
export type Destination =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export interface DialOptions {
  /** Covers name resolution, connect and handshake. */
  readonly timeout: number
  readonly keepalive: KeepaliveSettings
  /** Undefined: plaintext. A failure: TLS cannot be used. */
  readonly tls: Handshake | ConnectFailure | undefined
  /** Rejects loopback, link-local and cloud metadata addresses. */
  readonly rejectsLocal: boolean
  readonly resolve: (host: string) => Resolution | Promise<Resolution>
}

export interface DialEvents {
  /** The socket has no listeners yet. `protocol` is the ALPN result, or empty. */
  opened(socket: Socket, protocol: string): void
  failed(reason: ConnectFailure, detail: string): void
}

/** A connection attempt in progress. */
export interface Dialing {
  /** No event follows. */
  cancel(): void
}

/**
 * Opens one more connection to the same destination. Never calls back before it returns. With
 * `lent`, its bytes may arrive through `lentReadsOf` instead of events.
 */
export type Dial = (events: DialEvents, reads?: 'lent') => Dialing

/** RFC 8305 §5. */
const CONNECTION_ATTEMPT_DELAY = 250

/**
 * Connections to one destination share TLS sessions: the last session is offered to the next one.
 */
export function dialer(destination: Destination, options: DialOptions): Dial {
  const sessions: Sessions = { last: undefined }
  return (events, reads) => {
    const isLending = reads === 'lent' && options.tls === undefined
    const attempt = new Attempt(options, sessions, events, isLending ? connectLending : connect)
    attempt.start(destination)
    return attempt
  }
}

interface Sessions {
  last: Buffer | undefined
}

class Attempt implements Dialing {
  readonly #options: DialOptions
  readonly #sessions: Sessions
  readonly #events: DialEvents
  readonly #connect: (options: NetConnectOpts) => Socket
  readonly #deadline: NodeJS.Timeout
  readonly #racing = new Set<Socket>()
  #addresses: readonly Address[] = []
  #port = 0
  #next = 0
  #stagger: NodeJS.Timeout | undefined = undefined
  #isOver = false
  #failure: ConnectFailure = 'connect-error'
  #detail = ''

  constructor(
    options: DialOptions,
    sessions: Sessions,
    events: DialEvents,
    connectTo: (options: NetConnectOpts) => Socket,
  ) {
    this.#options = options
    this.#connect = connectTo
    this.#sessions = sessions
    this.#events = events
    this.#deadline = setTimeout(
      () => this.#fail('connect-timeout', `no connection within ${options.timeout} ms`),
      options.timeout,
    )
  }

  start(destination: Destination): void {
    if (destination.kind === 'unix') {
      this.#try(this.#connect({ path: destination.path, allowHalfOpen: true }), destination.path)
      return
    }
    this.#port = destination.port
    const resolution = this.#options.resolve(destination.host)
    const use = (found: Resolution) => this.#race(destination.host, found)
    if (resolution instanceof Promise) resolution.then(use)
    // The caller must receive the handle to cancel before the outcome is reported.
    else if (typeof resolution === 'string') process.nextTick(use, resolution)
    else use(resolution)
  }

  cancel(): void {
    this.#isOver = true
    clearTimeout(this.#deadline)
    clearTimeout(this.#stagger)
    for (const socket of this.#racing) discard(socket)
    this.#racing.clear()
  }

  #race(host: string, resolution: Resolution): void {
    if (this.#isOver) return
    if (typeof resolution === 'string') {
      this.#fail(resolution, `no address for ${host}`)
      return
    }
    const { rejectsLocal } = this.#options
    this.#addresses = rejectsLocal ? resolution.filter((one) => !isLocal(one)) : resolution
    if (this.#addresses.length > 0) this.#tryNext()
    else process.nextTick(() => this.#fail('forbidden-address', `${host} resolves to this machine`))
  }

  /** Tries the next address, and the one after it if this one takes too long. */
  #tryNext(): void {
    clearTimeout(this.#stagger)
    const next = this.#addresses[this.#next++]
    if (next === undefined) return
    const { address, family } = next
    const options = { host: address, port: this.#port, family, noDelay: true, allowHalfOpen: true }
    this.#try(this.#connect(options), `${address} port ${this.#port}`)
    if (this.#next === this.#addresses.length) return
    this.#stagger = setTimeout(() => this.#tryNext(), CONNECTION_ATTEMPT_DELAY)
  }

  #try(socket: Socket, where: string): void {
    this.#racing.add(socket)
    const onError = (error: NodeJS.ErrnoException) => {
      this.#racing.delete(socket)
      discard(socket)
      this.#failure = connectFailure(error)
      this.#detail = `${where}: ${error.message}`
      if (this.#next < this.#addresses.length) this.#tryNext()
      else if (this.#racing.size === 0) this.#fail(this.#failure, this.#detail)
    }
    socket.once('error', onError)
    socket.once('connect', () => {
      socket.off('error', onError)
      this.#onConnect(socket)
    })
  }

  #onConnect(socket: Socket): void {
    clearTimeout(this.#stagger)
    this.#racing.delete(socket)
    for (const loser of this.#racing) discard(loser)
    this.#racing.clear()
    const { enabled, time, interval, retries } = this.#options.keepalive
    if (enabled) socket.setKeepAlive(true, time, interval, retries)
    const { tls } = this.#options
    if (tls === undefined) this.#open(socket, '')
    else if (typeof tls === 'string') this.#reject(socket, tls)
    else this.#handshake(socket, tls)
  }

  #reject(socket: Socket, failure: ConnectFailure): void {
    discard(socket)
    this.#fail(failure, 'cannot read the key or a certificate')
  }

  #handshake(raw: Socket, tls: Handshake): void {
    const sessions = this.#sessions
    const { last } = sessions
    const socket = tlsConnect({ ...tls, socket: raw, ...(last && { session: last }) })
    raw.on('error', ignore)
    this.#racing.add(socket)
    socket.on('session', (session) => {
      sessions.last = session
    })
    const onError = (error: NodeJS.ErrnoException) => {
      sessions.last = undefined
      this.#racing.delete(socket)
      discard(socket)
      this.#fail(handshakeFailure(error), error.message)
    }
    const onClose = () => onError(new Error('connection closed during the handshake'))
    socket.once('error', onError)
    socket.once('close', onClose)
    socket.once('secureConnect', () => {
      this.#racing.delete(socket)
      socket.off('error', onError)
      socket.off('close', onClose)
      this.#settle(socket, tls)
    })
  }

  /**
   * RFC 7301 §3.2: a server may ignore ALPN, but must not choose a protocol that was not offered.
   */
  #settle(socket: TLSSocket, { ALPNProtocols }: Handshake): void {
    const protocol = socket.alpnProtocol === false ? '' : (socket.alpnProtocol ?? '')
    const isOffered = Array.isArray(ALPNProtocols) && ALPNProtocols.includes(protocol)
    if (protocol === '' || isOffered) this.#open(socket, protocol)
    else {
      discard(socket)
      this.#fail('alpn', `the server chose ${protocol}`)
    }
  }

  #open(socket: Socket, protocol: string): void {
    clearTimeout(this.#deadline)
    this.#isOver = true
    this.#events.opened(socket, protocol)
  }

  #fail(reason: ConnectFailure, detail: string): void {
    if (this.#isOver) return
    this.cancel()
    this.#events.failed(reason, detail)
  }
}

/** Destroys a socket. Later errors are ignored: without a listener, an error ends the process. */
function discard(socket: Socket): void {
  socket.removeAllListeners()
  socket.on('error', ignore)
  socket.destroy()
}

function ignore(): void {}
