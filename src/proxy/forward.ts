// HOT PATH: joins a client's request to an upstream connection. Guarded by bench/proxy.ts.

import type { Exchange } from '../exchange/exchange.ts'
import type { ForwardPermit } from '../program/permit.ts'
import type { RequestPool } from '../upstream/cluster.ts'
import { RESPONSE_IDLE, TUNNEL_IDLE } from '../upstream/idle-timeouts.ts'
import type { Waiting } from '../upstream/pool.ts'
import type { Downstream } from '../wire/downstream.ts'
import { hideOfSet } from '../wire/http1/field-lines.ts'
import type { Fields } from '../wire/http1/fields.ts'
import { requestLines } from '../wire/http1/forwarded-lines.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { droppedWithId, linesWithId } from '../wire/http1/request-id-line.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { isAsked } from '../wire/http1/upgrades.ts'
import { type OutgoingRequest, renderRequestHead } from '../wire/http1/write.ts'
import type { BodySink } from '../wire/streams.ts'
import { nextTurn } from '../wire/turn-writes.ts'
import {
  isTimeout,
  type ResponseEvents,
  type UpstreamConnection,
} from '../wire/upstream-connection.ts'
import type { CallOutName } from './call-outs.ts'
import type { ForwardEvents } from './forward-events.ts'
import { grpcStatusOf } from './grpc-status.ts'
import { isRepeatable, MAX_REPEATS, UNSEEN } from './repeated-requests.ts'
import { endBody, writeBody } from './request-body.ts'
import { SentBody } from './sent-body.ts'

/** One attempt to get a response from an upstream. */
export class Forward implements ResponseEvents, BodySink, Waiting {
  readonly downstream: Downstream
  readonly exchange: Exchange
  readonly idleTimeout: number
  /** Set if the body arrives without its chunk framing. */
  encodes = false
  /** Set if the body goes nowhere else, so that it can arrive in the form for the upstream. */
  isDirect = false
  readonly #pool: RequestPool
  readonly #timeout: number
  readonly #tunnelIdle: number
  readonly #use: number | undefined
  readonly #events: ForwardEvents
  #upstream: UpstreamConnection | undefined = undefined
  #upstreamUse: number | undefined = undefined
  #isFresh = false
  #isOver = false
  #repeats = 0
  #asWire = false
  #isTunnel = false
  /** The upstream accepts a chunked body without its framing. */
  #takesPlain = false
  /** The body sent so far, as long as the upstream may report that it was not processed. */
  #sent: SentBody | undefined = undefined
  #isBodyBegun = false

  /** `idleTimeout`: 0 if it is not set. */
  constructor(
    _: ForwardPermit,
    downstream: Downstream,
    exchange: Exchange,
    pool: RequestPool,
    timeout: number,
    idleTimeout: number,
    events: ForwardEvents,
  ) {
    this.downstream = downstream
    this.#use = downstream.uses
    this.exchange = exchange
    this.#pool = pool
    this.idleTimeout = idleTimeout || RESPONSE_IDLE
    this.#timeout = timeout
    this.#tunnelIdle = idleTimeout || TUNNEL_IDLE
    this.#events = events
  }

  /** Whether a chunked body must arrive with its framing, once the head is sent. */
  get takesFraming(): boolean {
    return !this.#takesPlain
  }

  start(): void {
    const mayRepeat = isRepeatable(this.downstream.head)
    const connection = this.#pool.take(mayRepeat)
    if (connection === undefined) this.#open()
    else if (mayRepeat || connection.isClosed === undefined) this.#send(connection)
    else this.#lookFirst(connection)
  }

  /** The kernel may know that the upstream closed the connection before this process does. */
  #lookFirst(connection: UpstreamConnection): void {
    nextTurn.add(() => this.connected(connection))
  }

  /** The client disconnected, or another response is sent. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pool.cancel(this)
    this.#upstream?.abort()
  }

  /** The client accepts more of the response. */
  resume(): void {
    if (!this.#isOver) this.#upstream?.resume()
  }

  // Events of two sockets: an exception concerns only this request, and must not reach the code
  // that reads the socket.

  connected(connection: UpstreamConnection): void {
    try {
      if (connection.isClosed) {
        if (!this.#isOver) this.start()
      } else if (this.#isOver) connection.release()
      else this.#send(connection)
    } catch (error) {
      this.#broke(error, 'delivery')
    }
  }

  unconnected(reason: string): void {
    try {
      this.#fail(reason === 'connect-timeout' ? 504 : 503, reason, true)
    } catch (error) {
      this.#broke(error, 'delivery')
    }
  }

  #broke(error: unknown, callOut: CallOutName = 'response'): void {
    try {
      this.stop()
    } catch {
      // The first error says more.
    }
    this.#events.broke(callOut, error)
  }

  #open(): void {
    this.#isFresh = true
    this.#pool.request(this)
  }

  #send(connection: UpstreamConnection): void {
    const { exchange } = this
    const { head } = this.downstream
    const edit = exchange.sentEdit
    const out: OutgoingRequest = {
      path: exchange.path,
      query: exchange.sentSearch,
      host: exchange.host,
      framing: head.framing,
      length: head.length,
      lines: requestLines(edit, exchange),
      dropped: droppedWithId(renderedEdit(edit), exchange.request.id),
      upgrade: head.upgrade,
      expectContinue: false,
    }
    this.#upstream = connection
    this.#upstreamUse = connection.uses
    if (!this.#sendHead(connection, head, out)) {
      connection.release()
      this.#fail(500, 'bad-rewrite', false)
    } else if (head.framing !== 'none') this.#sendBody()
  }

  /** Sends the client's body, after what was sent to a connection that did not process it. */
  #sendBody(): void {
    const isAgain = this.#isBodyBegun
    this.#isBodyBegun = true
    if (!isAgain) this.#events.sent(this)
    else if (
      this.#sent?.sendTo(
        (bytes) => this.#write(bytes),
        (trailers) => this.#endBody(trailers),
      )
    )
      this.downstream.resumeBody()
  }

  #sendHead(connection: UpstreamConnection, head: RequestHead, out: OutgoingRequest): boolean {
    if (connection.sendReceived !== undefined && out.upgrade === '') {
      this.#takesPlain = this.encodes || this.isDirect
      if (head.framing !== 'none') this.#sent ??= new SentBody()
      return connection.sendReceived(head, out, !this.#takesPlain, this.#timeout, this)
    }
    const text = renderRequestHead(head, out)
    if (text === '') return false
    connection.send(head.method, text, head.framing !== 'none', this.#timeout, this)
    return true
  }

  // The request body, on its way to the upstream.

  write(bytes: Buffer): boolean {
    const isWaiting = this.#upstream === undefined
    if (this.#isOver) return true
    this.#sent?.add(bytes, isWaiting)
    // No more until there is another connection.
    return isWaiting ? this.#sent === undefined : this.#write(bytes)
  }

  #write(bytes: Buffer): boolean {
    const upstream = this.#upstream as UpstreamConnection
    try {
      return this.#takesPlain ? upstream.write(bytes) : writeBody(upstream, bytes, this.encodes)
    } catch (error) {
      this.#broke(error, 'body')
      return true
    }
  }

  hasWritten(): boolean {
    const upstream = this.#upstream
    if (upstream === undefined) return false
    return upstream.uses !== this.#upstreamUse || upstream.isWritten === true
  }

  end(trailers: Fields | undefined): void {
    this.#sent?.end(trailers)
    this.#endBody(trailers)
  }

  #endBody(trailers: Fields | undefined): void {
    const upstream = this.#upstream
    if (this.#isOver || upstream === undefined) return
    try {
      if (trailers !== undefined) hideOfSet(renderedEdit(this.exchange.sentEdit).dropped, trailers)
      if (this.#takesPlain) upstream.end(trailers)
      else endBody(upstream, trailers, this.encodes)
    } catch (error) {
      this.#broke(error, 'body')
    }
  }

  abort(reason: string): void {
    if (this.#isOver) return
    try {
      this.stop()
      this.#events.cut(this, reason)
    } catch (error) {
      this.#broke(error)
    }
  }

  drained(): void {
    try {
      this.downstream.resumeBody()
    } catch (error) {
      this.#broke(error, 'body')
    }
  }

  // The response, on its way to the client.

  interim(head: ResponseHead): void {
    try {
      this.downstream.interim(head, renderedEdit(this.exchange.responseEdit).dropped)
    } catch (error) {
      this.#broke(error)
    }
  }

  response(head: ResponseHead): boolean {
    this.#sent?.drop()
    try {
      return this.#respond(head)
    } catch (error) {
      this.#broke(error)
      return false
    }
  }

  #respond(head: ResponseHead): boolean {
    const { downstream, exchange } = this
    exchange.status = head.status
    // gRPC is only used over HTTP/2; a response without a body has its status in the head.
    if (exchange.request.version === 'HTTP/2') exchange.grpcStatus = grpcStatusOf(head.fields)
    if (!this.#events.accepts(this, head)) {
      this.stop()
      return false
    }
    if (head.status === 101) {
      this.#tunnel(head)
      return false
    }
    const edit = renderedEdit(exchange.responseEdit)
    const { id } = exchange.request
    this.#asWire = head.framing === 'chunked' && downstream.takesWire
    if (!downstream.respond(head, droppedWithId(edit, id), linesWithId(edit, id))) {
      this.#upstream?.abort()
      this.#fail(502, 'bad-response', false)
    }
    return this.#asWire
  }

  #tunnel(head: ResponseHead): void {
    const { downstream } = this
    const upstream = this.#upstream as UpstreamConnection
    if (!isAsked(downstream.head.upgrade, head.upgrade)) {
      upstream.abort()
      this.#fail(502, 'unasked-upgrade', false)
      return
    }
    upstream.tunnel(this.#tunnelIdle)
    this.#isTunnel = true
    const sink: BodySink = {
      write: (bytes) => upstream.write(bytes),
      end: () => upstream.endTunnel(),
      abort: () => upstream.abort(),
    }
    const edit = renderedEdit(this.exchange.responseEdit)
    const { id } = this.exchange.request
    const [dropped, lines] = [droppedWithId(edit, id), linesWithId(edit, id)]
    if (!downstream.tunnel(head, dropped, lines, sink)) upstream.abort()
  }

  data(bytes: Buffer, byteCount: number): boolean {
    if (this.#isOver) return true
    try {
      if (this.#isTunnel) return this.downstream.writeTunnel(bytes)
      return this.downstream.write(bytes, this.#asWire, byteCount)
    } catch (error) {
      this.#broke(error)
      return true
    }
  }

  isWritten(): boolean {
    // Once the stream serves another request, everything of this one has been written.
    return this.downstream.uses !== this.#use || this.downstream.isWritten
  }

  caughtUp(): void {
    try {
      if (!this.#isOver && !this.#isTunnel) this.downstream.flush()
    } catch (error) {
      this.#broke(error)
    }
  }

  ended(trailers: Fields | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    try {
      this.#end(trailers)
    } catch (error) {
      this.#broke(error)
    }
  }

  #end(trailers: Fields | undefined): void {
    if (trailers !== undefined) {
      this.exchange.grpcStatus = grpcStatusOf(trailers)
      hideOfSet(renderedEdit(this.exchange.responseEdit).dropped, trailers)
    }
    if (this.#isTunnel) this.downstream.endTunnel()
    else this.downstream.end(trailers, this.#asWire)
  }

  failed(reason: string, isUntouched: boolean): void {
    const isShared = this.#upstream?.isShared === true
    this.#upstream = undefined
    if (this.#isOver) return
    try {
      this.#failed(reason, isUntouched, isShared)
    } catch (error) {
      this.#broke(error)
    }
  }

  #failed(reason: string, isUntouched: boolean, isShared: boolean): void {
    // The upstream may close an idle connection at the moment when it is reused. An HTTP/2
    // connection may be going away when it is opened: unprocessed requests are sent again.
    const { head } = this.downstream
    const isWhole = head.framing === 'none' || this.#sent?.isWhole === true
    const isUnseen = isUntouched && UNSEEN.has(reason) && isWhole
    const isLost = isUntouched && isShared && isRepeatable(head)
    const isUnlucky = isUntouched && !this.#isFresh && isRepeatable(head)
    if (isUnlucky || ((isUnseen || isLost) && this.#repeats++ < MAX_REPEATS)) this.#open()
    else this.#fail(isTimeout(reason) ? 504 : 502, reason, isUntouched)
  }

  #fail(status: number, reason: string, isUntouched: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.downstream.isResponding) this.#events.cut(this, reason)
    else this.#events.withoutResponse(this, status, reason, isUntouched)
  }
}
