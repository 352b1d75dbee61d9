// HOT PATH: one HTTP/2 connection to an upstream. Guarded by bench/proxy.ts.
// Liberties: frames of all streams share writes.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import { closeGracefully } from '../http1/close-grace.ts'
import { lentReadsOf } from '../lent-reads.ts'
import { ClientFrames } from './client-frames.ts'
import type { SessionOptions } from './client-limits.ts'
import { ClientStream } from './client-stream.ts'
import { type Flood, type Http2Observer, listSizeOf, NO_OBSERVER } from './limits.ts'
import { PREFACE } from './preface.ts'
import {
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  ENHANCE_YOUR_CALM,
  INITIAL_WINDOW_SIZE,
  MAX_HEADER_LIST_SIZE,
  NO_ERROR,
} from './protocol.ts'

export interface SessionEvents {
  /** The upstream sent its settings: streams may begin. */
  ready(session: ClientSession): void
  /** There is room for another stream. */
  freed(session: ClientSession): void
  closed(session: ClientSession, reason: string): void
}

/** How often a connection is checked. */
const PERIOD = 1_000
/** Milliseconds to write the remaining bytes after the end of the connection. */
const WRITE_TIMEOUT = 5_000
const ALIVE = Buffer.from('alive?\0\0')

/** One HTTP/2 connection to an upstream, on a connected socket. */
export class ClientSession extends ClientFrames implements Timed {
  readonly socket: Socket
  /** The upstream's address after resolution. */
  readonly address: string
  deadline: number
  slot = -1
  readonly #options: SessionOptions
  readonly #events: SessionEvents
  readonly #openedAt: number = performance.now()
  readonly #retireAt: number
  #count = 0
  /** Number of streams opened so far, including closed ones. */
  #opened = 0
  #isReady = false
  #isClosing = false
  #isClosed = false
  #reason = 'closed'
  /** The reason for streams in progress: a broken connection resets them all. */
  #word = 'reset'
  #idleSince: number = this.#openedAt
  #receivedAt: number = this.#openedAt
  #pingedAt = 0
  /** When the last PING was sent, acknowledged or not. */
  #lastPingAt = Number.NEGATIVE_INFINITY

  constructor(
    socket: Socket,
    options: SessionOptions,
    deadlines: Deadlines,
    events: SessionEvents,
    observer: Http2Observer = NO_OBSERVER,
  ) {
    const reads = lentReadsOf(socket)
    super(socket, reads, options, deadlines, observer, (error) => {
      socket.destroy()
      throw error
    })
    this.socket = socket
    this.#options = options
    this.#events = events
    this.address = socket.remoteAddress ?? ''
    this.#retireAt = this.#openedAt + options.maxAge * (0.9 + 0.2 * Math.random())
    this.deadline = this.#openedAt + Math.min(PERIOD, options.connectTimeout)
    deadlines.add(this)
    if (reads === undefined) socket.on('data', (bytes: Buffer) => this.receive(bytes))
    else reads.use(this)
    socket.on('drain', () => this.output.pump())
    // A half-closed connection is useless: requests or responses could not pass.
    socket.on('end', () => this.destroy('closed'))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#because(error.code ?? 'error'))
    socket.on('close', () => {
      deadlines.remove(this)
      this.unwatch()
      this.#onClose()
    })
    this.#greet()
    socket.resume()
  }

  get hasRoom(): boolean {
    return this.#isReady && !this.isRetired && !this.isOver && this.#count < this.#max
  }

  /** Accepts no more streams, and closes when its open streams are over. */
  get isRetired(): boolean {
    return this.isClosing || this.#opened >= this.#options.maxStreams
  }

  get isClosing(): boolean {
    return this.#isClosing || this.isSpent
  }

  /** Milliseconds since it was connected. */
  get age(): number {
    return performance.now() - this.#openedAt
  }

  /** Opens a stream for one request. */
  open(): ClientStream {
    this.#count++
    this.#opened++
    const kept = this.pool.take()
    if (kept === undefined) return new ClientStream(this)
    kept.reopen()
    return kept
  }

  /** Accepts no more streams; closes when open streams are over. */
  drain(): void {
    this.#isClosing = true
    if (this.#count === 0) this.#end()
  }

  destroy(reason: string): void {
    this.#because(reason)
    this.isOver = true
    this.socket.destroy()
    this.#onClose()
  }

  left(): void {
    this.#count--
    if (this.#count === 0) {
      this.#idleSince = performance.now()
      if (this.reads !== undefined) this.reads.isResting = true
      if (this.isRetired) this.#end()
    }
    if (this.hasRoom) this.#events.freed(this)
  }

  expire(): void {
    const now = performance.now()
    const { connectTimeout, idleTimeout } = this.#options
    this.deadline = now + PERIOD
    if (this.isOver) {
      this.destroy('closed')
      return
    }
    this.guard.settle()
    if (now > this.#retireAt && !this.#isClosing) this.drain()
    if (!this.#isReady) {
      if (now - this.#openedAt >= connectTimeout) this.destroy('connect-timeout')
    } else if (this.#count > 0) this.#checkAlive(now)
    else {
      this.#pingedAt = 0
      this.pool.clear()
      if (now - this.#idleSince > idleTimeout) {
        this.#because('idle')
        this.drain()
      }
    }
  }

  /** A protocol error of the upstream: it gets GOAWAY, and nothing more is read. */
  fail(code: number): void {
    if (this.isOver) return
    this.observer.counted('session-error')
    this.#because(this.#isReady ? 'http2-error' : 'no-http2')
    this.#word = this.#reason
    this.output.frames.goaway(0, code)
    this.#end()
  }

  ponged(): void {
    this.guard.pong()
  }

  wentAway(last: number, code: number): void {
    this.observer.counted('goaway-received')
    this.#isClosing = true
    if (code !== NO_ERROR) this.#because('goaway')
    this.forgetUnseen(last)
    if (this.#count === 0) this.#end()
  }

  override changed(growth: number): number {
    const error = super.changed(growth)
    if (error !== NO_ERROR || this.isOver) return error
    if (!this.#isReady) {
      this.#isReady = true
      this.#events.ready(this)
    } else if (this.hasRoom) this.#events.freed(this)
    return NO_ERROR
  }

  protected received(): void {
    this.#receivedAt = performance.now()
  }

  protected calm(what: Flood): void {
    if (this.isOver) return
    this.observer.counted(what)
    this.#because(what)
    this.fail(ENHANCE_YOUR_CALM)
  }

  protected emptied(): void {}

  get #max(): number {
    return Math.min(this.#options.streams, this.peer.streams)
  }

  #greet(): void {
    const { streamWindow, connectionWindow, head } = this.#options
    const { frames } = this.output
    this.socket.write(PREFACE)
    frames.settings([
      [ENABLE_PUSH, 0],
      [INITIAL_WINDOW_SIZE, streamWindow],
      [MAX_HEADER_LIST_SIZE, listSizeOf(head)],
    ])
    const more = connectionWindow - DEFAULT_WINDOW
    if (more > 0) frames.windowUpdate(0, more)
    this.output.write()
  }

  /**
   * A working upstream may be as silent as a dead one, so the gateway sends a PING. gRPC servers
   * end connections on which PING frames follow each other quickly while they send no message.
   */
  #checkAlive(now: number): void {
    const { pingInterval, pingTimeout, minPingInterval } = this.#options
    if (this.#pingedAt > 0) {
      if (this.#receivedAt > this.#pingedAt) this.#pingedAt = 0
      else if (now - this.#pingedAt > pingTimeout) this.destroy('ping-timeout')
    } else if (now - this.#receivedAt > pingInterval) {
      if (!this.hasReceivedMessage && now - this.#lastPingAt < minPingInterval) return
      this.hasReceivedMessage = false
      this.#lastPingAt = now
      this.#pingedAt = now
      this.output.frames.ping(ALIVE, 0, false)
      this.output.schedule()
    }
  }

  /** Closes gracefully: pending bytes are written, and nothing more is read. */
  #end(): void {
    if (this.isOver) return
    this.isOver = true
    if (this.#reason === 'closed' || this.#reason === 'idle') this.output.frames.goaway(0, NO_ERROR)
    this.output.write()
    this.abandon(this.#word)
    closeGracefully(this.socket, this, WRITE_TIMEOUT)
    this.#onClose()
  }

  #because(reason: string): void {
    if (this.#reason === 'closed') this.#reason = reason
  }

  #onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.isOver = true
    this.reads?.close()
    this.abandon(this.#word)
    this.#events.closed(this, this.#reason)
  }
}
