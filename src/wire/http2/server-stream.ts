import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { guardedEvents } from '../guard-events.ts'
import { chunkOf, LAST_CHUNK } from '../http1/chunked.ts'
import { type FieldLines, type NameSet, NO_LINES } from '../http1/field-lines.ts'
import type { Fields } from '../http1/fields.ts'
import { RequestHead } from '../http1/head.ts'
import { type RefusalWord, refusalOf, refuse } from '../http1/refusals.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { BodySink } from '../streams.ts'
import { Arrival } from './arrival.ts'
import {
  type HeaderList,
  headerObject,
  readHttp2Trailers,
  replyHeaders,
  responseHeaders,
  trailerHeaders,
} from './headers.ts'
import type { Http2Limits, ResetReason } from './limits.ts'
import { readHttp2Request } from './request-head.ts'
import { isMalformed, resetReason } from './resets.ts'

const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_PROTOCOL_ERROR } =
  constants

/** Milliseconds that a client has for an answer that came before its request was whole. */
const LINGER = 1_000

/** What a stream tells the session that it is of. */
export interface StreamOwner {
  /** Octets of heads and bodies, so that the rest can be told from them. */
  credit(octets: number): void
  /** The client broke the stream off, or did what the protocol makes us break it off for. */
  wasReset(): void
  /** We broke it off. */
  didReset(reason: ResetReason): void
  gone(stream: ServerStream): void
}

/** One request of a client over HTTP/2, and its answer. */
export class ServerStream implements Downstream, Timed {
  readonly version = 'HTTP/2'
  readonly head: RequestHead = new RequestHead()
  readonly takesWire = false
  /** node:http2 keeps what it is given until it is sent, and does not tell when. */
  readonly isWritten = false
  exchange: unknown = undefined
  bytesSent = 0
  deadline = Number.POSITIVE_INFINITY
  readonly #stream: ServerHttp2Stream
  readonly #limits: Http2Limits
  readonly #deadlines: Deadlines
  readonly #events: DownstreamEvents
  readonly #owner: StreamOwner
  #sink: BodySink | undefined = undefined
  #asWire = false
  #received = 0
  #trailers: Fields | undefined = undefined
  #isWhole = false
  /** Rendered, and not yet sent. */
  #held: HeaderList | undefined = undefined
  #isBegun = false
  #hasBody = true
  #isOpenEnded = false
  #isAnswered = false
  #isOver = false
  #isClosedByUs = false
  #isGone = false
  #isEnded = false
  #isLingering = false
  readonly #arrival: Arrival
  readonly #on: ReturnType<typeof guardedEvents>

  constructor(
    stream: ServerHttp2Stream,
    limits: Http2Limits,
    deadlines: Deadlines,
    events: DownstreamEvents,
    owner: StreamOwner,
  ) {
    this.#stream = stream
    this.#limits = limits
    this.head.lowersNames = limits.lowersNames
    this.#deadlines = deadlines
    this.#events = events
    this.#owner = owner
    this.#arrival = new Arrival(stream, (octets) => owner.credit(octets))
    deadlines.add(this)
    this.#on = guardedEvents(stream, (error) => events.broke?.(this, error))
    this.#on('error', () => {})
    this.#on('drain', () => this.#onDrain())
    this.#on('close', () => this.#onClose())
    this.#on('end', () => this.#onEnd())
    this.#on('trailers', (_headers, _flags, raw: readonly string[]) => this.#onTrailers(raw))
  }

  /** Reads the head, and tells the owner of the request or that it was refused. */
  begin(raw: readonly string[], endsStream: boolean): void {
    const { head } = this
    const verdict = readHttp2Request(raw, endsStream, this.#limits, head)
    this.#isWhole = endsStream
    if (verdict > 0) {
      this.#owner.credit(head.fields.text.length)
      this.#events.request(this)
      return
    }
    const refusal = refusalOf(verdict)
    if (isMalformed(refusal.word)) {
      this.#events.refused(this, refusal)
      this.#reset(NGHTTP2_PROTOCOL_ERROR, refusal.word)
      return
    }
    head.method = ''
    this.reply(refusal.status, NO_LINES, '')
    this.#events.refused(this, refusal)
  }

  get bytesReceived(): number {
    return this.#received
  }

  get isResponding(): boolean {
    return this.#isBegun && this.#held === undefined
  }

  readBody(sink: BodySink, asWire: boolean): void {
    const { head } = this
    const stream = this.#stream
    this.#sink = sink
    this.#asWire = asWire && head.framing === 'chunked'
    if (this.#isWhole || head.framing === 'none') {
      this.#isWhole = true
      sink.end(undefined)
      return
    }
    if (head.expectContinue && !this.#isBegun && this.isWritable)
      stream.additionalHeaders({ ':status': 100 })
    this.deadline = performance.now() + this.#limits.bodyTimeout
    this.#on('data', (bytes: Buffer) => this.#onData(bytes))
    this.#arrival.release()
    if (this.#isEnded) this.#onEnd()
  }

  resumeBody(): void {
    this.#stream.resume()
    this.#arrival.release()
    if (!this.#isOver) this.#awaitClient()
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    // RFC 9113 §8.6: there is no 101.
    if (this.#isBegun || !this.isWritable || head.status === 101) return
    this.#stream.additionalHeaders(headerObject(responseHeaders(head, dropped, NO_LINES)))
  }

  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const { framing, status } = head
    // node:http2 sends none beyond 599, and ends the stream of a 205 by itself (RFC 9110 §15.3.6).
    if (status > 599) return false
    this.#isBegun = true
    this.#hasBody = framing !== 'none' && status !== 205
    this.#isOpenEnded = framing === 'chunked' || framing === 'close'
    this.#held = responseHeaders(head, dropped, lines)
    this.#awaitClient()
    // The head goes out with the first octets, or by itself where there are none at once.
    process.nextTick(() => this.#flush(false))
    return true
  }

  /** Heads are never held back. */
  flush(): void {}

  write(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.#hasBody || this.#isAnswered) return true
    this.#flush(false)
    if (!this.isWritable) return true
    this.bytesSent += bytes.length
    const takesMore = this.#stream.write(bytes)
    if (!takesMore) this.deadline = performance.now() + this.#limits.writeTimeout
    return takesMore
  }

  end(trailers: Fields | undefined, _asWire: boolean): void {
    if (this.#isAnswered || this.#isOver) return
    const list = trailers !== undefined && this.#isOpenEnded ? trailerHeaders(trailers) : []
    this.#isAnswered = true
    const stream = this.#stream
    if (this.#held !== undefined && list.length === 0) this.#flush(true)
    else {
      this.#flush(false)
      if (this.#isOpenEnded && this.#hasBody && this.isWritable) {
        stream.once('wantTrailers', () => this.#sendTrailers(list))
      }
      stream.end()
    }
    this.#finish()
  }

  reply(status: number, lines: FieldLines, body: Buffer | string): void {
    if (this.isResponding || this.#isOver) return
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    const isBodiless = status === 204 || status === 205 || status === 304 || status < 200
    this.#isBegun = true
    this.#isOpenEnded = false
    this.#hasBody = this.head.method !== 'HEAD' && !isBodiless && bytes.length > 0
    this.#held = replyHeaders(status, lines, isBodiless ? -1 : bytes.length)
    this.write(bytes)
    this.end(undefined, false)
  }

  abort(): void {
    this.#reset(NGHTTP2_INTERNAL_ERROR, 'aborted')
  }

  /** HTTP/2 has no Upgrade, and extended CONNECT is not offered. */
  tunnel(): boolean {
    return false
  }

  writeTunnel(): boolean {
    return true
  }
  endTunnel(): void {}

  expire(): void {
    if (this.#isLingering) {
      this.#closeQuietly()
      return
    }
    const isBodyLate = !this.#isWhole && !this.#isBegun && this.#sink !== undefined
    if (isBodyLate) this.#unreadable('body-timeout')
    else this.#reset(NGHTTP2_CANCEL, 'timeout')
  }

  get isWritable(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed
  }

  #flush(endStream: boolean): void {
    const list = this.#held
    if (list === undefined) return
    this.#held = undefined
    if (!this.isWritable) return
    const isEmpty = endStream || !this.#hasBody
    this.#stream.respond(list, {
      endStream: isEmpty,
      waitForTrailers: !isEmpty && this.#isOpenEnded,
    })
  }

  #sendTrailers(list: HeaderList): void {
    if (!this.isWritable) return
    this.#stream.sendTrailers(headerObject(list))
    if (!this.#isWhole) this.#closeSoon()
  }

  /** The answer is whole. RFC 9113 §8.1: NO_ERROR tells the client to send no more. */
  #finish(): void {
    const stream = this.#stream
    if (!this.#isOver) {
      this.#isOver = true
      this.deadline = performance.now() + this.#limits.writeTimeout
      this.#events.finished(this)
      this.exchange = undefined
      this.#sink = undefined
    }
    if (this.#isWhole) stream.resume()
    else if (!this.#isOpenEnded || !this.#hasBody) {
      if (stream.writableFinished) this.#closeSoon()
      else stream.once('finish', () => this.#closeSoon())
    }
  }

  /**
   * What the client still sends is read for a moment: some forget an answer of which they hear in
   * the same breath as of the end of its stream.
   */
  #closeSoon(): void {
    if (!this.isWritable) return
    this.#isLingering = true
    this.deadline = performance.now() + LINGER
    this.#stream.resume()
  }

  /** Nothing more is read of the request; what is answered is up to whoever began the exchange. */
  #unreadable(word: RefusalWord): void {
    const sink = this.#sink
    this.#sink = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.#events.unreadable(this, refusalOf(refuse(word)))
    sink?.abort(word)
  }

  #closeQuietly(): void {
    this.deadline = Number.POSITIVE_INFINITY
    if (!this.isWritable) return
    this.#isClosedByUs = true
    this.#owner.didReset('complete')
    this.#stream.close(NGHTTP2_NO_ERROR)
  }

  #reset(code: number, reason: string): void {
    this.#owner.didReset(resetReason(code))
    this.#isClosedByUs = true
    this.#stream.close(code)
    this.#stop(reason)
  }

  #onData(bytes: Buffer): void {
    const sink = this.#sink
    if (sink === undefined || this.#isOver) return
    this.#received += bytes.length
    const { head } = this
    if (head.framing === 'length' && this.#received > head.length) {
      this.#reset(NGHTTP2_PROTOCOL_ERROR, 'truncated-body')
      return
    }
    if (this.#received > this.#limits.body) {
      this.#unreadable('body-too-large')
      return
    }
    const takesMore = bytes.length === 0 || sink.write(this.#asWire ? chunkOf(bytes) : bytes)
    if (!takesMore) this.#stream.pause()
    if (!this.#isOver) this.#awaitClient()
  }

  /**
   * Gives the client time for what is its turn; the upstream has its own deadlines. A stream both
   * ways may be quiet for as long as it likes: whether the client is there is asked with PING.
   */
  #awaitClient(): void {
    const { bodyTimeout, writeTimeout } = this.#limits
    const isBothWays = this.#isBegun && this.head.framing === 'chunked'
    const isOurTurn = this.#isWhole || this.#sink === undefined || this.#stream.isPaused()
    if (this.#stream.writableNeedDrain) this.deadline = performance.now() + writeTimeout
    else if (isOurTurn || isBothWays) this.deadline = Number.POSITIVE_INFINITY
    else this.deadline = performance.now() + bodyTimeout
  }

  #onEnd(): void {
    const sink = this.#sink
    this.#isEnded = true
    if (this.#isWhole || sink === undefined || this.#isOver) return
    // Otherwise it was broken off, and `close` follows.
    if (!this.#arrival.isWhole) return
    if (this.head.framing === 'length' && this.#received !== this.head.length) {
      this.#reset(NGHTTP2_PROTOCOL_ERROR, 'truncated-body')
      return
    }
    this.#isWhole = true
    this.#awaitClient()
    const trailers = this.#trailers
    if (this.#asWire) sink.write(Buffer.from(trailers === undefined ? LAST_CHUNK : '0\r\n'))
    sink.end(trailers)
  }

  #onTrailers(raw: readonly string[]): void {
    const trailers = readHttp2Trailers(raw)
    if (typeof trailers === 'number') this.#reset(NGHTTP2_PROTOCOL_ERROR, refusalOf(trailers).word)
    // A body whose length was told is sent on without a place for trailers.
    else if (this.head.framing === 'chunked') {
      this.head.filterTrailers?.(trailers)
      this.#trailers = trailers
    }
  }

  #onDrain(): void {
    if (this.#isOver) {
      this.deadline = performance.now() + this.#limits.writeTimeout
      return
    }
    this.#awaitClient()
    this.#events.drained(this)
  }

  #onClose(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.deadline = Number.POSITIVE_INFINITY
    this.#deadlines.remove(this)
    const isOurs = this.#isClosedByUs || this.#isLingering
    if (!isOurs && this.#stream.rstCode !== NGHTTP2_NO_ERROR) this.#owner.wasReset()
    this.#stop('reset')
    this.#owner.gone(this)
  }

  /** The exchange ends before its answer was whole. */
  #stop(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const sink = this.#sink
    this.#sink = undefined
    this.#held = undefined
    // First why: to the sink alone it would look like the upstream's doing.
    this.#events.aborted(this, reason)
    sink?.abort(reason)
  }
}
