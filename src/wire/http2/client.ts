import { type ClientHttp2Session, connect, constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import { HEAD_LIMITS, type HeadLimits } from '../http1/message.ts'
import { ClientStream, type StreamHome } from './client-stream.ts'

export interface SessionOptions {
  /** Streams at the same time; fewer where the upstream wants fewer. */
  readonly streams: number
  /** Bytes of one response that may come before somebody takes them. */
  readonly streamWindow: number
  readonly connectionWindow: number
  /** How long a connection without streams is kept. */
  readonly idleTimeout: number
  /** How long to wait for the upstream's first words. */
  readonly connectTimeout: number
  readonly pingInterval: number
  readonly pingTimeout: number
  /** After about so long a connection takes no more streams. */
  readonly maxAge: number
  /** For requests that name no host. */
  readonly authority: string
  readonly head: HeadLimits
}

export const SESSION_OPTIONS: SessionOptions = {
  streams: 100,
  streamWindow: 262_144,
  connectionWindow: 4_194_304,
  idleTimeout: 90_000,
  connectTimeout: 10_000,
  pingInterval: 30_000,
  pingTimeout: 15_000,
  maxAge: 3_600_000,
  authority: 'localhost',
  head: HEAD_LIMITS,
}

export interface SessionEvents {
  /** The upstream said its settings: streams may begin. */
  ready(session: ClientSession): void
  /** There is room for another stream. */
  freed(session: ClientSession): void
  closed(session: ClientSession, reason: string): void
}

/** How often a connection is looked at. */
const PERIOD = 1_000

/** One HTTP/2 connection to an upstream, on a socket that is connected. */
export class ClientSession implements StreamHome, Timed {
  readonly session: ClientHttp2Session
  readonly scheme: 'http' | 'https'
  readonly authority: string
  /** Of the upstream, once it was resolved. */
  readonly address: string
  lastSeen = Number.POSITIVE_INFINITY
  deadline: number
  readonly #options: SessionOptions
  readonly #deadlines: Deadlines
  readonly #events: SessionEvents
  readonly #openedAt = performance.now()
  readonly #retireAt: number
  #count = 0
  #isReady = false
  #isClosing = false
  #isClosed = false
  #reason = 'closed'
  #idleSince = performance.now()
  #heardAt = performance.now()
  #pingedAt = 0

  constructor(
    socket: Socket,
    options: SessionOptions,
    deadlines: Deadlines,
    events: SessionEvents,
  ) {
    this.#options = options
    this.#deadlines = deadlines
    this.#events = events
    this.scheme = 'encrypted' in socket ? 'https' : 'http'
    this.authority = options.authority
    this.address = socket.remoteAddress ?? ''
    this.#retireAt = performance.now() + options.maxAge * (0.9 + 0.2 * Math.random())
    this.deadline = performance.now() + PERIOD
    const session = connect(`${this.scheme}://${options.authority}`, {
      createConnection: () => socket,
      ...settingsOf(options),
    })
    this.session = session
    session.on('connect', () => session.setLocalWindowSize(options.connectionWindow))
    session.on('remoteSettings', () => this.#onSettings())
    session.on('goaway', (code, last) => this.#onGoaway(code, last))
    session.on('ping', () => this.heard())
    session.on('error', (error: NodeJS.ErrnoException) => this.#because(error.code ?? 'error'))
    session.on('close', () => this.#onClose())
    // Half a connection is of no use: nobody could be asked or answered on it.
    socket.on('end', () => this.destroy('closed'))
    socket.resume()
    deadlines.add(this)
  }

  get hasRoom(): boolean {
    return this.#isReady && !this.#isClosing && !this.#isClosed && this.#count < this.#max
  }

  /** It takes no more streams. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Room for one request. */
  open(): ClientStream {
    this.#count++
    return new ClientStream(this, this.#deadlines, this.#options.head)
  }

  /** No more streams; closes when those under way are over. */
  drain(): void {
    this.#isClosing = true
    this.session.close()
  }

  destroy(reason: string): void {
    this.#because(reason)
    this.session.destroy()
  }

  heard(): void {
    this.#heardAt = performance.now()
  }

  left(): void {
    if (--this.#count === 0) this.#idleSince = performance.now()
    if (this.hasRoom) this.#events.freed(this)
  }

  expire(): void {
    const now = performance.now()
    const { connectTimeout, idleTimeout, pingInterval, pingTimeout } = this.#options
    this.deadline = now + PERIOD
    if (now > this.#retireAt && !this.#isClosing) this.drain()
    if (!this.#isReady) {
      if (now - this.#openedAt > connectTimeout) this.destroy('connect-timeout')
    } else if (this.#count === 0) {
      this.#pingedAt = 0
      if (now - this.#idleSince > idleTimeout + 2 * PERIOD) this.destroy('idle')
      else if (now - this.#idleSince > idleTimeout) this.drain()
    } else if (this.#pingedAt > 0) {
      if (this.#heardAt > this.#pingedAt) this.#pingedAt = 0
      else if (now - this.#pingedAt > pingTimeout) this.destroy('ping-timeout')
    } else if (now - this.#heardAt > pingInterval) {
      this.#pingedAt = now
      this.session.ping(() => this.heard())
    }
  }

  get #max(): number {
    const { maxConcurrentStreams = Number.POSITIVE_INFINITY } = this.session.remoteSettings
    return Math.min(this.#options.streams, maxConcurrentStreams)
  }

  #onSettings(): void {
    this.heard()
    if (this.#isReady) {
      if (this.hasRoom) this.#events.freed(this)
      return
    }
    this.#isReady = true
    this.#events.ready(this)
  }

  #onGoaway(code: number, last: number): void {
    this.#isClosing = true
    this.lastSeen = last
    if (code !== constants.NGHTTP2_NO_ERROR) this.#because('goaway')
  }

  #because(reason: string): void {
    if (this.#reason === 'closed') this.#reason = reason
  }

  #onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#deadlines.remove(this)
    this.#events.closed(this, this.#reason)
  }
}

function settingsOf({ head, streams, streamWindow }: SessionOptions) {
  return {
    // Room for the pseudo-headers and for a few too many, which are then refused by our own reader.
    maxHeaderListPairs: head.fields + 32,
    maxOutstandingPings: 2,
    peerMaxConcurrentStreams: streams,
    // Repeated fields are refused or passed on by the rules of HTTP/1.1, not thrown for.
    strictSingleValueFields: false,
    settings: {
      enablePush: false,
      initialWindowSize: streamWindow,
      // RFC 9113 §6.5.2: each field counts 32 bytes more than it has.
      maxHeaderListSize: head.head + (head.fields + 4) * 32,
    },
  }
}
