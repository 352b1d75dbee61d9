// HOT PATH: the streams of one connection, and the frames that make them. Guarded by bench/proxy.ts.
// Liberties: heads of requests are used again; one block serves all connections.

import type { Socket } from 'node:net'
import type { Deadlines } from '../deadlines.ts'
import type { DownstreamEvents } from '../downstream.ts'
import { RequestHead } from '../http1/head.ts'
import { type ClosedStream, ClosedStreams } from './closed-streams.ts'
import { type ControlEvents, readControlFrame } from './control-frames.ts'
import { FieldBlock } from './field-block.ts'
import { FloodGuard } from './flood-guard.ts'
import type { FrameEvents } from './frame-reader.ts'
import { HeaderBlocks } from './header-blocks.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { type Http2Count, type Http2Limits, type Http2Observer, listSizeOf } from './limits.ts'
import { PeerSettings } from './peer-settings.ts'
import {
  ACK,
  COMPRESSION_ERROR,
  CONTINUATION,
  DEFAULT_WINDOW,
  END_STREAM,
  FLOW_CONTROL_ERROR,
  FRAME_HEAD,
  HEADERS,
  INTERNAL_ERROR,
  LARGEST_STREAM,
  LARGEST_WINDOW,
  NO_ERROR,
  PROTOCOL_ERROR,
  REFUSED_STREAM,
  SETTINGS,
  STREAM_CLOSED,
} from './protocol.ts'
import { resetReason } from './resets.ts'
import { type OutputEvents, ServerOutput } from './server-output.ts'
import { ServerStream, type StreamOwner } from './server-stream.ts'
import { StreamOutput } from './stream-output.ts'

/** Heads that one connection keeps for its next requests. */
const MAX_HEADS = 16

/** All blocks are read into this one, and out of it before the next. */
const block = new FieldBlock()

/** What frames do to streams; how a connection lives and ends is the affair of ./server.ts. */
export abstract class ServerFrames
  implements StreamOwner, OutputEvents, FrameEvents, ControlEvents
{
  /** Nothing that comes is read any more. */
  isOver = false
  readonly peer: PeerSettings = new PeerSettings()
  protected readonly limits: Http2Limits
  protected readonly deadlines: Deadlines
  protected readonly events: DownstreamEvents
  protected readonly observer: Http2Observer
  protected readonly streams: Map<number, ServerStream> = new Map()
  protected readonly guard: FloodGuard
  protected readonly output: ServerOutput
  protected isGreeted = false
  /** The last stream that the client opened, and the last one that will be served. */
  protected last = 0
  protected lastServed: number = LARGEST_STREAM
  readonly #closedStreams = new ClosedStreams()
  readonly #blocks: HeaderBlocks
  readonly #decoder: HpackDecoder
  readonly #heads: RequestHead[] = []
  #isAcknowledged = false
  /** What the client may send on all streams together, and what it was not told of. */
  #window: number
  #returned = 0

  constructor(
    socket: Socket,
    limits: Http2Limits,
    deadlines: Deadlines,
    events: DownstreamEvents,
    observer: Http2Observer,
  ) {
    this.limits = limits
    this.deadlines = deadlines
    this.events = events
    this.observer = observer
    this.guard = new FloodGuard(limits, observer, (what) => this.calm(what))
    this.#blocks = new HeaderBlocks(listSizeOf(limits))
    this.#decoder = new HpackDecoder(listSizeOf(limits))
    this.#window = Math.max(limits.connectionWindow, DEFAULT_WINDOW)
    const broke = (error: unknown) => {
      events.broke?.(undefined, error)
      socket.destroy()
    }
    this.output = new ServerOutput(socket, this.peer, this.guard, this, broke)
  }

  /** An error of the connection: it is told, and nothing more is read. */
  abstract fail(code: number): void
  abstract ponged(bytes: Buffer, from: number): void
  abstract wentAway(): void
  /** The client broke a limit. */
  protected abstract calm(what: Http2Count): void
  /** No stream is open any more. */
  protected abstract emptied(): void

  // What streams ask for.

  returnWindow(octets: number): void {
    this.#returned += octets
    if (this.#returned * 2 < this.limits.connectionWindow || this.isOver) return
    this.output.frames.windowUpdate(0, this.#returned)
    this.output.schedule()
    this.#window += this.#returned
    this.#returned = 0
  }

  returnStreamWindow(stream: ServerStream, octets: number): void {
    stream.window += octets
    this.output.frames.windowUpdate(stream.id, octets)
    this.output.schedule()
  }

  reset(stream: ServerStream, code: number): void {
    if (!this.streams.has(stream.id)) return
    this.observer.reset?.(code === NO_ERROR ? 'complete' : resetReason(code))
    this.output.frames.reset(stream.id, code)
    this.output.schedule()
    this.#remove(stream, 'cut')
    // The client did what the protocol makes us reset it for.
    if (code === PROTOCOL_ERROR || code === FLOW_CONTROL_ERROR || code === STREAM_CLOSED)
      this.guard.spendReset()
  }

  sent(output: StreamOutput): void {
    const stream = this.streams.get(output.id)
    if (stream?.sent() === true) this.#remove(stream, 'over')
  }

  drained(output: StreamOutput): void {
    this.streams.get(output.id)?.drained()
  }

  // What the frame reader tells.

  beginData(id: number, length: number, padding: number): boolean {
    const isMisplaced = !this.#isInOrder() || this.isIdle(id)
    if (isMisplaced || length > this.#window) {
      this.fail(isMisplaced ? PROTOCOL_ERROR : FLOW_CONTROL_ERROR)
      return false
    }
    this.#window -= length
    const stream = this.streams.get(id)
    if (stream === undefined || stream.hasEnded || length > stream.window) {
      this.returnWindow(length)
      if (stream !== undefined)
        this.failStream(id, stream.hasEnded ? STREAM_CLOSED : FLOW_CONTROL_ERROR)
      else this.#strayData(id, length)
      return false
    }
    stream.window -= length
    if (length === padding) this.guard.control()
    if (padding > 0) {
      this.returnWindow(padding)
      this.returnStreamWindow(stream, padding)
    }
    return true
  }

  data(id: number, bytes: Buffer, from: number, to: number): void {
    const stream = this.streams.get(id)
    try {
      if (stream === undefined) this.returnWindow(to - from)
      else stream.receive(bytes, from, to)
    } catch (error) {
      this.#broke(stream, error)
    }
  }

  endData(id: number): void {
    const stream = this.streams.get(id)
    try {
      stream?.ended()
    } catch (error) {
      this.#broke(stream, error)
    }
    if (stream?.isSent === true) this.#remove(stream, 'over')
  }

  frame(type: number, flags: number, id: number, bytes: Buffer, from: number, end: number): void {
    const blocks = this.#blocks
    let error = NO_ERROR
    if (type === CONTINUATION) {
      if (blocks.isWhole || blocks.stream !== id) error = PROTOCOL_ERROR
      else error = blocks.continuation(flags, bytes, from, end)
    } else if (!this.#isInOrder() && !(type === SETTINGS && (flags & ACK) === 0 && blocks.isWhole))
      error = PROTOCOL_ERROR
    else if (type === HEADERS)
      error = id === 0 ? PROTOCOL_ERROR : blocks.headers(id, flags, bytes, from, end)
    else {
      this.guard.overhead(FRAME_HEAD + end - from)
      if (!this.isOver) error = readControlFrame(this, type, flags, id, bytes, from, end)
    }
    if (error !== NO_ERROR) this.fail(error)
    else if ((type === HEADERS || type === CONTINUATION) && blocks.isWhole) this.#onBlock(id)
  }

  // What control frames do.

  isIdle(id: number): boolean {
    return id > this.last || id % 2 === 0
  }

  failStream(id: number, code: number): void {
    const stream = this.streams.get(id)
    if (stream !== undefined) {
      this.reset(stream, code)
      stream.gone('reset')
    } else if (this.#closedStreams.find(id) !== 'cut') this.fail(code)
  }

  wasReset(id: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    this.#remove(stream, 'over')
    // Who has the response already breaks nothing off.
    if (!stream.isFinished) this.guard.reset()
    stream.gone('reset')
  }

  changed(growth: number): number {
    this.isGreeted = true
    this.guard.control()
    if (this.isOver) return NO_ERROR
    this.output.encoder.limitTable(this.peer.tableSize)
    for (const { out } of this.streams.values()) {
      out.window += growth
      if (out.window > LARGEST_WINDOW) return FLOW_CONTROL_ERROR
    }
    this.output.frames.acknowledgeSettings()
    this.output.schedule()
    if (growth > 0) this.output.pump()
    return NO_ERROR
  }

  acknowledged(): void {
    this.#isAcknowledged = true
    this.guard.control()
  }

  pinged(bytes: Buffer, from: number): void {
    this.guard.control()
    if (this.isOver) return
    this.output.frames.ping(bytes, from, true)
    this.output.schedule()
  }

  grew(id: number, octets: number): boolean {
    if (id === 0) return this.output.grow(octets)
    const out = this.streams.get(id)?.out
    if (out === undefined) return true
    out.window += octets
    if (out.window > LARGEST_WINDOW) return false
    this.output.pumpOne(out)
    return true
  }

  /** The stream whose head has begun and is not whole, or 0. */
  protected get unfinishedHead(): number {
    return this.#blocks.stream
  }

  /** Whether anything but a part of a header block or the first SETTINGS may come now. */
  #isInOrder(): boolean {
    return this.isGreeted && this.#blocks.isWhole
  }

  #onBlock(id: number): void {
    const { bytes, from, end, flags, dependsOnItself } = this.#blocks
    const endsStream = (flags & END_STREAM) !== 0
    if (!this.#decoder.read(bytes, from, end, block)) {
      this.fail(COMPRESSION_ERROR)
      return
    }
    const stream = this.streams.get(id)
    if (stream !== undefined) this.#onTrailers(stream, endsStream)
    else if (id % 2 === 0) this.fail(PROTOCOL_ERROR)
    else if (id <= this.last) {
      const closed = this.#closedStreams.find(id)
      if (closed !== 'cut') this.fail(closed === undefined ? PROTOCOL_ERROR : STREAM_CLOSED)
    } else this.#open(id, endsStream, dependsOnItself)
  }

  #open(id: number, endsStream: boolean, dependsOnItself: boolean): void {
    this.last = id
    this.observer.counted('stream')
    if (id > this.lastServed) {
      this.#closedStreams.note(id, 'cut')
      return
    }
    if (this.streams.size >= this.limits.streams) {
      this.observer.reset?.('refused')
      this.#refuse(id, REFUSED_STREAM)
      // Who has read the settings knows.
      if (this.#isAcknowledged) this.guard.spendReset()
      return
    }
    if (dependsOnItself) {
      this.observer.reset?.('malformed')
      this.#refuse(id, PROTOCOL_ERROR)
      this.guard.spendReset()
      return
    }
    const head = this.#heads.pop() ?? new RequestHead()
    head.lowersNames = this.limits.lowersNames
    const out = new StreamOutput(id, this.output, this.peer.window)
    const own = new ServerStream(id, head, out, this.limits, this.deadlines, this.events, this)
    this.streams.set(id, own)
    try {
      own.begin(block, endsStream)
    } catch (error) {
      this.#broke(own, error)
    }
  }

  #refuse(id: number, code: number): void {
    this.output.frames.reset(id, code)
    this.output.schedule()
    this.#closedStreams.note(id, 'cut')
  }

  #onTrailers(stream: ServerStream, endsStream: boolean): void {
    if (stream.hasEnded) this.failStream(stream.id, STREAM_CLOSED)
    // RFC 9113 §8.1: they end the request.
    else if (!endsStream) this.failStream(stream.id, PROTOCOL_ERROR)
    else {
      try {
        stream.receiveTrailers(block)
      } catch (error) {
        this.#broke(stream, error)
      }
      if (stream.isSent) this.#remove(stream, 'over')
    }
  }

  /** On a stream that is closed: that may have been on its way when we reset it. */
  #strayData(id: number, length: number): void {
    this.guard.overhead(FRAME_HEAD + length)
    if (this.#closedStreams.find(id) === 'cut' || this.isOver) return
    this.guard.spendReset()
    this.#refuse(id, STREAM_CLOSED)
  }

  #remove(stream: ServerStream, closed: ClosedStream): void {
    if (!this.streams.delete(stream.id)) return
    this.#closedStreams.note(stream.id, closed)
    if (stream.isFinished) {
      stream.gone('over')
      if (this.#heads.length < MAX_HEADS) this.#heads.push(stream.head)
    }
    if (this.streams.size === 0) this.emptied()
  }

  /** An error of ours, which costs this stream alone. */
  #broke(stream: ServerStream | undefined, error: unknown): void {
    this.events.broke?.(stream, error)
    if (stream === undefined) return
    this.reset(stream, INTERNAL_ERROR)
    stream.gone('error')
  }

  protected abandon(reason: string): void {
    for (const stream of [...this.streams.values()]) stream.gone(reason)
    this.streams.clear()
  }
}
