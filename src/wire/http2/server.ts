import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerSessionOptions,
  type Settings,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { DownstreamEvents } from '../downstream.ts'
import { announceStreams } from './announce.ts'
import {
  Allowance,
  type Http2Count,
  type Http2Limits,
  type Http2Observer,
  NO_OBSERVER,
  type ResetReason,
} from './limits.ts'
import { ServerStream, type StreamOwner } from './server-stream.ts'

const {
  NGHTTP2_ENHANCE_YOUR_CALM,
  NGHTTP2_FLAG_END_STREAM,
  NGHTTP2_INTERNAL_ERROR,
  NGHTTP2_REFUSED_STREAM,
} = constants

/** How often a connection is looked at. */
const PERIOD = 1_000
/** What nghttp2 says of PING and SETTINGS that come faster than their answers leave. */
const FLOODED = -904
/** What it says where Node has turned away as many streams as it may. */
const REJECTED = -902

/**
 * One client's HTTP/2 connection: TLS that chose `h2`, or plain with prior knowledge. Its requests
 * are given to the owner one by one, as those of any other connection.
 */
export class ServerSession implements Timed, StreamOwner {
  readonly socket: Socket
  deadline: number
  /** Undefined until the client was told the settings. */
  #session: ServerHttp2Session | undefined = undefined
  readonly #limits: Http2Limits
  readonly #deadlines: Deadlines
  readonly #events: DownstreamEvents
  readonly #observer: Http2Observer
  readonly #streams = new Set<ServerStream>()
  readonly #resets: Allowance
  readonly #controlFrames: Allowance
  readonly #overhead: Allowance
  readonly #openedAt = performance.now()
  #idleSince = performance.now()
  #heardAt = performance.now()
  #pingedAt = 0
  #isGreeted = false
  #isClosed = false
  #isDraining = false
  #read = 0
  #written = 0
  #credit = 0

  constructor(
    socket: Socket,
    limits: Http2Limits,
    deadlines: Deadlines,
    events: DownstreamEvents,
    observer: Http2Observer = NO_OBSERVER,
  ) {
    this.socket = socket
    this.#limits = limits
    this.#deadlines = deadlines
    this.#events = events
    this.#observer = observer
    this.#resets = new Allowance(limits.resets)
    this.#controlFrames = new Allowance(limits.controlFrames)
    this.#overhead = new Allowance(limits.overhead)
    this.deadline = performance.now() + PERIOD
    deadlines.add(this)
    const release = keepHeld(socket)
    const allowed = limits.streams + CLOSED_IN_ONE_READ
    announceStreams(socket, limits.streams, allowed, settingsOf(limits), (settings) => {
      if (socket.destroyed) this.#onClose()
      else this.#start({ ...sessionOptions(limits), settings }, release)
    })
    observer.counted('session')
  }

  #start(options: ServerSessionOptions, release: () => void): void {
    const session = performServerHandshake(this.socket, options)
    this.#session = session
    this.#listen(session)
    if (this.#isDraining) session.close()
    release()
  }

  /** Tells the client to open no more streams; closes when those under way are over. */
  drain(): void {
    // It names the last stream that will be answered; RFC 9113 §6.8 has a warning go before, but
    // node:http2 answers nothing that comes after any GOAWAY, so that it would only mislead.
    this.#isDraining = true
    this.#session?.close()
  }

  /** Closes at once. */
  destroy(): void {
    if (this.#session === undefined) this.socket.destroy()
    else this.#session.destroy()
  }

  expire(): void {
    const now = performance.now()
    this.deadline = now + PERIOD
    if (this.#isClosed) return
    if (!this.#isGreeted) {
      if (now - this.#openedAt > this.#limits.headTimeout) this.#close('no-preface')
      return
    }
    if (!this.#overhead.spend(this.#unaccounted(), now)) this.#calm('too-much-overhead')
    else if (this.#streams.size === 0) this.#checkIdle(now)
    else this.#checkAlive(now)
  }

  credit(octets: number): void {
    // With the frame that they came in, and their part of a TLS record.
    this.#credit += octets + 64
    this.#heardAt = performance.now()
  }

  wasReset(): void {
    this.#observer.counted('client-reset')
    if (!this.#resets.spend(1)) this.#calm('too-many-resets')
  }

  didReset(reason: ResetReason): void {
    this.#observer.reset?.(reason)
  }

  gone(stream: ServerStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size === 0) this.#idleSince = performance.now()
  }

  #listen(session: ServerHttp2Session): void {
    session.on('stream', (stream, _headers, flags, raw) => {
      try {
        this.#begin(stream, flags, raw as unknown as readonly string[])
      } catch (error) {
        this.#events.broke?.(undefined, error)
        stream.close(NGHTTP2_INTERNAL_ERROR)
      }
    })
    session.on('connect', () => session.setLocalWindowSize(this.#limits.connectionWindow))
    session.on('remoteSettings', () => {
      this.#isGreeted = true
      this.#control()
    })
    session.on('ping', () => this.#control())
    session.on('goaway', () => this.#observer.counted('goaway-received'))
    session.on('error', (error) => this.#onError(error))
    session.on('close', () => this.#onClose())
    // Half a connection is of no use: what the client cannot say any more it would have to say.
    this.socket.on('end', () => session.destroy())
  }

  #begin(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    this.#observer.counted('stream')
    if (stream.destroyed || stream.closed) {
      // Reset before it was looked at.
      stream.on('error', () => {})
      this.wasReset()
      return
    }
    // The settings tell the client the limit; until it has read them only this holds.
    if (this.#isFull()) {
      stream.on('error', () => {})
      stream.close(NGHTTP2_REFUSED_STREAM)
      this.didReset('refused')
      return
    }
    const own = new ServerStream(stream, this.#limits, this.#deadlines, this.#events, this)
    this.#streams.add(own)
    own.begin(raw, (flags & NGHTTP2_FLAG_END_STREAM) !== 0)
  }

  /** Streams that are closed count no more, though the news of it may still be on its way. */
  #isFull(): boolean {
    const { streams } = this.#limits
    if (this.#streams.size < streams) return false
    let open = 0
    for (const stream of this.#streams) if (stream.isWritable) open++
    return open >= streams
  }

  #control(): void {
    this.#heardAt = performance.now()
    this.#observer.counted('control-frame')
    if (!this.#controlFrames.spend(1)) this.#calm('too-many-control-frames')
  }

  /** Octets that came since the last look and belong to no head or body. */
  #unaccounted(): number {
    const { bytesRead, bytesWritten } = this.socket
    // What we send is answered with WINDOW_UPDATE, 13 octets for each stream and the connection.
    const answered = (bytesWritten - this.#written) / 8
    const octets = bytesRead - this.#read - this.#credit - answered
    this.#read = bytesRead
    this.#written = bytesWritten
    this.#credit = 0
    return Math.max(0, octets)
  }

  #checkIdle(now: number): void {
    this.#pingedAt = 0
    if (now - this.#idleSince < this.#limits.idle) return
    this.#observer.counted('idle')
    if (now - this.#idleSince > this.#limits.idle + 2 * PERIOD) this.destroy()
    else this.#session?.close()
  }

  /** A client that is waiting says nothing, and so does one that is no more: ask. */
  #checkAlive(now: number): void {
    const { pingInterval, pingTimeout } = this.#limits
    if (this.#pingedAt > 0) {
      if (this.#heardAt > this.#pingedAt) this.#pingedAt = 0
      else if (now - this.#pingedAt > pingTimeout) this.#close('ping-timeout')
      return
    }
    if (now - this.#heardAt < pingInterval) return
    this.#pingedAt = now
    this.#session?.ping(() => {
      this.#heardAt = performance.now()
    })
  }

  #calm(what: Http2Count): void {
    const session = this.#session
    if (this.#isClosed || session === undefined || session.destroyed) return
    this.#observer.counted(what)
    session.destroy(new Error(what), NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /** What nghttp2 and Node count themselves, they close the connection for before we can. */
  #onError({ errno, code }: NodeJS.ErrnoException): void {
    if (errno === FLOODED) this.#observer.counted('too-many-control-frames')
    else if (errno === REJECTED && code === 'ERR_HTTP2_ERROR')
      this.#observer.counted('too-many-resets')
    this.#observer.counted('session-error')
  }

  #close(what: Http2Count): void {
    this.#observer.counted(what)
    this.destroy()
  }

  #onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#deadlines.remove(this)
    // Streams hear of it by themselves, before or after; the owner hears of the connection last.
    setImmediate(() => this.#events.closed())
  }
}

/**
 * node:http2 takes what the socket holds already, but only in the next tick. Should the socket be
 * set flowing until then, that would be lost; it does not flow while somebody wants to read it.
 */
function keepHeld(socket: Socket): () => void {
  const reads = () => {}
  socket.on('readable', reads)
  return () =>
    process.nextTick(() =>
      process.nextTick(() => {
        socket.off('readable', reads)
        // Only the end is left for it to tell.
        socket.resume()
      }),
    )
}

/** Streams that were closed in one read, and that node:http2 still counts. */
const CLOSED_IN_ONE_READ = 4_096

function sessionOptions(limits: Http2Limits): ServerSessionOptions {
  return {
    maxSessionMemory: limits.memory,
    // Room for the pseudo-headers and for a few too many, which are then answered with a status.
    maxHeaderListPairs: limits.fields + 32,
    maxOutstandingPings: 2,
    maxSessionInvalidFrames: 100,
    // Beyond what one read can bring: our own counts say ENHANCE_YOUR_CALM, these do not.
    maxSessionRejectedStreams: limits.resets.burst + 1_024,
    streamResetBurst: limits.resets.burst + 4_096,
    streamResetRate: limits.resets.perSecond * 4,
    // Repeated fields are refused or passed on by the rules of HTTP/1.1, not thrown for.
    strictSingleValueFields: false,
    // node:http2 would leave such a field out and go on; ./request-head.ts rejects the request.
    strictFieldWhitespaceValidation: false,
  }
}

function settingsOf(limits: Http2Limits): Settings {
  return {
    enablePush: false,
    enableConnectProtocol: false,
    initialWindowSize: limits.streamWindow,
    maxFrameSize: limits.frame,
    // RFC 9113 §6.5.2: each field counts 32 bytes more than it has.
    maxHeaderListSize: limits.head + (limits.fields + 4) * 32,
  }
}
