// HOT PATH: one request to an upstream over HTTP/2, and its response. Guarded by bench/proxy.ts.
// Liberties: streams and heads of responses are reused.

import { eventTime } from '../event-clock.ts'
import { HeldBytes } from '../held-bytes.ts'
import type { Fields } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import { reject, rejectionOf } from '../http1/rejections.ts'
import { MAX_INTERIM, type ResponseHead } from '../http1/response-head.ts'
import { isWritable, type OutgoingRequest } from '../http1/write.ts'
import type { ResponseEvents, UpstreamConnection } from '../upstream-connection.ts'
import { ChunkedBody } from './chunked-body.ts'
import { ClientStreamState } from './client-stream-state.ts'
import type { WireStream } from './connection-frames.ts'
import type { FieldBlock } from './field-block.ts'
import { CANCEL, PROTOCOL_ERROR, REFUSED_STREAM } from './protocol.ts'
import { encodeConnect, encodeReceived, encodeRequest, readOutgoingHead } from './request-fields.ts'
import { readHttp2Response } from './response-block.ts'
import type { StreamHome } from './stream-home.ts'
import { readHttp2Trailers } from './trailers.ts'

/** RFC 9113 §8.1: trailers end the stream. */
const MISPLACED = reject('bad-header-value')

/** One request on a connection that carries many. */
export class ClientStream extends ClientStreamState implements UpstreamConnection, WireStream {
  readonly #home: StreamHome

  constructor(home: StreamHome) {
    super()
    this.#home = home
  }

  send(
    method: string,
    head: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean {
    const { authority: ownName, scheme } = this.#home
    const own = readOutgoingHead(head)
    if (!this.#begin(method, own.upgrade, hasBody, timeout, events)) return true
    const { encoder } = this.out.shared
    const authority = own.authority === '' ? ownName : own.authority
    if (own.upgrade === '') encodeRequest(encoder, method, scheme, authority, own)
    else {
      this.switching = encodeConnect(encoder, scheme, authority, own)
      this.hasBody = true
    }
    if (own.isChunked) this.chunks = new ChunkedBody()
    this.#sendHead()
    return true
  }

  sendReceived(
    head: RequestHead,
    out: OutgoingRequest,
    isFramed: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean {
    const { authority, scheme } = this.#home
    const hasBody = head.framing !== 'none'
    if (!isWritable(head, out)) return false
    if (!this.#begin(head.method, '', hasBody, timeout, events)) return true
    encodeReceived(this.out.shared.encoder, head, out, scheme, authority)
    if (isFramed && out.framing === 'chunked') this.chunks = new ChunkedBody()
    this.#sendHead()
    return true
  }

  /** Returns false if the request cannot be sent, which is reported in the next tick. */
  #begin(
    method: string,
    upgrade: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean {
    const home = this.#home
    this.events = events
    this.method = method
    this.hasBody = hasBody
    this.timeout = timeout
    if (upgrade !== '' && !this.#isHandshake(upgrade)) {
      process.nextTick(() => this.#fail('upgrade-over-http2', false))
      return false
    }
    if (!home.begin(this)) {
      process.nextTick(() => this.#fail('goaway', true))
      return false
    }
    this.window = home.streamWindow
    this.deadline = hasBody ? Number.POSITIVE_INFINITY : performance.now() + timeout
    return true
  }

  #sendHead(): void {
    this.out.sendBlock(!this.hasBody)
    if (!this.hasBody) this.isSent = true
  }

  /**
   * RFC 8441 §3: only if the upstream advertises support. RFC 6455 §4.1: the handshake is a GET,
   * and the upstream treats it as one, whatever method the rules evaluated.
   */
  #isHandshake(upgrade: string): boolean {
    const isGet = this.method === 'GET' && !this.hasBody
    return upgrade === 'websocket' && isGet && this.#home.allowsConnect
  }

  /**
   * Whether both directions are complete and the caller has been notified, so that it makes no
   * further calls. The owner of the other end of a tunnel may still make some.
   */
  get isDone(): boolean {
    return this.hasEnded && this.isSent && this.events === undefined && !this.isTunnel
  }

  get isShared(): boolean {
    return this.id > 1
  }

  get isWritten(): boolean {
    return this.id === 0 || !this.out.isHolding
  }

  write(bytes: Buffer): boolean {
    if (this.#isUnwanted) return true
    const { out } = this
    const verdict = this.chunks?.write(bytes, out) ?? (out.write(bytes) ? 1 : 0)
    if (verdict < 0) this.#fail(rejectionOf(verdict).word, false)
    // Body bytes may take as long as the client needs, as long as the upstream accepts them.
    else if (verdict === 0) this.deadline = performance.now() + this.timeout
    else if (this.isResponding) this.#awaitMore()
    return verdict !== 0
  }

  writeText(text: string): boolean {
    return this.write(Buffer.from(text, 'latin1'))
  }

  end(trailers?: Fields): void {
    const chunks = this.chunks
    if (this.#isUnwanted) return
    if (chunks?.isDone === false) {
      this.#fail('truncated-body', false)
      return
    }
    this.isEnding = true
    if (this.isResponding) this.#awaitMore()
    else this.deadline = performance.now() + this.timeout
    this.out.end(chunks === undefined ? trailers : chunks.trailers)
  }

  /** Whether nothing more of the request must be sent. */
  get #isUnwanted(): boolean {
    return this.events === undefined || this.isEnding || this.id === 0
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (!this.isResponding) return
    this.isPaused = false
    const held = this.held
    if (held !== undefined && held.length > 0 && this.events !== undefined)
      this.#deliver(held.take(), this.events)
    if (this.isPaused || this.events === undefined) return
    this.#awaitMore()
    this.#returnWindow()
    if (this.hasEnded) this.#finish(this.events)
  }

  tunnel(idleTimeout: number): void {
    this.isTunnel = true
    this.timeout = idleTimeout
    this.#awaitMore()
  }

  /** While the response is paused, its receiver has a deadline; a tunnel has no other. */
  #awaitMore(): void {
    const isWaiting = this.events !== undefined && (!this.isPaused || this.isTunnel)
    this.deadline = isWaiting ? eventTime() + this.timeout : Number.POSITIVE_INFINITY
  }

  endTunnel(): void {
    this.#endOutput()
  }

  abort(): void {
    this.#over()
    this.#reset(CANCEL)
  }

  release(): void {
    if (this.isLeft) return
    this.isLeft = true
    this.#home.left(this)
  }

  expire(): void {
    if (this.isTunnel) this.#fail('tunnel-idle-timeout', false)
    else this.#fail(this.isResponding ? 'response-idle-timeout' : 'timeout', false)
  }

  /** Called when all received bytes have been processed. */
  caughtUp(): void {
    if (this.hasEnded || this.events === undefined) return
    this.#awaitMore()
    this.events.caughtUp?.()
  }

  /** The request has been written completely. Returns whether the stream is over. */
  sent(): boolean {
    this.isSent = true
    return this.hasEnded
  }

  drained(): void {
    if (this.isResponding) this.#awaitMore()
    else if (!this.isEnding) this.deadline = Number.POSITIVE_INFINITY
    this.events?.drained()
  }

  /** A header block: an interim response, the response, or trailers. */
  receiveBlock(block: FieldBlock, endsStream: boolean): void {
    if (this.events === undefined) this.hasEnded ||= endsStream
    else if (this.isResponding) this.#onTrailers(block, endsStream)
    else this.#onHead(block, endsStream, this.events)
  }

  receive(bytes: Buffer, from: number, to: number): void {
    const events = this.events
    const head = this.head
    const length = to - from
    // A paused stream must not block the others: only its own window stays closed.
    this.#home.returnWindow(length)
    if (events === undefined) return
    this.received += length
    // RFC 9113 §8.1.1: no data before the response, and neither more nor less than its length.
    const max = head === undefined || !this.isResponding ? 0 : this.#maxLength(head)
    if (this.received > max) this.#fail('truncated-body', false, PROTOCOL_ERROR)
    else if (this.isPaused) this.#hold(bytes, from, to)
    else this.#deliver(bytes.subarray(from, to), events)
  }

  ended(): void {
    const events = this.events
    this.hasEnded = true
    if (events === undefined) return
    const head = this.head
    if (head === undefined || !this.isResponding) {
      this.#fail('bad-status-line', false, PROTOCOL_ERROR)
      return
    }
    if (head.framing === 'length' && this.received !== head.length)
      this.#fail('truncated-body', false, PROTOCOL_ERROR)
    else if (this.held === undefined || this.held.length === 0) this.#finish(events)
  }

  /** The upstream reset the stream. */
  wasReset(code: number): void {
    // RFC 9113 §8.7: a rejected request was not processed.
    if (code === REFUSED_STREAM && !this.hasEnded) this.#fail('refused-stream', !this.isResponding)
    else this.gone('reset')
  }

  /** According to GOAWAY, the request was not processed. */
  wasUnseen(): void {
    this.#fail('goaway', !this.isResponding)
  }

  /** `isLost`: the connection was lost. Without any response, the request may be unprocessed. */
  gone(reason: string, isLost = false): void {
    if (!this.hasEnded) {
      this.#fail(reason, isLost && !this.isResponding && this.interim === 0)
      return
    }
    // The response is complete, if perhaps not delivered; §8.1: no more of the request is wanted.
    this.isSent = true
    this.out.stop()
  }

  #maxLength({ framing, length }: ResponseHead): number {
    if (framing === 'length') return length
    return framing === 'none' && !this.isTunnel ? 0 : Number.POSITIVE_INFINITY
  }

  #onHead(block: FieldBlock, endsStream: boolean, events: ResponseEvents): void {
    this.head ??= this.#home.takeHead()
    const head = this.head
    const { limits } = this.#home
    const verdict = readHttp2Response(block, this.method, limits, head, this.switching)
    const isInterim = verdict > 0 && head.status < 200 && head.status !== 101
    if (verdict < 0 || (endsStream && (isInterim || head.framing === 'length'))) {
      const word = verdict < 0 ? rejectionOf(verdict).word : 'truncated-body'
      this.#fail(word, false, PROTOCOL_ERROR)
    } else if (isInterim) {
      if (++this.interim > MAX_INTERIM) this.#fail('too-many-interim-responses', false)
      else events.interim(head)
    } else this.#onResponse(head, endsStream, events)
  }

  #onResponse(head: ResponseHead, endsStream: boolean, events: ResponseEvents): void {
    this.deadline = Number.POSITIVE_INFINITY
    this.timeout = events.idleTimeout
    this.isResponding = true
    events.response(head)
    if (endsStream) this.ended()
    else if (this.events !== undefined) this.#home.scheduleCaughtUp(this)
  }

  #onTrailers(block: FieldBlock, endsStream: boolean): void {
    const trailers = endsStream ? readHttp2Trailers(block) : MISPLACED
    if (typeof trailers === 'number') {
      this.#fail(rejectionOf(trailers).word, false, PROTOCOL_ERROR)
      return
    }
    this.trailers = trailers
    this.ended()
  }

  #deliver(bytes: Buffer, events: ResponseEvents): void {
    const { length } = bytes
    if (length === 0) return
    const takesMore = events.data(bytes, length)
    this.#home.lent(events)
    if (this.events === undefined) return
    this.returned += length
    if (!takesMore) this.isPaused = true
    else this.#returnWindow()
    this.#home.scheduleCaughtUp(this)
  }

  /** Frames may have one byte each, so they are joined. */
  #hold(bytes: Buffer, from: number, to: number): void {
    const more = bytes.subarray(from, to)
    this.held ??= new HeldBytes()
    const held = this.held
    held.hold(held.length === 0 ? Buffer.from(more) : held.join(more), 0)
  }

  /** Returns half of the window at a time, so that not every frame causes a WINDOW_UPDATE. */
  #returnWindow(): void {
    if (this.returned * 2 < this.#home.streamWindow || this.hasEnded) return
    this.#home.returnStreamWindow(this, this.returned)
    this.returned = 0
  }

  #finish(events: ResponseEvents): void {
    const head = this.head
    const trailers = this.trailers
    this.#over()
    if (this.isTunnel) this.#endOutput()
    // The rest of a request is unwanted after its response.
    else if (!this.isSent) this.#reset(CANCEL)
    events.ended(trailers)
    if (head !== undefined) this.#home.returnHead(head)
  }

  #endOutput(): void {
    if (this.isEnding || this.id === 0) return
    this.isEnding = true
    this.out.end(undefined)
  }

  #fail(reason: string, isUntouched: boolean, code = CANCEL): void {
    const events = this.events
    this.#over()
    this.#reset(code)
    events?.failed(reason, isUntouched)
  }

  #over(): void {
    this.events = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.held?.clear()
  }

  #reset(code: number): void {
    if (this.id === 0) this.release()
    else {
      this.out.stop()
      this.#home.reset(this, code)
    }
  }
}
