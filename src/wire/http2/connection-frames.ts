// HOT PATH: the streams of one connection, and their frames. Guarded by bench/proxy.ts.
// Liberties: one block serves all connections.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import { type ClosedStream, ClosedStreams } from './closed-streams.ts'
import { ConnectionOutput, type OutputEvents } from './connection-output.ts'
import { type ControlEvents, readControlFrame } from './control-frames.ts'
import { FieldBlock } from './field-block.ts'
import { FloodGuard } from './flood-guard.ts'
import type { FrameEvents } from './frame-reader.ts'
import { HeaderBlocks } from './header-blocks.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import type { Flood, FloodLimits, Http2Observer } from './limits.ts'
import type { PeerSettings } from './peer-settings.ts'
import {
  ACK,
  COMPRESSION_ERROR,
  CONTINUATION,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  FRAME_HEAD,
  HEADERS,
  MAX_WINDOW,
  NO_ERROR,
  PROTOCOL_ERROR,
  SETTINGS,
  STREAM_CLOSED,
  WINDOW_UPDATE,
} from './protocol.ts'
import { ReceiveWindow } from './receive-window.ts'
import type { StreamOutput } from './stream-output.ts'

/** All blocks are decoded into this one, and consumed before the next one. */
const block = new FieldBlock()

/** A stream of either side. */
export interface WireStream {
  readonly id: number
  readonly out: StreamOutput
  /** Bytes that the peer may still send before the next WINDOW_UPDATE. */
  window: number
  /** Whether the peer has ended its side. */
  readonly hasEnded: boolean
  /** Whether this side has been written completely. */
  readonly isSent: boolean
  /** Milliseconds of performance.now(); Infinity: no deadline now. */
  readonly deadline: number
  expire(): void
  receive(bytes: Buffer, from: number, to: number): void
  ended(): void
  /** This side has been written completely. Returns whether the stream is over. */
  sent(): boolean
  /** The peer accepts more again. */
  drained(): void
  /** The stream is closed, by either side. */
  gone(reason: string): void
}

export interface ConnectionLimits extends FloodLimits {
  /** Bytes of all bodies that the peer may send before they are consumed. */
  readonly connectionWindow: number
  /** Whether strings in heads are Huffman-coded. */
  readonly codesTexts: boolean
}

/**
 * Handles frames for streams of either side. Subclasses interpret header blocks and manage the
 * lifecycle of the connection.
 */
export abstract class ConnectionFrames<Stream extends WireStream>
  implements OutputEvents, FrameEvents, ControlEvents
{
  /** Received bytes are no longer read. */
  isOver = false
  readonly peer: PeerSettings
  protected readonly observer: Http2Observer
  protected readonly streams: Map<number, Stream> = new Map()
  protected readonly guard: FloodGuard
  protected readonly output: ConnectionOutput
  protected readonly closedStreams: ClosedStreams = new ClosedStreams()
  protected isGreeted = false
  protected isAcknowledged = false
  protected readonly deadlines: Deadlines
  /** One shared deadline entry: an entry for each stream would cost more than a small request. */
  readonly #times: Timed = {
    deadline: Number.POSITIVE_INFINITY,
    slot: -1,
    expire: () => this.#expireStreams(),
  }
  readonly #window: ReceiveWindow
  readonly #blocks: HeaderBlocks
  readonly #decoder: HpackDecoder

  /** `listSize`: bytes of a header block, as HPACK counts them. */
  constructor(
    socket: Socket,
    peer: PeerSettings,
    limits: ConnectionLimits,
    listSize: number,
    deadlines: Deadlines,
    observer: Http2Observer,
    broke: (error: unknown) => void,
  ) {
    this.peer = peer
    this.deadlines = deadlines
    deadlines.add(this.#times)
    this.observer = observer
    this.guard = new FloodGuard(limits, observer, (what) => this.calm(what))
    this.#window = new ReceiveWindow(limits.connectionWindow)
    this.#blocks = new HeaderBlocks(listSize)
    this.#decoder = new HpackDecoder(listSize)
    const encoder = new HpackEncoder(limits.codesTexts)
    this.output = new ConnectionOutput(socket, peer, this.guard, this, encoder, broke)
  }

  /** A connection error: the peer gets GOAWAY, and nothing more is read. */
  abstract fail(code: number): void
  abstract ponged(bytes: Buffer, from: number): void
  abstract wentAway(last: number, code: number): void
  abstract wasReset(id: number, code: number): void
  abstract prioritized(id: number, value: string): number
  /** Whether the stream was never opened. */
  abstract isIdle(id: number): boolean
  /** The peer exceeded a limit. */
  protected abstract calm(what: Flood): void
  /** A complete header block arrived on an open stream. */
  protected abstract onBlock(stream: Stream, fields: FieldBlock, endsStream: boolean): void
  /** The same on a stream that is not open. */
  protected abstract onStrayBlock(
    id: number,
    fields: FieldBlock,
    endsStream: boolean,
    dependsOnItself: boolean,
  ): void
  /** DATA on a closed stream: it may have been in flight when this side reset the stream. */
  protected abstract onStrayData(id: number, length: number): void
  /** The stream no longer belongs to the connection. */
  protected abstract removed(stream: Stream): void
  /** No open streams are left. */
  protected abstract emptied(): void
  /** A bug in the gateway, which ends this stream only. */
  protected abstract broke(stream: Stream | undefined, error: unknown): void

  // Called by streams.

  returnWindow(byteCount: number): void {
    if (byteCount > 0) this.#grow(this.#window.giveBack(byteCount))
  }

  /** Whether streams hold so much that a stream that consumes its bytes may be blocked. */
  protected isWindowScarce(): boolean {
    return this.#window.isScarce()
  }

  /** A stream is blocked by what others hold. */
  extendWindow(): void {
    if (!this.isOver) this.#grow(this.#window.extend())
  }

  #grow(byteCount: number): void {
    if (byteCount === 0 || this.isOver) return
    this.output.frames.windowUpdate(0, byteCount)
    this.output.schedule()
  }

  returnStreamWindow(stream: Stream, byteCount: number): void {
    stream.window += byteCount
    this.output.frames.windowUpdate(stream.id, byteCount)
    this.output.schedule()
  }

  reset(stream: Stream, code: number): void {
    if (this.streams.has(stream.id)) this.cutOff(stream, code)
  }

  protected cutOff(stream: Stream, code: number): void {
    this.output.frames.reset(stream.id, code)
    this.output.schedule()
    this.remove(stream, 'cut')
  }

  sent(output: StreamOutput): void {
    const stream = this.streams.get(output.id)
    if (stream?.sent() === true) this.remove(stream, 'over')
  }

  drained(output: StreamOutput): void {
    this.streams.get(output.id)?.drained()
  }

  // Called by the frame reader.

  beginData(id: number, length: number, padding: number, ends: boolean): boolean {
    const isMisplaced = !this.#isInOrder() || this.isIdle(id)
    if (isMisplaced || !this.#window.spend(length)) {
      this.fail(isMisplaced ? PROTOCOL_ERROR : FLOW_CONTROL_ERROR)
      return false
    }
    this.#grow(this.#window.due())
    const stream = this.streams.get(id)
    if (stream === undefined || stream.hasEnded || length > stream.window) {
      this.returnWindow(length)
      if (stream !== undefined)
        this.failStream(id, stream.hasEnded ? STREAM_CLOSED : FLOW_CONTROL_ERROR)
      else this.onStrayData(id, length)
      return false
    }
    stream.window -= length
    // An empty frame has a purpose only if it is the last one.
    if (length === padding && !ends) this.guard.emptyFrame()
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
      this.broke(stream, error)
    }
  }

  endData(id: number): void {
    const stream = this.streams.get(id)
    try {
      stream?.ended()
    } catch (error) {
      this.broke(stream, error)
    }
    if (stream?.isSent === true) this.remove(stream, 'over')
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
      const length = FRAME_HEAD + end - from
      if (type === WINDOW_UPDATE) this.guard.windowUpdate(length)
      else this.guard.overhead(length)
      if (!this.isOver) error = readControlFrame(this, type, flags, id, bytes, from, end)
    }
    if (error === ENHANCE_YOUR_CALM) this.calm('too-many-header-frames')
    else if (error !== NO_ERROR) this.fail(error)
    else if ((type === HEADERS || type === CONTINUATION) && blocks.isWhole) this.#onBlock(id)
  }

  // Called for control frames.

  failStream(id: number, code: number): void {
    const stream = this.streams.get(id)
    if (stream !== undefined) {
      this.reset(stream, code)
      stream.gone('reset')
    } else if (this.closedStreams.find(id) !== 'cut') this.fail(code)
  }

  changed(growth: number): number {
    this.isGreeted = true
    this.guard.settings()
    if (this.isOver) return NO_ERROR
    this.output.encoder.limitTable(this.peer.tableSize)
    for (const { out } of this.streams.values()) {
      out.window += growth
      if (out.window > MAX_WINDOW) return FLOW_CONTROL_ERROR
    }
    this.output.frames.acknowledgeSettings()
    this.output.schedule()
    if (growth > 0) this.output.pump()
    return NO_ERROR
  }

  /** The peer sent a priority. */
  wished(): void {
    this.guard.priority()
  }

  acknowledged(): void {
    this.isAcknowledged = true
    this.guard.settings()
  }

  pinged(bytes: Buffer, from: number): void {
    this.guard.ping()
    if (this.isOver) return
    this.output.frames.ping(bytes, from, true)
    this.output.schedule()
  }

  grew(id: number, byteCount: number): boolean {
    if (id === 0) return this.output.grow(byteCount)
    const out = this.streams.get(id)?.out
    if (out === undefined) return true
    out.window += byteCount
    if (out.window > MAX_WINDOW) return false
    this.output.pumpOne(out)
    return true
  }

  /** The stream whose header block is incomplete, or 0. */
  protected get unfinishedHead(): number {
    return this.#blocks.stream
  }

  /** Whether frames other than CONTINUATION or the first SETTINGS are allowed now. */
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
    if (stream === undefined) this.onStrayBlock(id, block, endsStream, dependsOnItself)
    else this.onBlock(stream, block, endsStream)
  }

  protected add(stream: Stream): void {
    this.streams.set(stream.id, stream)
    this.#times.deadline = 0
  }

  protected remove(stream: Stream, closed: ClosedStream): void {
    if (!this.streams.delete(stream.id)) return
    this.closedStreams.note(stream.id, closed)
    this.removed(stream)
    if (this.streams.size > 0) return
    this.#times.deadline = Number.POSITIVE_INFINITY
    this.emptied()
  }

  #expireStreams(): void {
    const now = performance.now()
    for (const stream of this.streams.values()) {
      if (stream.deadline > now) continue
      try {
        stream.expire()
      } catch (error) {
        this.broke(stream, error)
      }
    }
  }

  /** The connection is closed: stops checking its deadlines. */
  protected unwatch(): void {
    this.deadlines.remove(this.#times)
    this.#window.close()
  }

  protected abandon(reason: string): void {
    for (const stream of [...this.streams.values()]) stream.gone(reason)
    this.streams.clear()
  }
}
