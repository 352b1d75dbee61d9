// HOT PATH: one client's requests, one after the other, and their responses. Guarded by bench/proxy.ts.
// Liberties: the head, the body reader and the connection itself are one object for all requests.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { guardedEvents } from '../guard-events.ts'
import { HeldBytes } from '../held-bytes.ts'
import { type BodySink, NOWHERE } from '../streams.ts'
import { BodyReader, beginBody, readBody, trailersOf } from './body.ts'
import { ClientReads } from './client-reads.ts'
import { idleTimeoutBetween, timeoutInExchange } from './client-timeouts.ts'
import { closeGracefully, endOnce, HALF_CLOSED } from './close-grace.ts'
import { type FieldLines, type NameSet, NO_LINES } from './field-lines.ts'
import type { Fields } from './fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { type Refusal, refusalOf, refuse } from './rejections.ts'
import type { ResponseHead } from './response-head.ts'
import { type ConnectionField, ResponseWriter } from './response-writer.ts'
import type { ServerLimits } from './server-limits.ts'

type Phase = 'idle' | 'head' | 'exchange' | 'tunnel' | 'closed'

export class ServerConnection implements Downstream, Timed {
  readonly socket: Socket
  readonly head: RequestHead = new RequestHead()
  readonly body: BodyReader = new BodyReader()
  deadline = Number.POSITIVE_INFINITY
  exchange: unknown = undefined
  /** Set where no further request is wanted: the next response says so. */
  isDraining = false
  readonly #events: DownstreamEvents
  readonly #limits: ServerLimits
  readonly #deadlines: Deadlines
  readonly #response: ResponseWriter
  #phase: Phase = 'idle'
  readonly #held = new HeldBytes()
  readonly #reads: ClientReads
  #sink: BodySink | undefined = undefined
  #isPaused = false
  #hasResponded = false
  #isReading = false
  #ended = false
  #isTunnelOver = false
  #keepsAlive = true

  constructor(
    socket: Socket,
    limits: ServerLimits,
    deadlines: Deadlines,
    events: DownstreamEvents,
  ) {
    this.socket = socket
    this.#limits = limits
    this.#response = new ResponseWriter(socket, limits.lowersNames)
    this.head.lowersNames = limits.lowersNames
    this.#deadlines = deadlines
    this.#events = events
    this.deadline = performance.now() + limits.headTimeout
    deadlines.add(this)
    const broke = (error: unknown) => events.broke?.(this, error)
    const on = guardedEvents(socket, broke)
    this.#reads = new ClientReads(socket, this.#held, broke, (bytes) => this.#advance(bytes, 0))
    on('end', () => this.#onEnd())
    on('drain', () => this.#onDrain())
    on('error', () => this.#onClose('reset'))
    on('close', () => this.#onClose('closed'))
  }

  get isResponding(): boolean {
    return this.#response.isSent
  }

  get isWritten(): boolean {
    return this.#response.isWritten
  }

  get takesWire(): boolean {
    return this.head.minor === 1
  }

  get bytesReceived(): number {
    return this.body.octets
  }

  get bytesSent(): number {
    return this.#response.bytesSent
  }

  readBody(sink: BodySink, asWire: boolean): void {
    const { head, body } = this
    beginBody(body, head.framing, head.length, asWire, head.lowersNames)
    this.#sink = sink
    if (body.isDone) {
      sink.end(undefined)
      return
    }
    if (head.expectContinue && !this.#response.isBegun)
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    this.deadline = performance.now() + this.#limits.bodyTimeout
    this.resumeBody()
  }

  resumeBody(): void {
    const wasPaused = this.#isPaused
    this.#isPaused = false
    if (wasPaused && this.#phase === 'exchange') this.#awaitClient()
    if (this.#isReading) return
    if (this.#held.length > 0) this.#advance(this.#held.take(), 0)
    if (!this.#isPaused && this.#phase !== 'closed') this.socket.resume()
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    if (this.head.minor === 1 && this.#phase === 'exchange') this.#response.interim(head, dropped)
  }

  /** The head of the upstream's response; it is sent with the first bytes of the body. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const isOpenEnded = head.framing === 'chunked' || head.framing === 'close'
    if (isOpenEnded && this.head.minor === 0) this.#keepsAlive = false
    return this.#response.respond(head, this.head, this.#connectionField(), dropped, lines)
  }

  reply(status: number, lines: FieldLines, body: Buffer | string): void {
    if (this.#phase !== 'exchange') return
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    // What the client still sends of a request that was refused is not worth waiting for.
    if (!this.body.isDone && this.#sink === undefined) this.#keepsAlive = false
    this.#response.reply(status, this.head.method, this.#connectionField(), lines, bytes)
    this.#hasResponded = true
    this.#maybeNext()
  }

  write(bytes: Buffer, asWire: boolean, octets: number): boolean {
    if (this.#phase !== 'exchange') return true
    const more = this.#response.write(bytes, asWire, octets)
    // Only while the client takes nothing: a stream may be quiet for as long as it likes.
    if (!more || this.#ended) this.#awaitClient()
    return more
  }

  flush(): void {
    if (this.#phase === 'exchange') this.#response.flush()
  }

  get version(): string {
    return this.head.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0'
  }

  /** The response is whole. With `asWire` its last chunk was written, but for trailers. */
  end(trailers: Fields | undefined, asWire: boolean): void {
    if (this.#phase !== 'exchange' || this.#hasResponded) return
    this.#response.end(trailers, asWire)
    this.#hasResponded = true
    this.#maybeNext()
  }

  abort(): void {
    this.#events.closing?.('upstream')
    this.socket.destroy()
    this.#onClose('aborted')
  }

  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean {
    if (!this.#response.upgrade(head, dropped, lines)) return false
    this.#phase = 'tunnel'
    this.deadline = Number.POSITIVE_INFINITY
    this.#sink = sink
    this.resumeBody()
    if (this.#ended) this.#onEnd()
    return true
  }

  writeTunnel(bytes: Buffer): boolean {
    if (this.#ended) this.deadline = performance.now() + this.#limits.bodyTimeout
    return this.#response.writeTunnel(bytes)
  }

  /** Nobody is there any more for what the client may still send. */
  endTunnel(): void {
    this.#isTunnelOver = true
    closeGracefully(this.socket, this, this.#limits.writeTimeout)
  }

  /** Closes when nothing is under way, be it a request that was sent before the client can know. */
  drain(): void {
    this.isDraining = true
    if (this.#phase === 'idle') this.#awaitRequest()
  }

  expire(): void {
    const wasIdle = this.#phase === 'idle'
    // Who closed its side and is not waited for any longer went by itself.
    const isGone = this.#ended && !this.socket.writableNeedDrain
    if (!isGone) this.#events.closing?.(wasIdle ? 'idle' : 'timeout')
    if (this.#phase === 'head') {
      this.#refuse(refusalOf(refuse('head-timeout')))
      return
    }
    if (this.#phase === 'exchange' && !this.#response.isBegun && !this.body.isDone) {
      this.#unreadable(refusalOf(refuse('body-timeout')))
      return
    }
    this.socket.destroy()
    this.#onClose(wasIdle ? 'idle' : isGone ? 'closed' : 'timeout')
  }

  /** No request is to come that would be answered. */
  get #isLast(): boolean {
    return this.isDraining || (this.#ended && this.#held.length === 0 && !this.#isReading)
  }

  #connectionField(): ConnectionField {
    this.#keepsAlive &&= this.head.keepAlive && !this.#isLast
    if (!this.#keepsAlive) return 'close'
    return this.head.minor === 0 ? 'keep-alive' : ''
  }

  /** Goes on with what was received until something has to be waited for. */
  #advance(bytes: Buffer, from: number): void {
    this.#isReading = true
    let at = from
    const end = bytes.length
    while (at < end && this.#phase !== 'closed') {
      if (this.#phase === 'tunnel') {
        this.body.octets += end - at
        if (!this.#reads.pass(bytes.subarray(at), this.#sink)) this.socket.pause()
        at = end
        break
      }
      if (this.#phase !== 'exchange') {
        const next = readRequestHead(bytes, at, end, this.#limits, this.head)
        if (next === 0) {
          if (this.#phase === 'idle') {
            this.#phase = 'head'
            this.deadline = performance.now() + this.#limits.headTimeout
          }
          break
        }
        if (next < 0) {
          this.#refuse(refusalOf(next))
          break
        }
        at = next
        this.#begin()
        continue
      }
      if (this.body.isDone || this.#sink === undefined || this.#isPaused) {
        this.socket.pause()
        break
      }
      at = this.#readBody(bytes, at, end)
      if (at < 0) break
    }
    if (at >= 0 && at < end && this.#phase !== 'closed') this.#held.hold(bytes, at)
    this.#isReading = false
    if (this.#ended && this.#phase !== 'tunnel') this.#goOnEnded()
  }

  #begin(): void {
    this.#phase = 'exchange'
    this.#hasResponded = false
    this.#response.reset()
    this.#isPaused = false
    this.#keepsAlive = true
    this.#sink = undefined
    this.deadline = this.#ended ? performance.now() + HALF_CLOSED : Number.POSITIVE_INFINITY
    this.body.isDone = this.head.framing === 'none'
    this.body.octets = 0
    this.#events.request(this)
  }

  #readBody(bytes: Buffer, at: number, end: number): number {
    const { body } = this
    const next = readBody(body, bytes, at, end)
    if (next < 0 || body.octets > this.#limits.body) {
      this.#unreadable(refusalOf(next < 0 ? next : refuse('body-too-large')))
      return -1
    }
    if (body.to > body.from) {
      if (!this.#reads.pass(bytes.subarray(body.from, body.to), this.#sink)) {
        this.#isPaused = true
        this.#maybeNext()
      }
      this.#awaitClient()
    }
    if (body.isDone) {
      this.#reads.rest()
      this.#awaitClient()
      this.#sink?.end(trailersOf(body, this.head.filterTrailers))
      this.#maybeNext()
    }
    return next
  }

  #awaitClient(): void {
    const isOurTurn = this.body.isDone || this.#isPaused
    this.deadline =
      performance.now() + timeoutInExchange(this.#limits, this.socket, this.#ended, isOurTurn)
  }

  #awaitRequest(): void {
    this.deadline =
      performance.now() + idleTimeoutBetween(this.#limits, this.socket, this.isDraining)
  }

  /** Nothing more is read of the request; what is answered is up to whoever began the exchange. */
  #unreadable(refusal: Refusal): void {
    const sink = this.#sink
    this.#sink = undefined
    this.#keepsAlive = false
    this.#events.unreadable(this, refusal)
    sink?.abort(refusal.word)
  }

  #maybeNext(): void {
    if (!this.#hasResponded || this.#phase !== 'exchange') return
    const isWhole = this.body.isDone
    if (!isWhole && this.#keepsAlive && this.#sink !== undefined) {
      if (!this.#isPaused) return
      // Nobody will ask for more of it, and the next request stands behind.
      this.#sink = NOWHERE
      this.resumeBody()
      return
    }
    this.#phase = 'idle'
    this.#events.finished(this)
    this.exchange = undefined
    this.#sink = undefined
    if (!this.#keepsAlive || !isWhole || this.#isLast) {
      this.#phase = 'closed'
      closeGracefully(this.socket, this, this.#limits.writeTimeout)
      this.socket.resume()
      return
    }
    this.#awaitRequest()
    if (this.#isReading) return
    if (this.#held.length > 0) this.#advance(this.#held.take(), 0)
    this.socket.resume()
  }

  #refuse(refusal: Refusal): void {
    this.#events.closing?.('bad-request')
    this.#keepsAlive = false
    this.head.keepAlive = false
    this.head.method = ''
    this.body.isDone = true
    this.#phase = 'exchange'
    this.#hasResponded = false
    this.reply(refusal.status, NO_LINES, '')
    this.#events.refused(this, refusal)
  }

  #onDrain(): void {
    if (this.#phase === 'idle') this.#awaitRequest()
    else if (this.#phase === 'exchange') this.#awaitClient()
    this.#events.drained(this)
  }

  #onEnd(): void {
    this.#ended = true
    if (this.#phase !== 'tunnel') this.#goOnEnded()
    else {
      // Half a tunnel may not stay for ever: who closed this side may be gone altogether.
      this.deadline = performance.now() + this.#limits.bodyTimeout
      this.#sink?.end(undefined)
    }
  }

  /** The client has closed its side: what came whole before is answered, half a request is not. */
  #goOnEnded(): void {
    if (this.#phase !== 'exchange') endOnce(this.socket)
    else if (this.#hasResponded) {
      this.#keepsAlive = false
      this.#maybeNext()
    } else if (this.body.isDone || this.#held.length > 0) this.#awaitClient()
    else {
      this.socket.destroy()
      this.#onClose('truncated-body')
    }
  }

  #onClose(reason: string): void {
    if (this.deadline === Number.NEGATIVE_INFINITY) return
    this.deadline = Number.NEGATIVE_INFINITY
    this.#deadlines.remove(this)
    const isFinished = this.#isTunnelOver && this.#phase === 'tunnel'
    const wasUnderWay = this.#phase === 'exchange' || this.#phase === 'tunnel'
    this.#phase = 'closed'
    this.#held.clear()
    if (isFinished) this.#events.finished(this)
    else if (wasUnderWay) {
      // First who went away: the other way round it would look like a fault of the upstream's.
      this.#events.aborted(this, reason)
      this.#sink?.abort(reason)
    }
    this.#events.closed()
  }
}
