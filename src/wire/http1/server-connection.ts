// HOT PATH: sequential requests of one client, and their responses. Guarded by bench/proxy.ts.
// Liberties: the head, the body reader and the connection itself are one object for all requests.

import type { Socket } from 'node:net'
import type { Recorded } from '../../exchange/recorded.ts'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { eventTime } from '../event-clock.ts'
import { guardedEvents } from '../guard-events.ts'
import { HeldBytes } from '../held-bytes.ts'
import { type BodySink, NOWHERE } from '../streams.ts'
import { BodyReader, beginBody, readBody, trailersOf } from './body.ts'
import { ClientReads } from './client-reads.ts'
import { idleTimeoutBetween, timeoutInExchange } from './client-timeouts.ts'
import { endOnce, HALF_CLOSED } from './close-grace.ts'
import type { FieldLines, NameSet } from './field-lines.ts'
import type { Fields } from './fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { type Rejection, reject, rejectionOf } from './rejections.ts'
import type { ResponseHead } from './response-head.ts'
import { type ConnectionField, ResponseWriter } from './response-writer.ts'
import { permitUpgrade, type ServerLimits } from './server-limits.ts'
import { type ServerState, STATES, type StateName } from './server-states.ts'

export class ServerConnection implements Downstream, Timed {
  readonly socket: Socket
  readonly head: RequestHead = new RequestHead()
  readonly body: BodyReader = new BodyReader()
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  exchange: unknown = undefined
  /** Set when no further requests are wanted: the next response announces it. */
  isDraining = false
  readonly #events: DownstreamEvents
  readonly #limits: ServerLimits
  readonly #deadlines: Deadlines
  readonly #response: ResponseWriter
  #state: ServerState = STATES.idle
  readonly #held = new HeldBytes()
  readonly #reads: ClientReads
  #sink: BodySink | undefined = undefined
  #isReading = false
  #ended = false
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
    this.deadline = eventTime() + limits.headTimeout
    deadlines.add(this)
    const broke = (error: unknown) => events.broke?.(this, error)
    const on = guardedEvents(socket, broke)
    this.#reads = new ClientReads(socket, this.#held, broke, (...read) => this.#advance(...read))
    on('end', () => this.#onEnd())
    on('drain', () => this.#onDrain())
    on('error', () => this.#onClose('reset'))
    on('close', () => this.#onClose('closed'))
  }

  get state(): StateName {
    return this.#state.name
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
    return this.body.byteCount
  }

  get bytesSent(): number {
    return this.#response.bytesSent
  }

  readBody(sink: BodySink, asWire: boolean): void {
    const { head, body } = this
    beginBody(body, head.framing, head.length, asWire, head.lowersNames)
    this.#sink = sink
    if (body.isDone) {
      this.#go(this.#state.on.end)
      sink.end(undefined)
      return
    }
    this.#go(this.#state.on.read)
    if (head.expectContinue && !this.#response.isBegun)
      this.#response.settled.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    this.deadline = eventTime() + this.#limits.bodyTimeout
    this.resumeBody()
  }

  resumeBody(): void {
    if (this.#go(this.#state.on.resume)) this.#awaitClient()
    this.#readOn()
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    if (this.head.minor === 1 && this.#state.isExchange) this.#response.interim(head, dropped)
  }

  /** Renders the head of the upstream's response; it is sent with the first bytes of the body. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const isOpenEnded = head.framing === 'chunked' || head.framing === 'close'
    if (isOpenEnded && this.head.minor === 0) this.#keepsAlive = false
    return this.#response.respond(head, this.head, this.#connectionField(), dropped, lines)
  }

  reply(_: Recorded, status: number, lines: FieldLines, body: Buffer | string): void {
    const { isExchange, isWhole, hasResponded, on } = this.#state
    if (!isExchange || hasResponded) return
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    // The rest of a rejected request is not worth waiting for.
    if (!isWhole && on.respond === undefined) this.#keepsAlive = false
    this.#response.reply(status, this.head.method, this.#connectionField(), lines, bytes)
    this.#responded()
  }

  write(bytes: Buffer, asWire: boolean, byteCount: number): boolean {
    if (!this.#state.isExchange) return true
    const more = this.#response.write(bytes, asWire, byteCount)
    // Only while the client accepts nothing: a stream may be quiet for as long as it likes.
    if (!more || this.#ended) this.#awaitClient()
    return more
  }

  flush(): void {
    if (this.#state.isExchange) this.#response.flush()
  }

  get version(): string {
    return this.head.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0'
  }

  /** Ends the response. With `asWire`, its last chunk was written, except for trailers. */
  end(trailers: Fields | undefined, asWire: boolean): void {
    if (!this.#state.isExchange || this.#state.hasResponded) return
    this.#response.end(trailers, asWire)
    this.#responded()
  }

  abort(): void {
    this.#events.closing?.('upstream')
    this.#response.cut()
    this.#onClose('aborted')
  }

  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean {
    if (!this.#response.upgrade(head, dropped, lines)) return false
    this.#go(this.#state.on.upgrade)
    this.deadline = Number.POSITIVE_INFINITY
    this.#sink = sink
    this.resumeBody()
    if (this.#ended) this.#onEnd()
    return true
  }

  writeTunnel(bytes: Buffer): boolean {
    if (this.#ended) this.deadline = eventTime() + this.#limits.bodyTimeout
    return this.#response.writeTunnel(bytes)
  }

  /** The upstream has ended the tunnel: further bytes of the client are dropped. */
  endTunnel(): void {
    this.#go(this.#state.on.leave)
    this.#response.close(this, this.#limits.writeTimeout)
  }

  /** Closes when idle, after serving a request that the client sent before it could know. */
  drain(): void {
    this.isDraining = true
    if (this.#state === STATES.idle) this.#awaitRequest()
  }

  expire(): void {
    const { name, isExchange, isWhole } = this.#state
    const wasIdle = name === 'idle'
    // A half-closed client that the gateway no longer waits for closed the connection itself.
    const isGone = this.#ended && !this.socket.writableNeedDrain
    if (!isGone) this.#events.closing?.(wasIdle ? 'idle' : 'timeout')
    if (name === 'head') this.#reject(rejectionOf(reject('head-timeout')))
    else if (isExchange && !isWhole && !this.#response.isBegun)
      this.#unreadable(rejectionOf(reject('body-timeout')))
    else {
      this.#response.cut()
      this.#onClose(wasIdle ? 'idle' : isGone ? 'closed' : 'timeout')
    }
  }

  /** Whether no further request will get a response. */
  #isLast(): boolean {
    return this.isDraining || (this.#ended && this.#held.length === 0 && !this.#isReading)
  }

  #connectionField(): ConnectionField {
    this.#keepsAlive &&= this.head.keepAlive && !this.#isLast()
    if (!this.#keepsAlive) return 'close'
    return this.head.minor === 0 ? 'keep-alive' : ''
  }

  /** Returns false if there is no such step from this state. */
  #go(next: ServerState | undefined): boolean {
    if (next === undefined) return false
    this.#state = next
    return true
  }

  /** Processes received bytes until it must wait for something. */
  #advance(bytes: Buffer, from: number, end: number): void {
    this.#isReading = true // Reentrant calls must not start to process more.
    let at = from
    while (at >= 0 && at < end) {
      const { reads } = this.#state
      if (reads === 'body') at = this.#readBody(bytes, at, end)
      else if (reads === 'head') {
        const next = this.#readHead(bytes, at, end)
        if (next <= 0) break
        at = next
      } else if (reads === 'tunnel') {
        this.body.byteCount += end - at
        if (!this.#reads.pass(bytes, at, end, this.#sink)) this.socket.pause()
        at = end
      } else {
        if (this.#state.isExchange) this.socket.pause()
        break
      }
    }
    const { reads, isExchange } = this.#state
    if (at >= 0 && at < end && (isExchange || reads !== 'nothing')) this.#reads.hold(bytes, at, end)
    this.#isReading = false
    if (this.#ended && reads !== 'tunnel') this.#goOnEnded()
  }

  /** Processes held bytes, and reads more. */
  #readOn(): void {
    if (this.#isReading) return
    this.#reads.readHeld()
    const { name } = this.#state
    if (name !== 'paused' && name !== 'closing' && name !== 'closed') this.socket.resume()
  }

  #readHead(bytes: Buffer, at: number, end: number): number {
    const next = readRequestHead(bytes, at, end, this.#limits, this.head)
    if (next > 0) this.#begin()
    else if (next < 0) this.#reject(rejectionOf(next))
    else if (this.#go(this.#state.on.begin)) this.deadline = eventTime() + this.#limits.headTimeout
    return next
  }

  #begin(): void {
    const { on } = this.#state
    permitUpgrade(this.head, this.#limits.upgrades)
    this.#go(this.head.framing === 'none' ? on.requestWhole : on.request)
    this.#response.reset()
    this.#keepsAlive = true
    this.#sink = undefined
    this.deadline = this.#ended ? eventTime() + HALF_CLOSED : Number.POSITIVE_INFINITY
    this.body.byteCount = 0
    this.#events.request(this)
  }

  #readBody(bytes: Buffer, at: number, end: number): number {
    const { body } = this
    const next = readBody(body, bytes, at, end)
    if (next < 0 || body.byteCount > this.#limits.body) {
      this.#unreadable(rejectionOf(next < 0 ? next : reject('body-too-large')))
      return -1
    }
    if (body.to > body.from) {
      const more = this.#reads.pass(bytes, body.from, body.to, this.#sink)
      if (!more) this.#go(this.#state.on.pause)
      // No more of it will be requested.
      if (this.#state === STATES.discarded) this.#sink = NOWHERE
      if (this.#state.isExchange) this.#awaitClient()
    }
    if (body.isDone && this.#go(this.#state.on.end)) {
      this.#reads.rest()
      this.#awaitClient()
      this.#sink?.end(trailersOf(body, this.head.filterTrailers))
      if (this.#state === STATES.done) this.#finish()
    }
    return next
  }

  #awaitClient(): void {
    const isOurTurn = this.#state.isWhole || this.#state === STATES.paused
    this.deadline =
      eventTime() + timeoutInExchange(this.#limits, this.socket, this.#ended, isOurTurn)
  }

  #awaitRequest(): void {
    this.deadline = eventTime() + idleTimeoutBetween(this.#limits, this.socket, this.isDraining)
  }

  /** Stops reading the request; the owner of the exchange is responsible for the response. */
  #unreadable(rejection: Rejection): void {
    const sink = this.#sink
    this.#sink = undefined
    this.#keepsAlive = false
    this.#go(this.#state.on.spoil)
    this.#events.unreadable(this, rejection)
    sink?.abort(rejection.word)
  }

  /** Reads the rest of the request first, if another request may follow. */
  #responded(): void {
    if (!this.#keepsAlive || !this.#go(this.#state.on.respond)) this.#finish()
    else if (this.#state === STATES.discarded) {
      this.#sink = NOWHERE
      this.#awaitClient()
      this.#readOn()
    }
  }

  #finish(): void {
    const { isWhole } = this.#state
    if (!this.#go(this.#state.on.finish)) return
    this.#events.finished(this)
    this.exchange = undefined
    this.#sink = undefined
    if (!this.#keepsAlive || !isWhole || this.#isLast()) {
      this.#go(this.#state.on.leave)
      this.#response.close(this, this.#limits.writeTimeout)
      this.socket.resume()
      return
    }
    this.#awaitRequest()
    this.#readOn()
  }

  #reject(rejection: Rejection): void {
    this.#events.closing?.('bad-request')
    this.#keepsAlive = false
    this.head.method = ''
    this.#go(this.#state.on.reject)
    this.#events.rejected(this, rejection, rejection.word !== 'not-http')
    if (this.#state.isExchange) this.#responded()
  }

  #onDrain(): void {
    if (this.#state === STATES.idle) this.#awaitRequest()
    else if (this.#state.isExchange) this.#awaitClient()
    this.#events.drained(this)
  }

  #onEnd(): void {
    this.#ended = true
    if (this.#state.reads !== 'tunnel') this.#goOnEnded()
    else {
      // A half-open tunnel must not last forever: a half-closed client may be gone altogether.
      this.deadline = eventTime() + this.#limits.bodyTimeout
      this.#sink?.end(undefined)
    }
  }

  /** The client closed its side: complete requests get a response, a partial one does not. */
  #goOnEnded(): void {
    const { isExchange, isWhole, hasResponded } = this.#state
    if (!isExchange) endOnce(this.#response.settled)
    else if (hasResponded) {
      this.#keepsAlive = false
      this.#finish()
    } else if (isWhole || this.#held.length > 0) this.#awaitClient()
    else {
      this.#response.settled.destroy()
      this.#onClose('truncated-body')
    }
  }

  #onClose(reason: string): void {
    const state = this.#state
    if (!this.#go(state.on.close)) return
    this.deadline = Number.POSITIVE_INFINITY
    this.#deadlines.remove(this)
    this.#held.clear()
    if (state === STATES.leaving) this.#events.finished(this)
    else if (state.isExchange || state === STATES.tunnel) {
      // First that the client is gone: the other order would look like a fault of the upstream.
      this.#events.aborted(this, reason)
      this.#sink?.abort(reason)
    }
    this.#events.closed()
  }
}
