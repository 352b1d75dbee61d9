import { constants, createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  createSecureContext,
  createServer,
  DEFAULT_CIPHERS,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'
import type { ClientCertificate } from '../../exchange/connection.ts'
import type { Deadlines, Timed } from '../deadlines.ts'
import { stopReadingInto } from '../user-buffer.ts'
import { certificateNames, NameTable } from './certificate-names.ts'
import { cipherList } from './cipher-names.ts'
import { clientCertificate } from './client-certificate.ts'
import { type HandshakeFailure, handshakeFailure } from './handshake-failure.ts'
import type { TicketKeys } from './ticket-keys.ts'

export interface TerminatorOptions {
  /**
   * PEM; the first one is for clients that send no server name, or one that matches no certificate.
   */
  readonly certificates: readonly { readonly cert: string; readonly key: string }[]
  /** CAs for client certificates; undefined: no certificate is requested. */
  readonly clients:
    | {
        readonly ca: string
        readonly mode: 'Require' | 'Optional'
        /** With `Optional`: an invalid certificate is treated as none. */
        readonly ignoresInvalid?: true
      }
    | undefined
  /** Empty: no protocol is negotiated, whatever the client offers. */
  readonly alpn: readonly string[]
  readonly minVersion: '1.2' | '1.3' | undefined
  readonly maxVersion: '1.2' | '1.3' | undefined
  readonly cipherSuites: readonly string[] | undefined
  readonly keyExchangeGroups: readonly string[] | undefined
}

/** The result of a handshake. */
export interface Secured {
  readonly version: string
  readonly cipher: string
  /** Empty if none was negotiated. */
  readonly protocol: string
  readonly isResumed: boolean
  /** A verified certificate, or undefined. */
  readonly certificate: ClientCertificate | undefined
  readonly milliseconds: number
}

export interface TerminationEvents {
  /** The socket has no listeners except for errors. From now on, it is the one to destroy. */
  secured(socket: TLSSocket, secured: Secured): void
  failed(reason: HandshakeFailure, milliseconds: number): void
  /** The gateway's own code threw during the handshake; the socket is closed. */
  broke(error: unknown): void
}

/** Terminates TLS on accepted sockets with the same options. */
export class Terminator {
  readonly #server: Server
  readonly #tickets: TicketKeys
  readonly #scope: string
  readonly #requestsCertificates: boolean
  readonly #isRequired: boolean
  readonly #ignoresInvalid: boolean
  #epoch = Number.NaN

  /** Throws if certificates, keys or names of suites are invalid. */
  constructor(options: TerminatorOptions, tickets: TicketKeys) {
    const { certificates, clients, alpn } = options
    const [first, ...others] = certificates.map((own) => contextOptions(options, own))
    if (first === undefined) throw new Error('no certificate')
    const table = tableOf(certificates)
    const contexts = others.map((own) => createSecureContext(own))
    this.#tickets = tickets
    this.#scope = scopeOf(options)
    this.#requestsCertificates = clients !== undefined
    this.#isRequired = clients?.mode === 'Require'
    this.#ignoresInvalid = clients?.mode === 'Optional' && clients.ignoresInvalid === true
    this.#server = createServer({
      ...first,
      ...(alpn.length > 0 ? { ALPNProtocols: [...alpn] } : {}),
      requestCert: this.#requestsCertificates,
      rejectUnauthorized: this.#isRequired,
      // A ticket of a listener that requests no certificate must not be valid on one that does.
      sessionIdContext: this.#scope,
      // The server has the context of the first certificate itself. An SNI callback interrupts each
      // handshake, so it is set only if there are further certificates.
      ...(contexts.length > 0 ? { SNICallback: chooseFrom(table, contexts) } : {}),
    })
    this.#server.on('secureConnection', (socket) => this.#secured(socket))
    this.#server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // If a certificate is required, Node detects an invalid one itself, and only closes the
      // socket.
      const isBad = Boolean(socket.authorizationError)
      const reason = isBad ? 'client-certificate-invalid' : handshakeFailure(error.code)
      const handshake = handshakeOf(socket)
      socket.on('close', release)
      if (error instanceof OwnError) handshake?.break(error.cause, socket)
      else handshake?.fail(reason, socket)
    })
  }

  /** Bytes that were already read must be put back first. */
  secure(socket: Socket, timeout: number, deadlines: Deadlines, events: TerminationEvents): void {
    const epoch = this.#tickets.epoch(Date.now())
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      this.#server.setTicketKeys(this.#tickets.key(this.#scope, epoch))
    }
    // A client that closes its side during a handshake is gone.
    socket.allowHalfOpen = false
    socket.on('close', release)
    new Handshake(socket, timeout, deadlines, events)
    this.#server.emit('connection', socket)
  }

  #secured(socket: TLSSocket): void {
    const handshake = handshakeOf(socket)
    if (handshake === undefined) {
      socket.destroy()
      return
    }
    socket.on('error', ignore)
    socket.on('close', release)
    const shown = this.#requestsCertificates ? socket.getPeerX509Certificate() : undefined
    const own = this.#ignoresInvalid && !socket.authorized ? undefined : shown
    // If a certificate is optional, an invalid one is still rejected unless configured otherwise.
    if (own !== undefined && !socket.authorized)
      handshake.fail('client-certificate-invalid', socket)
    else if (own === undefined && this.#isRequired)
      handshake.fail('client-certificate-missing', socket)
    else handshake.succeed(socket, own === undefined ? undefined : clientCertificate(own))
  }
}

type ChooseContext = NonNullable<TlsOptions['SNICallback']>

/** An error of the gateway, not of the client. */
class OwnError extends Error {}

/** A handshake in progress. */
class Handshake implements Timed {
  deadline: number
  slot = -1
  readonly #startedAt = performance.now()
  readonly #socket: Socket
  readonly #deadlines: Deadlines
  readonly #events: TerminationEvents
  #isOver = false

  constructor(socket: Socket, timeout: number, deadlines: Deadlines, events: TerminationEvents) {
    this.#socket = socket
    this.#deadlines = deadlines
    this.#events = events
    this.deadline = this.#startedAt + timeout
    deadlines.add(this)
    const begun = socket as Begun
    begun[HANDSHAKE] = this
    socket.on('close', this.#closed)
  }

  expire(): void {
    this.fail('timeout')
  }

  /**
   * Inside a TLS callback, the TLS socket must be destroyed, not the one below: Node would crash.
   */
  fail(reason: HandshakeFailure, socket: Socket = this.#socket): void {
    if (this.#isOver) return
    const milliseconds = this.#end()
    socket.destroy()
    this.#events.failed(reason, milliseconds)
  }

  break(error: unknown, socket: Socket): void {
    if (this.#isOver) return
    this.#end()
    socket.destroy()
    this.#events.broke(error)
  }

  succeed(socket: TLSSocket, certificate: ClientCertificate | undefined): void {
    if (this.#isOver) return
    const milliseconds = this.#end()
    socket.allowHalfOpen = true
    this.#events.secured(socket, {
      version: socket.getProtocol() ?? '',
      cipher: socket.getCipher().standardName,
      protocol: socket.alpnProtocol || '',
      isResumed: socket.isSessionReused(),
      certificate,
      milliseconds,
    })
  }

  /** Deferred, since an event with the reason may follow. */
  readonly #closed = (): void => {
    setImmediate(() => this.fail('reset'))
  }

  #end(): number {
    this.#isOver = true
    this.#deadlines.remove(this)
    this.#socket.off('close', this.#closed)
    const begun = this.#socket as Begun
    begun[HANDSHAKE] = undefined
    return performance.now() - this.#startedAt
  }
}

/** Stored on the socket below TLS: the table of a WeakMap in old space would hold all of them. */
const HANDSHAKE = Symbol('handshake')

interface Begun {
  [HANDSHAKE]?: Handshake | undefined
}

/** A TLS socket as Node creates it: it refers to the socket below. */
interface Layered {
  _parent?: Begun | undefined
}

function handshakeOf(socket: TLSSocket): Handshake | undefined {
  return (socket as Layered)._parent?.[HANDSHAKE]
}

/**
 * Releases everything that belongs to a closed connection. Node gives the handle below a getter
 * that refers to the TLS socket, and V8 allocates getters in old space: with its listeners, the
 * socket would retain the whole connection, including the request, until a full collection.
 */
function release(this: Socket & Layered): void {
  this.removeAllListeners()
  this.on('error', ignore)
  stopReadingInto(this)
  this._parent = undefined
}

/**
 * Node's defaults, except that for TLS 1.3 the suite with SHA-256 is preferred: processors have
 * instructions for it, and none for SHA-384, which each handshake computes some ten times.
 */
const USUAL_CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...DEFAULT_CIPHERS.split(':').filter((name) => !name.startsWith('TLS_')),
].join(':')

function contextOptions(
  options: TerminatorOptions,
  { cert, key }: TerminatorOptions['certificates'][number],
): SecureContextOptions {
  const { clients, minVersion = '1.2', maxVersion = '1.3' } = options
  const { cipherSuites, keyExchangeGroups } = options
  return {
    cert,
    key,
    minVersion: `TLSv${minVersion}`,
    maxVersion: `TLSv${maxVersion}`,
    honorCipherOrder: true,
    // A client could make the gateway compute handshakes, or mix bytes of two of them.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(clients === undefined ? {} : { ca: certificatesIn(clients.ca) }),
    ciphers: cipherSuites === undefined ? USUAL_CIPHERS : cipherList(cipherSuites),
    ...(keyExchangeGroups === undefined ? {} : { ecdhCurve: keyExchangeGroups.join(':') }),
  }
}

/** Parses each certificate separately, so that invalid ones are detected. */
function certificatesIn(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new Error('no CA certificate')
  for (const one of found) new X509Certificate(one)
  return [...found]
}

/** Maps names to certificates. */
function tableOf(certificates: TerminatorOptions['certificates']): NameTable<number> {
  const table = new NameTable<number>()
  for (const [at, { cert, key }] of certificates.entries()) {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key does not match the certificate')
    table.add(certificateNames(cert), at)
  }
  return table
}

/** `contexts`: those of all certificates except the first. */
function chooseFrom(table: NameTable<number>, contexts: readonly SecureContext[]): ChooseContext {
  return (name, done) => {
    try {
      done(null, contexts[(table.find(name.toLowerCase()) ?? 0) - 1])
    } catch (error) {
      done(new OwnError('no certificate could be selected', { cause: error }))
    }
  }
}

/** Excludes the certificates: tickets stay valid when one is renewed. */
function scopeOf({ certificates: _, ...rest }: TerminatorOptions): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 32)
}

function ignore(): void {}
