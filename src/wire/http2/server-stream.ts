// HOT PATH: one request of a client over HTTP/2, and its response. Guarded by bench/proxy.ts.
// Liberties: the head of a response is encoded when its first bytes leave, from where it was read.

import type { Recorded } from '../../exchange/recorded.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { LAST_CHUNK, writeChunked } from '../http1/chunked.ts'
import type { FieldLines, NameSet } from '../http1/field-lines.ts'
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

  /** Parses the head, and reports the request or its rejection to the owner. */
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
      this.#events.rejected(this, rejection, false)
      this.#reset(PROTOCOL_ERROR, rejection.word)
      return
    }
    head.method = ''
    this.#events.rejected(this, rejection, true)
    if (!this.hasResponded) this.#reset(PROTOCOL_ERROR, rejection.word)
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

  /** Relevant only when the stream has to wait. */
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
    // No more of it will be requested; unconsumed bytes are returned to the connection window.
    if (this.held.length > 0) this.#discard(this.held.clear())
    if (this.isSent) this.#owner.sent(this.out)
  }

  reply(_: Recorded, status: number, lines: FieldLines, body: Buffer | string): void {
    if (this.isResponding || this.isOver) return
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    this.isBegun = true
    this.out.reply(status, lines, bytes, this.head.method === 'HEAD')
    this.end(undefined, false)
  }

  abort(): void {
    this.#reset(INTERNAL_ERROR, 'aborted')
  }

  /** Only possible for an extended CONNECT (RFC 8441). */
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

  /** The upstream has ended the tunnel: further bytes of the client are dropped. */
  endTunnel(): void {
    this.end(undefined, false)
  }

  expire(): void {
    const isBodyLate = !this.isWhole && !this.isBegun && this.sink !== undefined
    if (this.isLingering) this.#owner.reset(this, NO_ERROR)
    else if (isBodyLate) this.#unreadable('body-timeout')
    else this.#reset(CANCEL, 'timeout')
  }

  /** The response has been written completely. Returns whether the stream is over. */
  sent(): boolean {
    this.isSent = true
    // This can happen synchronously, before `end` has notified the owner of the exchange.
    if (!this.isFinished) return false
    if (this.hasEnded) return true
    // Keep reading the request for a moment: some clients drop a response that arrives together
    // with the reset of its stream. RFC 9113 §8.1: NO_ERROR requests that the client stop sending.
    this.isLingering = true
    this.deadline = performance.now() + LINGER
    return false
  }

  /** The client accepts more of the response again. */
  drained(): void {
    if (this.isOver) this.deadline = performance.now() + this.#limits.writeTimeout
    else {
      this.#awaitClient()
      this.#events.drained(this)
    }
  }

  /** Receives body bytes. */
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

  /** Whether the rest of the body is consumed as it arrives. */
  get awaitsBody(): boolean {
    const isTaken = this.sink !== undefined && !this.isPaused && !this.#awaitsTunnel
    return isTaken && !this.hasEnded && !this.isOver
  }

  /**
   * Bytes that arrive before the backend accepts the tunnel are not for the reader of the request.
   */
  get #awaitsTunnel(): boolean {
    return this.head.upgrade !== '' && !this.isTunnel
  }

  /** The client has ended its side. */
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
    // A body with a known length is forwarded without room for trailers.
    if (this.head.framing === 'chunked') {
      this.head.filterTrailers?.(trailers)
      this.trailers = trailers
    }
    this.ended()
  }

  /** The stream is closed, by either side. Held bytes are returned to the connection window. */
  gone(reason: string): void {
    if (this.isGone) return
    this.isGone = true
    this.deadline = Number.POSITIVE_INFINITY
    this.out.stop()
    if (this.held.length > 0) this.#owner.returnWindow(this.held.clear())
    this.#stop(reason)
  }

  /** `buffer`: for held bytes, the number of their buffer; -1: they are a copy. */
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

  /** Returns half of the window at a time, so that not every frame causes a WINDOW_UPDATE. */
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

  /** Stops reading the request; the owner of the exchange is responsible for the response. */
  #unreadable(word: RejectionWord): void {
    const sink = this.sink
    this.sink = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.#events.unreadable(this, rejectionOf(reject(word)))
    sink?.abort(word)
  }

  /**
   * Sets a deadline while the gateway waits for the client; the upstream has its own deadlines. A
   * bidirectional stream may be quiet for as long as it likes: PING detects dead clients. A
   * half-closed tunnel must not last forever.
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

  /** Ends the exchange before its response is complete. */
  #stop(reason: string): void {
    if (this.isOver) return
    this.isOver = true
    const sink = this.sink
    this.sink = undefined
    // The reason first: to the sink alone, it would look like a fault of the upstream.
    this.#events.aborted(this, reason)
    sink?.abort(reason)
  }
}
