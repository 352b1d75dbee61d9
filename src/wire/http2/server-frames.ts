// HOT PATH: the requests of one client. Guarded by bench/proxy.ts.
// Liberties: streams are reused, with the heads of their requests.

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
  MAX_STREAM,
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

/** Shorter body pieces are copied rather than lent: a few bytes must not occupy a large buffer. */
const SHORT = 2_048
/** Pieces of this size may occupy one for a while unless buffers are scarce: streams take turns. */
const MIDDLE = 8_192
/** Pieces of this size are worth a buffer, even if their receiver needs them for long. */
const LONG = 32_768

/** Bytes lent to a stream. */
interface Loan {
  sink: BodySink
  /** The number of the first buffer that may still be needed, and of the last. */
  since: number
  last: number
}

function isRepaid(stream: ServerStream, sink: BodySink): boolean {
  return stream.held.lent === 0 && sink.hasWritten?.() === true
}

/** Handles a client's frames for streams; see ./server.ts for the connection's lifecycle. */
export abstract class ServerFrames
  extends ConnectionFrames<ServerStream>
  implements StreamOwner, Reader
{
  protected readonly limits: Http2Limits
  protected readonly events: DownstreamEvents
  /** The last stream that the client opened, and the last one that will be served. */
  protected last = 0
  protected lastServed: number = MAX_STREAM
  /** Undefined if bytes arrive as events, in their own memory. */
  protected readonly reads: LentReads | undefined
  /** Streams with their heads. */
  protected readonly pool: StreamPool<ServerStream> = new StreamPool()
  /** Streams whose sinks got bytes that they may still need. */
  readonly #loans = new Map<ServerStream, Loan>()

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
    const buffer = this.reads?.buffers
    for (const [stream, { sink, last }] of this.#loans)
      if (last === buffer && !isRepaid(stream, sink)) return true
    return false
  }

  neededSince(): number {
    let since = Number.POSITIVE_INFINITY
    for (const [stream, loan] of this.#loans) {
      if (isRepaid(stream, loan.sink)) this.#loans.delete(stream)
      else if (loan.since < since) since = loan.since
    }
    return since
  }

  holds(stream: ServerStream, bytes: Buffer): number {
    const { reads } = this
    if (this.isWindowScarce() && this.#hasReader()) this.extendWindow()
    if (reads?.isLending !== true || bytes.length < (reads.isScarce ? LONG : MIDDLE)) return -1
    const loan = this.#loans.get(stream)
    const { buffers } = reads
    if (loan !== undefined) loan.last = buffers
    else this.#loans.set(stream, { sink: NOWHERE, since: buffers, last: buffers })
    return buffers
  }

  /** Whether any stream's body is being consumed as it arrives. */
  #hasReader(): boolean {
    for (const stream of this.streams.values()) if (stream.awaitsBody) return true
    return false
  }

  /**
   * A sink that has not written its earlier bytes yet gets a copy unless the piece is long:
   * otherwise each of its pieces could occupy a large buffer. When buffers are scarce, pieces must
   * be longer.
   */
  lend(stream: ServerStream, bytes: Buffer, sink: BodySink, buffer?: number): Buffer {
    const { reads } = this
    if (reads?.isLending !== true) return bytes
    const { length } = bytes
    if (sink.hasWritten === undefined || length < SHORT) return Buffer.from(bytes)
    const isBehind = !sink.hasWritten()
    if (isBehind && length < (reads.isScarce ? LONG : MIDDLE)) return Buffer.from(bytes)
    const loan = this.#loans.get(stream)
    const last = buffer ?? reads.buffers
    if (loan === undefined) {
      this.#loans.set(stream, { sink, since: last, last })
      return bytes
    }
    if (loan.sink !== sink && loan.sink.hasWritten?.() !== true) reads.forget()
    loan.sink = sink
    // Its earlier bytes are written, and bytes that it holds arrived later.
    if (!isBehind) loan.since = last
    if (last > loan.last) loan.last = last
    return bytes
  }

  protected override cutOff(stream: ServerStream, code: number): void {
    this.observer.reset?.(code === NO_ERROR ? 'complete' : resetReason(code))
    super.cutOff(stream, code)
    // The client violated the protocol so that the stream had to be reset.
    if (code === PROTOCOL_ERROR || code === FLOW_CONTROL_ERROR || code === STREAM_CLOSED)
      this.guard.spendReset()
  }

  isIdle(id: number): boolean {
    return id > this.last || id % 2 === 0
  }

  /** RFC 9218 §7.1: a priority for a stream that is not open yet may be discarded. */
  prioritized(id: number, value: string): number {
    if (id === 0) return PROTOCOL_ERROR
    this.streams.get(id)?.prioritize(value)
    return NO_ERROR
  }

  wasReset(id: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    this.remove(stream, 'over')
    // After the complete response, a reset cancels nothing.
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
      this.#reject(id, REFUSED_STREAM)
      // A client that acknowledged the settings knows the limit.
      if (this.isAcknowledged) this.guard.spendReset()
      return
    }
    if (dependsOnItself) {
      this.observer.reset?.('malformed')
      this.#reject(id, PROTOCOL_ERROR)
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
    // Calls on behalf of ended streams have returned when another stream begins.
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

  #reject(id: number, code: number): void {
    this.output.frames.reset(id, code)
    this.output.schedule()
    this.closedStreams.note(id, 'cut')
  }

  /** The second block of a request contains its trailers. */
  protected onBlock(stream: ServerStream, fields: FieldBlock, endsStream: boolean): void {
    if (stream.hasEnded) this.failStream(stream.id, STREAM_CLOSED)
    // RFC 9113 §8.1: trailers end the request.
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
    this.#reject(id, STREAM_CLOSED)
  }

  protected removed(stream: ServerStream): void {
    const loan = this.#loans.get(stream)
    if (loan !== undefined) {
      this.#loans.delete(stream)
      // Its exchange is over, and the end of the use of its bytes will not be reported.
      if (!isRepaid(stream, loan.sink)) this.reads?.forget()
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
