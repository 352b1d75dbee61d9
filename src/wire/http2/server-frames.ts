// HOT PATH: the requests of one client. Guarded by bench/proxy.ts.
// Liberties: streams are used again, with the heads of their requests.

import type { Socket } from 'node:net'
import type { Deadlines } from '../deadlines.ts'
import type { DownstreamEvents } from '../downstream.ts'
import { RequestHead } from '../http1/head.ts'
import { type LentReads, lendReads, type Reader } from '../lent-reads.ts'
import { type BodySink, NOWHERE } from '../streams.ts'
import { ConnectionFrames } from './connection-frames.ts'
import type { FieldBlock } from './field-block.ts'
import { type Http2Limits, type Http2Observer, listSizeOf } from './limits.ts'
import { PeerSettings } from './peer-settings.ts'
import {
  FLOW_CONTROL_ERROR,
  FRAME_HEAD,
  INTERNAL_ERROR,
  LARGEST_STREAM,
  NO_ERROR,
  PROTOCOL_ERROR,
  REFUSED_STREAM,
  STREAM_CLOSED,
} from './protocol.ts'
import { resetReason } from './resets.ts'
import { ResponseOutput } from './response-output.ts'
import { ServerStream } from './server-stream.ts'
import type { StreamOwner } from './stream-owner.ts'
import { StreamPool } from './stream-pool.ts'

/** Bytes of a body that are copied rather than lent: a few must not keep a large buffer away. */
const SHORT = 2_048
/** As many are worth a buffer of their own, even if whoever has them needs them for long. */
const LONG = 32_768

/** What frames of a client do to streams; how its connection lives and ends: ./server.ts. */
export abstract class ServerFrames
  extends ConnectionFrames<ServerStream>
  implements StreamOwner, Reader
{
  protected readonly limits: Http2Limits
  protected readonly events: DownstreamEvents
  /** The last stream that the client opened, and the last one that will be served. */
  protected last = 0
  protected lastServed: number = LARGEST_STREAM
  /** Undefined where bytes come by events, in memory of their own. */
  protected readonly reads: LentReads | undefined
  /** With their heads. */
  protected readonly pool: StreamPool<ServerStream> = new StreamPool()
  /** Who got bytes that they may still need. */
  readonly #borrowers = new Map<ServerStream, BodySink>()

  constructor(
    socket: Socket,
    limits: Http2Limits,
    deadlines: Deadlines,
    events: DownstreamEvents,
    observer: Http2Observer,
  ) {
    const peer = new PeerSettings('client')
    super(socket, peer, limits, listSizeOf(limits), deadlines, observer, (error) => {
      events.broke?.(undefined, error)
      socket.destroy()
    })
    this.limits = limits
    this.events = events
    this.reads = lendReads(socket, 'encrypted' in socket)
  }

  abstract receive(bytes: Buffer, from?: number, to?: number): void

  needsBytes(): boolean {
    for (const [stream, sink] of this.#borrowers)
      if (stream.held.lent === 0 && sink.hasWritten?.() === true) this.#borrowers.delete(stream)
    return this.#borrowers.size > 0
  }

  holds(stream: ServerStream, bytes: Buffer): boolean {
    if (this.isWindowScarce() && this.#hasReader()) this.extendWindow()
    if (bytes.length < LONG || this.reads?.isLending !== true) return false
    if (!this.#borrowers.has(stream)) this.#borrowers.set(stream, NOWHERE)
    return true
  }

  /** Whether the body of a stream is taken as it comes. */
  #hasReader(): boolean {
    for (const stream of this.streams.values()) if (stream.awaitsBody) return true
    return false
  }

  /**
   * A sink that has not written what it got before gets a copy of what is not long: else each of
   * its pieces could keep a large buffer away from everyone.
   */
  lend(stream: ServerStream, bytes: Buffer, sink: BodySink): Buffer {
    const { reads } = this
    if (reads?.isLending !== true) return bytes
    const { length } = bytes
    if (sink.hasWritten === undefined || length < SHORT) return Buffer.from(bytes)
    if (length < LONG && !sink.hasWritten()) return Buffer.from(bytes)
    const before = this.#borrowers.get(stream)
    if (before !== undefined && before !== sink && before.hasWritten?.() !== true) reads.forget()
    this.#borrowers.set(stream, sink)
    return bytes
  }

  protected override cutOff(stream: ServerStream, code: number): void {
    this.observer.reset?.(code === NO_ERROR ? 'complete' : resetReason(code))
    super.cutOff(stream, code)
    // The client did what the protocol makes us reset it for.
    if (code === PROTOCOL_ERROR || code === FLOW_CONTROL_ERROR || code === STREAM_CLOSED)
      this.guard.spendReset()
  }

  isIdle(id: number): boolean {
    return id > this.last || id % 2 === 0
  }

  /** RFC 9218 §7.1: what is said of a stream before it is opened may be forgotten. */
  prioritized(id: number, value: string): number {
    if (id === 0) return PROTOCOL_ERROR
    this.streams.get(id)?.prioritize(value)
    return NO_ERROR
  }

  wasReset(id: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    this.remove(stream, 'over')
    // Who has the response already breaks nothing off.
    if (!stream.isFinished) this.guard.reset()
    stream.gone('reset')
  }

  protected onStrayBlock(
    id: number,
    fields: FieldBlock,
    endsStream: boolean,
    dependsOnItself: boolean,
  ): void {
    if (id % 2 === 0) this.fail(PROTOCOL_ERROR)
    else if (id <= this.last) {
      const closed = this.closedStreams.find(id)
      if (closed !== 'cut') this.fail(closed === undefined ? PROTOCOL_ERROR : STREAM_CLOSED)
    } else this.#open(id, fields, endsStream, dependsOnItself)
  }

  #open(id: number, fields: FieldBlock, endsStream: boolean, dependsOnItself: boolean): void {
    this.last = id
    this.observer.counted('stream')
    if (id > this.lastServed) {
      this.closedStreams.note(id, 'cut')
      return
    }
    if (this.streams.size >= this.limits.streams) {
      this.observer.reset?.('refused')
      this.#refuse(id, REFUSED_STREAM)
      // Who has read the settings knows.
      if (this.isAcknowledged) this.guard.spendReset()
      return
    }
    if (dependsOnItself) {
      this.observer.reset?.('malformed')
      this.#refuse(id, PROTOCOL_ERROR)
      this.guard.spendReset()
      return
    }
    const own = this.#stream(id)
    this.add(own)
    try {
      own.begin(fields, endsStream)
    } catch (error) {
      this.broke(own, error)
    }
  }

  #stream(id: number): ServerStream {
    const { window } = this.peer
    // Nobody who ended a stream is still at it when another one begins.
    this.pool.settle()
    const kept = this.pool.take()
    if (kept !== undefined) {
      kept.reopen(id, window)
      return kept
    }
    const head = new RequestHead()
    head.lowersNames = this.limits.lowersNames
    const out = new ResponseOutput(id, this.output, window)
    return new ServerStream(id, head, out, this.limits, this.events, this)
  }

  #refuse(id: number, code: number): void {
    this.output.frames.reset(id, code)
    this.output.schedule()
    this.closedStreams.note(id, 'cut')
  }

  /** A second block of a request is its trailers. */
  protected onBlock(stream: ServerStream, fields: FieldBlock, endsStream: boolean): void {
    if (stream.hasEnded) this.failStream(stream.id, STREAM_CLOSED)
    // RFC 9113 §8.1: they end the request.
    else if (!endsStream) this.failStream(stream.id, PROTOCOL_ERROR)
    else {
      try {
        stream.receiveTrailers(fields)
      } catch (error) {
        this.broke(stream, error)
      }
      if (stream.isSent) this.remove(stream, 'over')
    }
  }

  protected onStrayData(id: number, length: number): void {
    this.guard.overhead(FRAME_HEAD + length)
    if (this.closedStreams.find(id) === 'cut' || this.isOver) return
    this.guard.spendReset()
    this.#refuse(id, STREAM_CLOSED)
  }

  protected removed(stream: ServerStream): void {
    const borrower = this.#borrowers.get(stream)
    if (borrower !== undefined) {
      this.#borrowers.delete(stream)
      // Its exchange is over, and nobody will say when what it got is free.
      if (stream.held.lent > 0 || borrower.hasWritten?.() !== true) this.reads?.forget()
    }
    if (!stream.isFinished) return
    stream.gone('over')
    this.pool.put(stream)
  }

  protected broke(stream: ServerStream | undefined, error: unknown): void {
    this.events.broke?.(stream, error)
    if (stream === undefined) return
    this.reset(stream, INTERNAL_ERROR)
    stream.gone('error')
  }
}
