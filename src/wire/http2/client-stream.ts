import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import type { Deadlines, Timed } from '../deadlines.ts'
import { BodyReader, beginBody, readBody, trailersOf } from '../http1/body.ts'
import type { Fields } from '../http1/fields.ts'
import type { HeadLimits } from '../http1/message.ts'
import { refusalOf } from '../http1/rejections.ts'
import { MAX_INTERIM, ResponseHead } from '../http1/response-head.ts'
import type { ResponseEvents, UpstreamConnection } from '../upstream-connection.ts'
import { Arrival } from './arrival.ts'
import { readHttp2Response, requestHeaders } from './client-headers.ts'
import { extendedConnect } from './extended-connect.ts'
import { headerObject, readHttp2Trailers, trailerHeaders } from './headers.ts'

const { NGHTTP2_CANCEL, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants
const { NGHTTP2_FLAG_END_STREAM } = constants

/** The connection that a stream is of. */
export interface StreamHome {
  readonly session: ClientHttp2Session
  readonly scheme: 'http' | 'https'
  /** For requests that name no host. */
  readonly authority: string
  /** The last stream that the upstream says it looked at, once it says so. */
  readonly lastSeen: number
  heard(): void
  left(stream: ClientStream): void
}

/** Room for one request on a connection that carries many. */
export class ClientStream implements UpstreamConnection, Timed {
  deadline = Number.POSITIVE_INFINITY
  readonly #home: StreamHome
  readonly #deadlines: Deadlines
  readonly #limits: HeadLimits
  readonly #head = new ResponseHead()
  readonly #body = new BodyReader()
  #stream: ClientHttp2Stream | undefined = undefined
  #events: ResponseEvents | undefined = undefined
  #method = ''
  #isChunked = false
  #isSent = true
  #isResponding = false
  #interim = 0
  /** Of a request that asks for a tunnel: what makes its response one of HTTP/1.1. */
  #switching = ''
  #isTunnel = false
  #received = 0
  #trailers: Fields | undefined = undefined
  #isLeft = false
  /** Milliseconds that the upstream has where it is its turn; Infinity once it answers. */
  #timeout = Number.POSITIVE_INFINITY
  #arrival: Arrival | undefined = undefined

  constructor(home: StreamHome, deadlines: Deadlines, limits: HeadLimits) {
    this.#home = home
    this.#deadlines = deadlines
    this.#limits = limits
  }

  send(
    method: string,
    head: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean {
    const { session, scheme, authority } = this.#home
    const request = requestHeaders(head, scheme, authority)
    this.#events = events
    this.#method = method
    this.#isSent = !hasBody
    this.#isChunked = request.isChunked
    if (request.isChunked) beginBody(this.#body, 'chunked', -1)
    let { headers } = request
    if (request.upgrade !== '') {
      // RFC 8441 §3: only where the upstream says that it knows it. RFC 6455 §4.1: the handshake is a
      // GET, and it is as one that the upstream takes it, whatever method rules were asked about.
      const { enableConnectProtocol } = session.remoteSettings
      const isHandshake = request.upgrade === 'websocket' && method === 'GET' && !hasBody
      if (!isHandshake || !enableConnectProtocol) {
        process.nextTick(() => this.#fail('upgrade-over-http2', false))
        return true
      }
      const connect = extendedConnect(headers)
      headers = connect.headers
      this.#switching = connect.switching
      this.#isSent = false
    }
    this.#timeout = timeout
    this.deadline = hasBody ? Number.POSITIVE_INFINITY : performance.now() + timeout
    this.#deadlines.add(this)
    const stream = session.request(headers, {
      endStream: this.#isSent,
      waitForTrailers: hasBody && request.isChunked,
    })
    this.#stream = stream
    this.#arrival = new Arrival(stream, () => this.#home.heard())
    stream.on('response', (_headers, flags, raw) => this.#onResponse(flags, raw as never))
    stream.on('headers', (_headers, _flags, raw) => this.#onInterim(raw as never))
    stream.on('trailers', (_headers, _flags, raw) => this.#onTrailers(raw as never))
    stream.on('wantTrailers', () => this.#sendTrailers())
    stream.on('drain', () => this.#onDrain())
    stream.on('end', () => this.#onEnd())
    stream.on('error', () => {})
    stream.on('close', () => this.#onClose())
    return true
  }

  write(bytes: Buffer): boolean {
    const stream = this.#stream
    if (stream === undefined || stream.destroyed || stream.closed || this.#isSent) return true
    const more = this.#isChunked ? this.#writeChunks(stream, bytes) : stream.write(bytes)
    // A body may come for as long as the client sends it, if only the upstream takes it.
    if (!more) this.deadline = performance.now() + this.#timeout
    return more
  }

  writeText(text: string): boolean {
    return this.write(Buffer.from(text, 'latin1'))
  }

  end(): void {
    this.#isSent = true
    this.deadline = performance.now() + this.#timeout
    if (this.#isChunked && !this.#body.isDone) this.#fail('truncated-body', false)
    else this.#stream?.end()
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    if (!this.#isResponding) return
    this.#stream?.resume()
    this.#arrival?.release()
  }

  tunnel(): void {
    this.#isTunnel = true
  }

  endTunnel(): void {
    this.#isSent = true
    this.#stream?.end()
  }

  abort(): void {
    this.#events = undefined
    this.#reset(NGHTTP2_CANCEL)
  }

  release(): void {
    this.#leave()
  }

  expire(): void {
    this.#fail('timeout', false)
  }

  /** Takes the framing off; HTTP/2 has its own. */
  #writeChunks(stream: ClientHttp2Stream, bytes: Buffer): boolean {
    const body = this.#body
    let takesMore = true
    let at = 0
    while (at < bytes.length && !body.isDone) {
      at = readBody(body, bytes, at, bytes.length)
      if (at < 0) {
        this.#fail(refusalOf(at).word, false)
        return true
      }
      if (body.to > body.from) takesMore = stream.write(bytes.subarray(body.from, body.to))
    }
    return takesMore
  }

  #onDrain(): void {
    if (!this.#isSent) this.deadline = Number.POSITIVE_INFINITY
    this.#events?.drained()
  }

  #sendTrailers(): void {
    const stream = this.#stream
    if (stream === undefined || stream.destroyed || stream.closed) return
    const trailers = trailersOf(this.#body)
    stream.sendTrailers(trailers === undefined ? {} : headerObject(trailerHeaders(trailers)))
  }

  #onInterim(raw: readonly string[]): void {
    this.#home.heard()
    if (readHttp2Response(raw, this.#method, this.#limits, this.#head) < 0)
      this.#fail('bad-response', false, NGHTTP2_PROTOCOL_ERROR)
    else if (++this.#interim > MAX_INTERIM) this.#fail('too-many-interim-answers', false)
    else this.#events?.interim(this.#head)
  }

  #onResponse(flags: number, raw: readonly string[]): void {
    const stream = this.#stream as ClientHttp2Stream
    this.#home.heard()
    if (this.#events === undefined) return
    const head = this.#head
    const verdict = readHttp2Response(raw, this.#method, this.#limits, head, this.#switching)
    const isEnd = (flags & NGHTTP2_FLAG_END_STREAM) !== 0
    if (verdict < 0 || (isEnd && head.framing === 'length')) {
      const word = verdict < 0 ? refusalOf(verdict).word : 'truncated-body'
      this.#fail(word, false, NGHTTP2_PROTOCOL_ERROR)
      return
    }
    this.deadline = Number.POSITIVE_INFINITY
    this.#timeout = Number.POSITIVE_INFINITY
    this.#isResponding = true
    this.#events.response(head)
    if (this.#events === undefined) return
    stream.on('data', (bytes: Buffer) => this.#onData(bytes))
    this.#arrival?.release()
    if (isEnd) this.#finish()
    else this.#events.caughtUp?.()
  }

  #onData(bytes: Buffer): void {
    if (this.#events === undefined) return
    const head = this.#head
    this.#received += bytes.length
    if (head.framing === 'length' && this.#received > head.length) {
      this.#fail('truncated-body', false, NGHTTP2_PROTOCOL_ERROR)
      return
    }
    if (bytes.length > 0 && !this.#events.data(bytes, bytes.length)) this.#stream?.pause()
  }

  #onEnd(): void {
    const head = this.#head
    // Otherwise it was broken off, and `close` tells why.
    if (!this.#isResponding || !this.#arrival?.isWhole) return
    if (head.framing === 'length' && this.#received !== head.length)
      this.#fail('truncated-body', false, NGHTTP2_PROTOCOL_ERROR)
    else this.#finish()
  }

  #onTrailers(raw: readonly string[]): void {
    const trailers = readHttp2Trailers(raw)
    if (typeof trailers === 'number')
      this.#fail(refusalOf(trailers).word, false, NGHTTP2_PROTOCOL_ERROR)
    else this.#trailers = trailers
  }

  #finish(): void {
    const events = this.#events
    this.#events = undefined
    if (this.#isTunnel) this.#stream?.end()
    // Nobody wants the rest of a request that is answered.
    else if (!this.#isSent) this.#reset(NGHTTP2_CANCEL)
    events?.ended(this.#trailers)
  }

  #fail(reason: string, isUntouched: boolean, code = NGHTTP2_CANCEL): void {
    const events = this.#events
    this.#events = undefined
    this.#reset(code)
    events?.failed(reason, isUntouched)
  }

  #reset(code: number): void {
    this.deadline = Number.POSITIVE_INFINITY
    const stream = this.#stream
    if (stream === undefined) this.#leave()
    else if (!stream.closed) stream.close(code)
  }

  #onClose(): void {
    const { id, rstCode } = this.#stream as ClientHttp2Stream
    const { lastSeen } = this.#home
    // RFC 9113 §8.7: what was refused, or came after the last one seen, was not looked at.
    const isUnseen = id === undefined || id > lastSeen
    const isRefused = rstCode === NGHTTP2_REFUSED_STREAM
    this.#leave()
    this.#fail(
      isRefused ? 'refused-stream' : isUnseen ? 'goaway' : 'reset',
      (isRefused || isUnseen) && !this.#isResponding,
    )
  }

  #leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.#deadlines.remove(this)
    this.#home.left(this)
  }
}
