import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
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
  /** PEM; the first one is for whoever asks for no name, or for one that none of them has. */
  readonly certificates: readonly { readonly cert: string; readonly key: string }[]
  /** Authorities of client certificates; undefined: clients are not asked for any. */
  readonly clients:
    | {
        readonly ca: string
        readonly mode: 'Require' | 'Optional'
        /** With `Optional`: one that is not valid is as good as none. */
        readonly ignoresInvalid?: true
      }
    | undefined
  /** None: whatever the client offers, nothing is chosen. */
  readonly alpn: readonly string[]
  readonly minVersion: '1.2' | '1.3' | undefined
  readonly maxVersion: '1.2' | '1.3' | undefined
  readonly cipherSuites: readonly string[] | undefined
  readonly keyExchangeGroups: readonly string[] | undefined
}

/** What a handshake came to. */
export interface Secured {
  readonly version: string
  readonly cipher: string
  /** Empty where none was chosen. */
  readonly protocol: string
  readonly isResumed: boolean
  /** One that was verified, or none at all. */
  readonly certificate: ClientCertificate | undefined
  readonly milliseconds: number
}

export interface TerminationEvents {
  /** Nothing listens to it yet but for errors. From now on it is what has to be destroyed. */
  secured(socket: TLSSocket, secured: Secured): void
  failed(reason: HandshakeFailure, milliseconds: number): void
  /** Something of ours threw in the middle of it; it is closed. */
  broke(error: unknown): void
}

/** Ends TLS on sockets that somebody else accepted, all in the same way. */
export class Terminator {
  readonly #server: Server
  readonly #tickets: TicketKeys
  readonly #scope: string
  readonly #asksForCertificates: boolean
  readonly #isRequired: boolean
  readonly #ignoresInvalid: boolean
  #epoch = Number.NaN

  /** Throws where certificates, keys or names of suites are not what they should be. */
  constructor(options: TerminatorOptions, tickets: TicketKeys) {
    const { certificates, clients, alpn } = options
    const [first, ...others] = certificates.map((own) => contextOptions(options, own))
    if (first === undefined) throw new Error('no certificate')
    const table = tableOf(certificates)
    const contexts = others.map((own) => createSecureContext(own))
    this.#tickets = tickets
    this.#scope = scopeOf(options)
    this.#asksForCertificates = clients !== undefined
    this.#isRequired = clients?.mode === 'Require'
    this.#ignoresInvalid = clients?.mode === 'Optional' && clients.ignoresInvalid === true
    this.#server = createServer({
      ...first,
      ...(alpn.length > 0 ? { ALPNProtocols: [...alpn] } : {}),
      requestCert: this.#asksForCertificates,
      rejectUnauthorized: this.#isRequired,
      // A ticket of a listener that asks for no certificate is no way into one that does.
      sessionIdContext: this.#scope,
      // The server has the context of the first certificate itself. To be asked for another one, TLS
      // stops in the middle of each handshake and begins again.
      ...(contexts.length > 0 ? { SNICallback: chooseFrom(table, contexts) } : {}),
    })
    this.#server.on('secureConnection', (socket) => this.#secured(socket))
    this.#server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // Where a certificate is required, a bad one is noticed below, and only closes the socket.
      const isBad = Boolean(socket.authorizationError)
      const reason = isBad ? 'client-certificate-invalid' : handshakeFailure(error.code)
      const handshake = handshakeOf(socket)
      socket.on('close', release)
      if (error instanceof OwnError) handshake?.break(error.cause, socket)
      else handshake?.fail(reason, socket)
    })
  }

  /** Bytes that were read of it already are to be put back before. */
  secure(socket: Socket, timeout: number, deadlines: Deadlines, events: TerminationEvents): void {
    const epoch = this.#tickets.epoch(Date.now())
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      this.#server.setTicketKeys(this.#tickets.key(this.#scope, epoch))
    }
    // A client that has nothing more to say in the middle of a handshake is gone.
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
    const shown = this.#asksForCertificates ? socket.getPeerX509Certificate() : undefined
    const own = this.#ignoresInvalid && !socket.authorized ? undefined : shown
    // Where a certificate is optional, a bad one is still not as good as none, unless it is said so.
    if (own !== undefined && !socket.authorized)
      handshake.fail('client-certificate-invalid', socket)
    else if (own === undefined && this.#isRequired)
      handshake.fail('client-certificate-missing', socket)
    else handshake.succeed(socket, own === undefined ? undefined : clientCertificate(own))
  }
}

type ChooseContext = NonNullable<TlsOptions['SNICallback']>

/** Not the client's doing. */
class OwnError extends Error {}

/** One that is under way. */
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

  /** Where TLS itself calls, it must be destroyed and not what it stands on: Node would crash. */
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

  /** Whoever knows why says so in a moment. */
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

/** A socket below TLS knows what was begun on it: a WeakMap in old space would hold all of them. */
const HANDSHAKE = Symbol('handshake')

interface Begun {
  [HANDSHAKE]?: Handshake | undefined
}

/** A socket of TLS as Node makes it: it knows the one below. */
interface Layered {
  _parent?: Begun | undefined
}

function handshakeOf(socket: TLSSocket): Handshake | undefined {
  return (socket as Layered)._parent?.[HANDSHAKE]
}

/**
 * Lets go of what belongs to a connection that is closed. Node gives the handle below a getter that
 * knows the socket of TLS, and V8 puts every getter into old space: with its listeners, the socket
 * would hold the whole connection, request and all, until all of the heap is collected.
 */
function release(this: Socket & Layered): void {
  this.removeAllListeners()
  this.on('error', ignore)
  stopReadingInto(this)
  this._parent = undefined
}

/**
 * Those of Node, of which TLS 1.3 prefers the one with SHA-256: processors have instructions for it,
 * and none for SHA-384, which each handshake computes some ten times.
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
    ...(clients === undefined ? {} : { ca: certificatesIn(clients.ca) }),
    ciphers: cipherSuites === undefined ? USUAL_CIPHERS : cipherList(cipherSuites),
    ...(keyExchangeGroups === undefined ? {} : { ecdhCurve: keyExchangeGroups.join(':') }),
  }
}

/** Each on its own, so that what is none is noticed. */
function certificatesIn(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new Error('no CA certificate')
  for (const one of found) new X509Certificate(one)
  return [...found]
}

/** Which certificate is for which names. */
function tableOf(certificates: TerminatorOptions['certificates']): NameTable<number> {
  const table = new NameTable<number>()
  for (const [at, { cert, key }] of certificates.entries()) {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key does not match the certificate')
    table.add(certificateNames(cert), at)
  }
  return table
}

/** `contexts`: of all certificates but the first. */
function chooseFrom(table: NameTable<number>, contexts: readonly SecureContext[]): ChooseContext {
  return (name, done) => {
    try {
      done(null, contexts[(table.find(name.toLowerCase()) ?? 0) - 1])
    } catch (error) {
      done(new OwnError('no certificate could be selected', { cause: error }))
    }
  }
}

/** All but the certificates: a renewed one leaves tickets as good as they were. */
function scopeOf({ certificates: _, ...rest }: TerminatorOptions): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 32)
}

function ignore(): void {}
