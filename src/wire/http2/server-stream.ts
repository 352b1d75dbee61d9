// HOT PATH: one request of a client over HTTP/2, and its response. Guarded by bench/proxy.ts.
// Liberties: the head of a response is encoded when its first bytes leave, from where it was read.

import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { LAST_CHUNK, writeChunked } from '../http1/chunked.ts'
import { type FieldLines, type NameSet, NO_LINES } from '../http1/field-lines.ts'
import { type Fields, joinedValue } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import { type RejectionWord, reject, rejectionOf } from '../http1/rejections.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { BodySink } from '../streams.ts'
import type { WireStream } from './connection-frames.ts'
import type { FieldBlock } from './field-block.ts'
import { type Http2Limits, LINGER } from './limits.ts'
import { setPriority } from './priority.ts'
import { CANCEL, INTERNAL_ERROR, NO_ERROR, PROTOCOL_ERROR } from './protocol.ts'
import { readHttp2Request } from './request-head.ts'
import { isMalformed } from './resets.ts'
import type { ResponseOutput } from './response-output.ts'
import { ServerStreamState } from './server-stream-state.ts'
import type { StreamOwner } from './stream-owner.ts'
import { readHttp2Trailers } from './trailers.ts'
import { windowGrowth } from './window-growth.ts'

/** One request of a client over HTTP/2, and its response. */
export class ServerStream extends ServerStreamState implements Downstream, WireStream {
  readonly version = 'HTTP/2'
  readonly takesWire = false
  readonly #limits: Http2Limits
  readonly #events: DownstreamEvents
  readonly #owner: StreamOwner

  constructor(
    id: number,
    head: RequestHead,
    out: ResponseOutput,
    limits: Http2Limits,
    events: DownstreamEvents,
    owner: StreamOwner,
  ) {
    super(id, head, out, limits.streamWindow)
    this.#limits = limits
    this.#events = events
    this.#owner = owner
  }

  /** Reads the head, and tells the owner of the request or that it was rejected. */
  begin(block: FieldBlock, endsStream: boolean): void {
    const { head } = this
    this.hasEnded = endsStream
    this.isWhole = endsStream
    const verdict = readHttp2Request(block, endsStream, this.#limits, head)
    if (verdict > 0) {
      this.#events.request(this)
      return
    }
    const rejection = rejectionOf(verdict)
    if (isMalformed(rejection.word)) {
      this.#events.rejected(this, rejection)
      this.#reset(PROTOCOL_ERROR, rejection.word)
      return
    }
    head.method = ''
    this.reply(rejection.status, NO_LINES, '')
    this.#events.rejected(this, rejection)
  }

  get bytesReceived(): number {
    return this.received
  }

  get bytesSent(): number {
    return this.out.bytesSent
  }

  get isWritten(): boolean {
    return !this.out.isHolding
  }

  get isResponding(): boolean {
    return this.isBegun && !this.out.hasHeldHead
  }

  readBody(sink: BodySink, asWire: boolean): void {
    const { head } = this
    this.sink = sink
    this.asWire = asWire && head.framing === 'chunked'
    if (this.isWhole || head.framing === 'none') {
      this.isWhole = true
      sink.end(undefined)
      return
    }
    if (head.expectContinue && !this.isBegun && !this.isGone) this.out.goOn()
    this.deadline = performance.now() + this.#limits.bodyTimeout
    this.resumeBody()
  }

  resumeBody(): void {
    this.isPaused = false
    const { held } = this
    while (held.length > 0 && !this.isPaused && !this.#awaitsTunnel)
      this.#deliver(held.take(), held.buffer)
    if (this.isPaused || this.isGone) return
    this.#returnWindow()
    if (!this.isOver) this.#awaitClient()
    if (this.hasEnded) this.#end()
    else this.#owner.extendWindow()
  }

  /** Of no interest before it has to wait. */
  prioritize(value: string | undefined): void {
    this.isPrioritized = true
    if (value !== undefined) setPriority(this.out, value)
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    // RFC 9113 §8.6: there is no 101.
    if (!this.isBegun && !this.isGone && head.status !== 101) this.out.interim(head, dropped)
  }

  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    this.isBegun = true
    this.out.respond(head, dropped, lines)
    this.#awaitClient()
    return true
  }

  flush(): void {
    this.out.flush()
  }

  write(bytes: Buffer): boolean {
    if (this.hasResponded || this.isGone) return true
    const takesMore = this.out.write(bytes)
    if (!takesMore) {
      this.deadline = performance.now() + this.#limits.writeTimeout
      if (!this.isPrioritized) this.prioritize(joinedValue(this.head.fields, 'priority'))
    }
    return takesMore
  }

  end(trailers: Fields | undefined, _asWire: boolean): void {
    if (this.hasResponded || this.isOver) return
    this.hasResponded = true
    this.isOver = true
    this.deadline = performance.now() + this.#limits.writeTimeout
    this.out.end(trailers)
    this.isFinished = true
    this.#events.finished(this)
    this.exchange = undefined
    this.sink = undefined
    // Nobody asks for more of it; what was taken by nobody counts no more for the connection.
    if (this.held.length > 0) this.#discard(this.held.clear())
    if (this.isSent) this.#owner.sent(this.out)
  }

  reply(status: number, lines: FieldLines, body: Buffer | string): void {
    if (this.isResponding || this.isOver) return
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    this.isBegun = true
    this.out.reply(status, lines, bytes, this.head.method === 'HEAD')
    this.end(undefined, false)
  }

  abort(): void {
    this.#reset(INTERNAL_ERROR, 'aborted')
  }

  /** Only an extended CONNECT asks for one (RFC 8441). */
  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean {
    if (this.head.upgrade === '' || this.isOver) return false
    this.isBegun = true
    this.isTunnel = true
    this.isWhole = false
    this.sink = sink
    this.out.tunnel(head, dropped, lines)
    this.resumeBody()
    return true
  }

  writeTunnel(bytes: Buffer): boolean {
    return this.write(bytes)
  }

  /** Nobody is there any more for what the client may still send. */
  endTunnel(): void {
    this.end(undefined, false)
  }

  expire(): void {
    const isBodyLate = !this.isWhole && !this.isBegun && this.sink !== undefined
    if (this.isLingering) this.#owner.reset(this, NO_ERROR)
    else if (isBodyLate) this.#unreadable('body-timeout')
    else this.#reset(CANCEL, 'timeout')
  }

  /** The last of the response is on its way. Whether the stream is over. */
  sent(): boolean {
    this.isSent = true
    // It may be so at once, while `end` has yet to tell whoever began the exchange.
    if (!this.isFinished) return false
    if (this.hasEnded) return true
    // What the client still sends is read for a moment: some forget a response of which they hear
    // in the same breath as of the end of its stream. RFC 9113 §8.1: NO_ERROR is to send no more.
    this.isLingering = true
    this.deadline = performance.now() + LINGER
    return false
  }

  /** The client takes more of the response again. */
  drained(): void {
    if (this.isOver) this.deadline = performance.now() + this.#limits.writeTimeout
    else {
      this.#awaitClient()
      this.#events.drained(this)
    }
  }

  /** Bytes of the body. */
  receive(bytes: Buffer, from: number, to: number): void {
    const { head } = this
    const more = bytes.subarray(from, to)
    const { length } = more
    this.arrived += length
    if (head.length >= 0 && this.arrived > head.length) {
      this.#owner.returnWindow(length)
      this.#reset(PROTOCOL_ERROR, 'truncated-body')
    } else if (this.isOver) this.#discard(length)
    else if (this.awaitsBody) this.#deliver(more, undefined)
    else this.held.hold(more, this.#owner.holds(this, more))
  }

  /** Whether somebody takes what is still to come of the body. */
  get awaitsBody(): boolean {
    const isTaken = this.sink !== undefined && !this.isPaused && !this.#awaitsTunnel
    return isTaken && !this.hasEnded && !this.isOver
  }

  /** What comes before the backend has agreed is not for whoever reads the request. */
  get #awaitsTunnel(): boolean {
    return this.head.upgrade !== '' && !this.isTunnel
  }

  /** The client says that this is all. */
  ended(): void {
    this.hasEnded = true
    if (this.isOver) return
    if (this.head.length >= 0 && this.arrived !== this.head.length)
      this.#reset(PROTOCOL_ERROR, 'truncated-body')
    else if (this.sink !== undefined && !this.isPaused) this.#end()
  }

  receiveTrailers(block: FieldBlock): void {
    const trailers = readHttp2Trailers(block)
    if (typeof trailers === 'number') {
      this.#reset(PROTOCOL_ERROR, rejectionOf(trailers).word)
      return
    }
    // A body whose length was told is sent on without a place for trailers.
    if (this.head.framing === 'chunked') {
      this.head.filterTrailers?.(trailers)
      this.trailers = trailers
    }
    this.ended()
  }

  /** The stream is closed, by whomever. What it held counts no more for the connection. */
  gone(reason: string): void {
    if (this.isGone) return
    this.isGone = true
    this.deadline = Number.POSITIVE_INFINITY
    this.out.stop()
    if (this.held.length > 0) this.#owner.returnWindow(this.held.clear())
    this.#stop(reason)
  }

  /** `buffer`: of what was held, the number of the one that it is in; -1: nobody else has it. */
  #deliver(bytes: Buffer, buffer: number | undefined): void {
    const sink = this.sink
    const { length } = bytes
    this.received += length
    this.#owner.returnWindow(length)
    this.returned += length
    if (sink === undefined || length === 0) return
    if (this.received > this.#limits.body && !this.isTunnel) {
      this.#unreadable('body-too-large')
      return
    }
    const own = buffer === -1 ? bytes : this.#owner.lend(this, bytes, sink, buffer)
    if (!(this.asWire ? writeChunked(sink, own) : sink.write(own))) this.isPaused = true
    if (this.isOver) return
    if (this.isPaused) this.isFlowing = false
    else this.#returnWindow()
    this.#awaitClient()
  }

  #discard(length: number): void {
    this.#owner.returnWindow(length)
    this.returned += length
    this.#returnWindow()
  }

  /** Half of the window at a time, so that there is not a frame for each that came. */
  #returnWindow(): void {
    if (this.returned * 2 < this.room || this.hasEnded || this.isGone) return
    const growth = this.isFlowing ? windowGrowth(this.room, this.#limits) : 0
    this.room += growth
    this.isFlowing = true
    this.#owner.returnStreamWindow(this, this.returned + growth)
    this.returned = 0
  }

  #end(): void {
    const sink = this.sink
    if (this.isWhole || this.isOver || sink === undefined) return
    this.isWhole = true
    this.#awaitClient()
    const trailers = this.trailers
    if (this.asWire) sink.write(Buffer.from(trailers === undefined ? LAST_CHUNK : '0\r\n'))
    sink.end(trailers)
  }

  /** Nothing more is read of the request; the response is up to whoever began the exchange. */
  #unreadable(word: RejectionWord): void {
    const sink = this.sink
    this.sink = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.#events.unreadable(this, rejectionOf(reject(word)))
    sink?.abort(word)
  }

  /**
   * Gives the client time for what is its turn; the upstream has its own deadlines. A stream both
   * ways may be quiet for as long as it likes: whether the client is there is asked with PING. Half
   * a tunnel may not stay for ever.
   */
  #awaitClient(): void {
    const { bodyTimeout, writeTimeout } = this.#limits
    const isBothWays = this.isTunnel || (this.isBegun && this.head.framing === 'chunked')
    const isOurTurn = this.isWhole || this.sink === undefined || this.isPaused
    if (this.out.isBlocked) this.deadline = performance.now() + writeTimeout
    else if ((isOurTurn || isBothWays) && !(this.isTunnel && this.hasEnded))
      this.deadline = Number.POSITIVE_INFINITY
    else this.deadline = performance.now() + bodyTimeout
  }

  #reset(code: number, reason: string): void {
    this.#owner.reset(this, code)
    this.gone(reason)
  }

  /** The exchange ends before its response was whole. */
  #stop(reason: string): void {
    if (this.isOver) return
    this.isOver = true
    const sink = this.sink
    this.sink = undefined
    // First why: to the sink alone it would look like the upstream's doing.
    this.#events.aborted(this, reason)
    sink?.abort(reason)
  }
}
