// HOT PATH: one HTTP/2 connection to an upstream. Guarded by bench/proxy.ts.
// Liberties: frames of all streams leave together.

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
  /** The upstream said its settings: streams may begin. */
  ready(session: ClientSession): void
  /** There is room for another stream. */
  freed(session: ClientSession): void
  closed(session: ClientSession, reason: string): void
}

/** How often a connection is looked at. */
const PERIOD = 1_000
/** Milliseconds for what is still to be written when it is over. */
const WRITE_TIMEOUT = 5_000
const ALIVE = Buffer.from('alive?\0\0')

/** One HTTP/2 connection to an upstream, on a socket that is connected. */
export class ClientSession extends ClientFrames implements Timed {
  readonly socket: Socket
  /** Of the upstream, once it was resolved. */
  readonly address: string
  deadline: number
  slot = -1
  readonly #options: SessionOptions
  readonly #events: SessionEvents
  readonly #openedAt: number = performance.now()
  readonly #retireAt: number
  #count = 0
  /** Streams so far, those that are over too. */
  #opened = 0
  #isReady = false
  #isClosing = false
  #isClosed = false
  #reason = 'closed'
  /** What those under way are told: a connection that breaks resets them all. */
  #word = 'reset'
  #idleSince: number = this.#openedAt
  #heardAt: number = this.#openedAt
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
    // Half a connection is of no use: no request or response could pass on it.
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

  /** It closes when the streams that it was opened for are over, and takes no others. */
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

  /** Room for one request. */
  open(): ClientStream {
    this.#count++
    this.#opened++
    const kept = this.pool.take()
    if (kept === undefined) return new ClientStream(this)
    kept.reopen()
    return kept
  }

  /** No more streams; closes when those under way are over. */
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

  /** An error of the upstream's: it is told, and nothing more is read. */
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

  protected heard(): void {
    this.#heardAt = performance.now()
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
   * An upstream that is at work says nothing, and so does one that is no more: ask. Servers of gRPC
   * end connections on which PING frames come in quick succession while they send no message.
   */
  #checkAlive(now: number): void {
    const { pingInterval, pingTimeout, minPingInterval } = this.#options
    if (this.#pingedAt > 0) {
      if (this.#heardAt > this.#pingedAt) this.#pingedAt = 0
      else if (now - this.#pingedAt > pingTimeout) this.destroy('ping-timeout')
    } else if (now - this.#heardAt > pingInterval) {
      if (!this.hasHeardMessage && now - this.#lastPingAt < minPingInterval) return
      this.hasHeardMessage = false
      this.#lastPingAt = now
      this.#pingedAt = now
      this.output.frames.ping(ALIVE, 0, false)
      this.output.schedule()
    }
  }

  /** Says goodbye: what is on its way leaves, and nothing more is read. */
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
