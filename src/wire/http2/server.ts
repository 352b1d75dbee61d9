// HOT PATH: one client's HTTP/2 connection. Guarded by bench/proxy.ts.
// Liberties: streams are reused; frames of all streams share writes.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { DownstreamEvents } from '../downstream.ts'
import { guarded, guardedEvents } from '../guard-events.ts'
import { closeGracefully } from '../http1/close-grace.ts'
import { keepable } from '../lent-reads.ts'
import { FrameReader } from './frame-reader.ts'
import {
  type Flood,
  type Http2Count,
  type Http2Limits,
  type Http2Observer,
  listSizeOf,
  NO_OBSERVER,
} from './limits.ts'
import { PREFACE } from './preface.ts'
import {
  DEFAULT_WINDOW,
  ENABLE_CONNECT_PROTOCOL,
  ENHANCE_YOUR_CALM,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  MAX_STREAM,
  NO_ERROR,
  NO_RFC7540_PRIORITIES,
  PROTOCOL_ERROR,
} from './protocol.ts'
import { connectionError } from './resets.ts'
import { ServerFrames } from './server-frames.ts'

/** How often a connection is checked. */
const PERIOD = 1_000
/** With fewer bytes in a turn of the event loop, there is no large body among them. */
const LITTLE = 8_192
const ALIVE = Buffer.from('alive?\0\0')
const LEAVING = Buffer.from('leaving\0')

/**
 * One client's HTTP/2 connection: TLS with ALPN `h2`, or plaintext with prior knowledge. Its
 * requests are passed to the owner one by one, as those of any other connection.
 */
export class ServerSession extends ServerFrames implements Timed {
  readonly socket: Socket
  deadline: number
  slot = -1
  readonly #reader: FrameReader
  readonly #receive: (bytes: Buffer) => void
  readonly #openedAt = performance.now()
  #idleSince = this.#openedAt
  #receivedAt = this.#openedAt
  #pingedAt = 0
  /** When the gateway stopped reading because the client does not read, or 0. */
  #pausedAt = 0
  /** Bytes of the preface that have arrived. */
  #prefaced = 0
  #isClosed = false
  #leavingSince = 0
  /** The stream with an incomplete head, and since when. */
  #awaited = 0
  #awaitedSince = 0
  #isLeft = false

  constructor(
    socket: Socket,
    limits: Http2Limits,
    deadlines: Deadlines,
    events: DownstreamEvents,
    observer: Http2Observer = NO_OBSERVER,
  ) {
    super(socket, limits, deadlines, events, observer)
    this.socket = socket
    this.#reader = new FrameReader(this, limits.frame)
    this.deadline = performance.now() + PERIOD
    deadlines.add(this)
    const { frames } = this.output
    frames.settings([
      [MAX_CONCURRENT_STREAMS, limits.streams],
      [INITIAL_WINDOW_SIZE, limits.streamWindow],
      [MAX_FRAME_SIZE, limits.frame],
      [MAX_HEADER_LIST_SIZE, listSizeOf(limits)],
      [ENABLE_CONNECT_PROTOCOL, 1],
      [NO_RFC7540_PRIORITIES, 1],
    ])
    const more = limits.connectionWindow - DEFAULT_WINDOW
    if (more > 0) frames.windowUpdate(0, more)
    this.output.schedule()
    const broke = (error: unknown) => events.broke?.(undefined, error)
    const on = guardedEvents(socket, broke)
    this.#receive = guarded(socket, broke, (bytes: Buffer) => this.#read(bytes))
    // Bytes read before the session began arrive as events, as do all if buffers cannot be lent.
    socket.on('data', this.#receive)
    this.reads?.use(this)
    on('drain', () => this.#onDrain())
    on('end', () => {
      this.reads?.flush()
      // A half-closed connection is useless: the client could not send what HTTP/2 requires of it.
      socket.destroy()
    })
    on('error', () => this.#onClose())
    on('close', () => this.#onClose())
    observer.counted('session')
    socket.resume()
  }

  /**
   * Announces that the client must open no more streams; closes when open ones are over. RFC 9113
   * §6.8: streams that the client opens before it reads this are served, so the last one is named
   * later.
   */
  drain(): void {
    if (this.isOver || this.#leavingSince > 0) return
    this.#leavingSince = performance.now()
    const { frames } = this.output
    frames.goaway(MAX_STREAM, NO_ERROR)
    frames.ping(LEAVING, 0, false)
    this.output.schedule()
  }

  /** Closes at once. */
  destroy(): void {
    this.output.write()
    this.isOver = true
    this.abandon('reset')
    this.socket.destroy()
  }

  expire(): void {
    const now = performance.now()
    this.deadline = now + PERIOD
    if (this.isOver) {
      this.socket.destroy()
      return
    }
    if (!this.isGreeted) {
      if (now - this.#openedAt > this.limits.headTimeout) this.#close('no-preface')
      return
    }
    this.guard.settle()
    if (this.isOver) return
    if (this.#isHeadLate(now)) {
      this.#close('no-preface')
      return
    }
    if (this.#leavingSince > 0 && now - this.#leavingSince >= PERIOD) this.#leave()
    if (this.#pausedAt > 0) {
      if (now - this.#pausedAt > this.limits.writeTimeout) this.#close('too-much-unread')
    } else if (this.streams.size === 0) this.#checkIdle(now)
    else this.#checkAlive(now)
  }

  /** A connection error: the client gets GOAWAY, and nothing more is read. */
  fail(code: number): void {
    if (this.isOver) return
    this.observer.counted('session-error')
    const error = connectionError(code)
    if (error !== undefined) this.observer.failed?.(error)
    this.output.frames.goaway(this.last, code)
    this.#end()
  }

  ponged(bytes: Buffer, from: number): void {
    this.guard.pong()
    if (LEAVING.compare(bytes, from, from + 8) === 0 && this.#leavingSince > 0) this.#leave()
  }

  wentAway(): void {
    this.observer.counted('goaway-received')
    this.#isLeft = true
    if (this.streams.size === 0) this.#end()
  }

  receive(bytes: Buffer, from = 0, to: number = bytes.length): void {
    this.#receive(keepable(bytes, from, to))
    // A short read: the current exchanges need no large buffer for now.
    if (to - from < LITTLE && this.reads !== undefined) this.reads.isResting = true
  }

  #read(bytes: Buffer): void {
    if (this.isOver) return
    this.#receivedAt = performance.now()
    let rest = bytes
    if (this.#prefaced < PREFACE.length) {
      const length = Math.min(bytes.length, PREFACE.length - this.#prefaced)
      if (PREFACE.compare(bytes, 0, length, this.#prefaced, this.#prefaced + length) !== 0) {
        this.fail(PROTOCOL_ERROR)
        return
      }
      this.#prefaced += length
      rest = bytes.subarray(length)
    }
    if (rest.length > 0) this.#reader.read(rest)
    if (this.#isCrowded && !this.isOver) {
      this.#pausedAt = this.#receivedAt
      this.socket.pause()
    }
  }

  /** Requests with immediate responses would fill the memory if their client does not read. */
  get #isCrowded(): boolean {
    return this.socket.writableLength > this.limits.unread
  }

  #onDrain(): void {
    if (this.#pausedAt > 0) {
      this.#pausedAt = 0
      this.#receivedAt = performance.now()
      this.socket.resume()
    }
    this.output.pump()
  }

  /** Names the last stream that is served, and ends the connection when all streams are over. */
  #leave(): void {
    if (this.#isLeft || this.isOver) return
    this.#isLeft = true
    this.lastServed = this.last
    this.output.frames.goaway(this.last, NO_ERROR)
    this.output.schedule()
    if (this.streams.size === 0) this.#end()
  }

  protected emptied(): void {
    this.#idleSince = performance.now()
    if (this.#isLeft) this.#end()
  }

  /** Until a head is complete, no other frame is allowed on the connection. */
  #isHeadLate(now: number): boolean {
    const { unfinishedHead } = this
    if (unfinishedHead === 0 || unfinishedHead !== this.#awaited) {
      this.#awaited = unfinishedHead
      this.#awaitedSince = now
    }
    return unfinishedHead !== 0 && now - this.#awaitedSince > this.limits.headTimeout
  }

  #checkIdle(now: number): void {
    this.#pingedAt = 0
    this.pool.clear()
    if (now - this.#idleSince < this.limits.idle || this.#leavingSince > 0) return
    this.observer.counted('idle')
    this.drain()
  }

  /** A waiting client is as silent as a dead one, so the gateway sends a PING. */
  #checkAlive(now: number): void {
    const { pingInterval, pingTimeout } = this.limits
    if (this.#pingedAt > 0) {
      if (this.#receivedAt > this.#pingedAt) this.#pingedAt = 0
      else if (now - this.#pingedAt > pingTimeout) this.#close('ping-timeout')
      return
    }
    if (now - this.#receivedAt < pingInterval) return
    this.#pingedAt = now
    this.output.frames.ping(ALIVE, 0, false)
    this.output.schedule()
  }

  protected calm(what: Flood): void {
    if (this.isOver) return
    this.observer.counted(what)
    this.fail(ENHANCE_YOUR_CALM)
  }

  #close(what: Http2Count): void {
    this.observer.counted(what)
    this.destroy()
  }

  /** Closes gracefully: pending bytes are written, and nothing more is read. */
  #end(): void {
    if (this.isOver) return
    this.isOver = true
    this.output.write()
    this.abandon('reset')
    closeGracefully(this.socket, this, this.limits.writeTimeout)
  }

  #onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.isOver = true
    this.deadlines.remove(this)
    this.reads?.close()
    this.unwatch()
    this.abandon('reset')
    this.events.closed()
  }
}
