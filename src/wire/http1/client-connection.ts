// HOT PATH: one connection to an upstream; sequential requests. Guarded by bench/proxy.ts.
// Liberties: the head and the body reader are one object for all responses.

import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import { eventTime } from '../event-clock.ts'
import { gatherWrites } from '../gathered-writes.ts'
import { HeldBytes } from '../held-bytes.ts'
import { keepable, type LentReads, lentReadsOf, type Reader } from '../lent-reads.ts'
import { ShortWrites } from '../short-writes.ts'
import { type Leaving, turnWrites } from '../turn-writes.ts'
import type { ResponseEvents, UpstreamConnection } from '../upstream-connection.ts'
import { BodyReader, beginBody, endBody, readBody, trailersOf } from './body.ts'
import { keepAliveTimeout } from './keep-alive.ts'
import { HEAD_LIMITS, type HeadLimits } from './message.ts'
import { reject, rejectionOf } from './rejections.ts'
import { isInterim, MAX_INTERIM, ResponseHead, readResponseHead } from './response-head.ts'

export class ClientConnection implements UpstreamConnection, Timed, Reader, Leaving {
  readonly socket: Socket
  readonly head: ResponseHead = new ResponseHead()
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  /**
   * Milliseconds that the upstream keeps the connection open while idle, from its last response.
   */
  keepAliveTimeout = Number.POSITIVE_INFINITY
  readonly #body = new BodyReader()
  readonly #writes: ShortWrites
  readonly #deadlines: Deadlines
  readonly #limits: HeadLimits
  /** Called when the connection is free for another request, and when it has closed. */
  onIdle: (connection: ClientConnection) => void = () => {}
  onClose: (connection: ClientConnection) => void = () => {}
  #events: ResponseEvents | undefined = undefined
  /** The head of a request, to be sent at the end of this turn of the event loop. */
  #unsent = ''
  /** The head with its body, if that is short and was available at once. */
  #unsentWhole: Buffer | undefined = undefined
  #method = ''
  readonly #held = new HeldBytes()
  #inBody = false
  #isTunnel = false
  #isSent = true
  #hasResponded = true
  #isUntouched = true
  #isPaused = false
  #isReading = false
  #isClosed = false
  readonly #reads: LentReads | undefined
  /** The receiver of bytes that it may still need. */
  #borrower: ResponseEvents | undefined = undefined
  /** Number of interim responses to this request. */
  #interim = 0
  /**
   * Milliseconds that the upstream has while the gateway waits for it: for its response, then for
   * each piece of it.
   */
  #timeout = Number.POSITIVE_INFINITY

  constructor(socket: Socket, deadlines: Deadlines, limits: HeadLimits = HEAD_LIMITS) {
    this.socket = socket
    this.#deadlines = deadlines
    this.#limits = limits
    this.#writes = new ShortWrites(socket)
    deadlines.add(this)
    this.#reads = lentReadsOf(socket)
    if (this.#reads === undefined) socket.on('data', (bytes: Buffer) => this.receive(bytes))
    else this.#reads.use(this)
    socket.on('end', () => this.#onEnd())
    socket.on('drain', () => this.#onDrain())
    socket.on('error', (error: NodeJS.ErrnoException) => this.#onClose(error.code ?? 'error'))
    socket.on('close', () => this.#onClose('closed'))
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get isWritten(): boolean {
    return this.#writes.isWritten
  }

  /** Begins a request; if it has a body, `write` and `end` follow. */
  send(
    method: string,
    head: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean {
    this.#method = method
    this.#events = events
    this.#inBody = false
    this.#isSent = !hasBody
    this.#hasResponded = false
    this.#isUntouched = true
    this.#isPaused = false
    this.#interim = 0
    this.#timeout = timeout
    this.deadline = hasBody ? Number.POSITIVE_INFINITY : eventTime() + timeout
    this.#unsent = head
    if (!hasBody) turnWrites.add(this)
    // Body bytes that are already available are sent with the head.
    else process.nextTick(leaveUnlessWhole, this)
    return true
  }

  leave(): void {
    const head = this.#unsent
    if (head === '') return
    const whole = this.#unsentWhole
    this.#unsent = ''
    this.#unsentWhole = undefined
    this.#writes.write(whole ?? head)
  }

  write(bytes: Buffer): boolean {
    if (this.#unsent !== '') {
      if (this.#unsentWhole === undefined && bytes.length <= SHORT_BODY) {
        this.#unsentWhole = joined(this.#unsent, bytes)
        return true
      }
      this.#leaveWithMore()
    } else if (bytes.length < GATHERED) gatherWrites(this.socket)
    return this.#took(this.socket.write(bytes))
  }

  writeText(text: string): boolean {
    if (this.#unsent !== '') this.#leaveWithMore()
    return this.#took(this.socket.write(text, 'latin1'))
  }

  /** Sends both in one write. */
  #leaveWithMore(): void {
    gatherWrites(this.socket)
    this.leave()
  }

  /** Sends the head of a request whose body was not completely available at once. */
  leaveUnlessWhole(): void {
    if (!this.#isSent) this.leave()
  }

  /** Body bytes may take as long as the client needs, as long as the upstream accepts them. */
  #took(more: boolean): boolean {
    if (!more) this.deadline = eventTime() + this.#timeout
    else if (this.#isDelivering) this.#awaitMore()
    return more
  }

  #onDrain(): void {
    if (this.#isDelivering) this.#awaitMore()
    else if (!this.#isSent) this.deadline = Number.POSITIVE_INFINITY
    this.#events?.drained()
  }

  get #isDelivering(): boolean {
    return this.#inBody || this.#isTunnel
  }

  /** While the response is paused, its receiver has a deadline; a tunnel has no other. */
  #awaitMore(): void {
    const isWaiting = !this.#isPaused || this.#isTunnel
    this.deadline = isWaiting ? eventTime() + this.#timeout : Number.POSITIVE_INFINITY
  }

  /** Ends the request. */
  end(): void {
    this.#isSent = true
    if (this.#unsent !== '') turnWrites.add(this)
    if (this.#isDelivering) this.#awaitMore()
    else this.deadline = eventTime() + this.#timeout
    this.#maybeFree()
  }

  pause(): void {
    this.#isPaused = true
    if (this.#inBody) this.deadline = Number.POSITIVE_INFINITY
    this.socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isReading) return
    if (this.#isDelivering) this.#awaitMore()
    if (this.#held.length > 0) this.#readOn(this.#held.take())
    if (!this.#isPaused) this.socket.resume()
  }

  tunnel(idleTimeout: number): void {
    this.#isTunnel = true
    this.#timeout = idleTimeout
    this.#awaitMore()
  }

  endTunnel(): void {
    this.leave()
    this.socket.end()
  }

  release(): void {
    this.onIdle(this)
  }

  abort(): void {
    this.#events = undefined
    this.socket.destroy()
    this.#onClose('aborted')
  }

  expire(): void {
    this.socket.destroy()
    if (this.#isTunnel) this.#onClose('tunnel-idle-timeout')
    else this.#onClose(this.#inBody ? 'response-idle-timeout' : 'timeout')
  }

  needsBytes(): boolean {
    if (this.#held.length > 0) return true
    if (this.#borrower === undefined) return false
    if (this.#borrower.isWritten?.() !== true) return true
    this.#borrower = undefined
    return false
  }

  receive(bytes: Buffer, from = 0, to: number = bytes.length): void {
    if (this.#events === undefined) {
      // Unrequested bytes: the connection can no longer be trusted.
      this.abort()
      return
    }
    if (this.#unsent !== '') {
      // They arrived before the request was sent, so the request gets another connection.
      this.#onClose('closed')
      return
    }
    this.#isUntouched = false
    if (this.#held.length === 0) this.#advance(bytes, from, to)
    else this.#readOn(this.#held.join(bytes.subarray(from, to)))
  }

  #readOn(held: Buffer): void {
    this.#advance(held, 0, held.length)
  }

  #advance(bytes: Buffer, from: number, end: number): void {
    this.#isReading = true
    let at = from
    while (at < end && this.#events !== undefined) {
      if (this.#isTunnel) {
        const rest = keepable(bytes, at, end)
        this.#lendTo(this.#events)
        if (!this.#events.data(rest, rest.length)) this.pause()
        at = end
        break
      }
      if (this.#isPaused) break
      const next = this.#inBody ? this.#readBody(bytes, at, end) : this.#readHead(bytes, at, end)
      if (next === 0) break
      if (next < 0) {
        this.#isReading = false
        this.#fail(rejectionOf(next).word)
        return
      }
      at = next
    }
    this.#isReading = false
    if (this.#inBody) this.#events?.caughtUp?.()
    if (this.#isDelivering) this.#awaitMore()
    if (at >= end) return
    if (this.#events === undefined) this.abort()
    else this.#held.hold(keepable(bytes, at, end))
  }

  #readHead(bytes: Buffer, at: number, end: number): number {
    const { head } = this
    const next = readResponseHead(bytes, at, end, this.#limits, this.#method, head)
    if (next <= 0) return next
    if (isInterim(head)) {
      if (++this.#interim > MAX_INTERIM) return reject('too-many-interim-responses')
      this.#events?.interim(head)
      return next
    }
    this.deadline = Number.POSITIVE_INFINITY
    this.#timeout = this.#events?.idleTimeout ?? Number.POSITIVE_INFINITY
    this.keepAliveTimeout = keepAliveTimeout(head.fields)
    const asWire = this.#events?.response(head) ?? false
    if (this.#isTunnel || this.#events === undefined) return next
    beginBody(this.#body, head.framing, head.length, asWire)
    this.#inBody = true
    if (this.#body.isDone) this.#finish(next < end)
    return next
  }

  #readBody(bytes: Buffer, at: number, end: number): number {
    const body = this.#body
    const before = body.byteCount
    const next = readBody(body, bytes, at, end)
    if (next < 0) return next
    if (body.to > body.from) {
      const piece = keepable(bytes, body.from, body.to)
      if (this.#events !== undefined) this.#lendTo(this.#events)
      const more = this.#events?.data(piece, body.byteCount - before) ?? true
      if (!more && !body.isDone) this.pause()
    }
    if (body.isDone) this.#finish(next < end)
    return next
  }

  /** If the previous receiver may still write its bytes, the end of that use is unknown. */
  #lendTo(events: ResponseEvents): void {
    const before = this.#borrower
    if (before === events) return
    this.#borrower = events
    if (before !== undefined && before.isWritten?.() !== true) this.#reads?.forget()
  }

  /**
   * Bytes after the response belong to no request: the next request on the connection would get
   * them as its response, so the connection is not reused.
   */
  #finish(hasMore: boolean): void {
    if (hasMore) this.head.keepAlive = false
    if (this.#reads !== undefined) this.#reads.isResting = true
    this.#inBody = false
    this.#hasResponded = true
    this.deadline = Number.POSITIVE_INFINITY
    this.#timeout = Number.POSITIVE_INFINITY
    const events = this.#events
    this.#events = undefined
    const trailers = trailersOf(this.#body)
    // Before the exchange is notified: it may need a connection at once.
    this.#maybeFree()
    events?.ended(trailers)
  }

  #maybeFree(): void {
    if (!this.#hasResponded) return
    if (this.#isSent && this.head.keepAlive && !this.#isClosed && !this.socket.writableNeedDrain) {
      this.onIdle(this)
      return
    }
    this.abort()
  }

  #fail(reason: string): void {
    const events = this.#events
    this.abort()
    events?.failed(reason, false)
  }

  #onEnd(): void {
    if (this.#isTunnel) {
      const events = this.#events
      this.#events = undefined
      events?.ended(undefined)
    } else if (this.#inBody && endBody(this.#body) > 0) this.#finish(false)
    else this.#onClose('closed')
    this.socket.destroy()
  }

  #onClose(reason: string): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#unsent = ''
    this.#unsentWhole = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.#deadlines.remove(this)
    const events = this.#events
    this.#events = undefined
    this.#reads?.close()
    this.onClose(this)
    if (events === undefined) return
    this.socket.destroy()
    events.failed(reason, this.#isUntouched && reason !== 'timeout')
  }
}

/** Shorter pieces of a body share one write with others that arrive at the same time. */
const GATHERED = 65_536
/** Up to this many body bytes are copied after the head, so that both are one write. */
const SHORT_BODY = 4_096

function joined(head: string, body: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(head.length + body.length)
  whole.write(head, 'latin1')
  body.copy(whole, head.length)
  return whole
}

function leaveUnlessWhole(connection: ClientConnection): void {
  connection.leaveUnlessWhole()
}
