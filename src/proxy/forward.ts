// HOT PATH: joins a client's request to an upstream connection. Guarded by bench/proxy.ts.

import type { Exchange } from '../exchange/exchange.ts'
import type { Pool, Waiting } from '../upstream/pool.ts'
import type { Downstream } from '../wire/downstream.ts'
import { renderTrailers } from '../wire/http1/chunked.ts'
import { NO_NAMES } from '../wire/http1/field-lines.ts'
import type { Fields } from '../wire/http1/fields.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { renderRequestHead } from '../wire/http1/write.ts'
import type { BodySink } from '../wire/streams.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'

export interface ForwardEvents {
  /** Nothing was answered yet: the gateway has to. */
  unanswered(forward: Forward, status: number, reason: string): void
  /** The answer began, and was cut short. */
  cut(forward: Forward, reason: string): void
}

export class Forward implements ResponseEvents, BodySink, Waiting {
  readonly downstream: Downstream
  readonly exchange: Exchange
  readonly #pool: Pool
  readonly #timeout: number
  readonly #events: ForwardEvents
  #upstream: UpstreamConnection | undefined = undefined
  #isFresh = false
  #isOver = false
  #asWire = false

  constructor(
    downstream: Downstream,
    exchange: Exchange,
    pool: Pool,
    timeout: number,
    events: ForwardEvents,
  ) {
    this.downstream = downstream
    this.exchange = exchange
    this.#pool = pool
    this.#timeout = timeout
    this.#events = events
  }

  start(): void {
    const connection = this.#pool.take()
    if (connection !== undefined) this.#send(connection)
    else this.#open()
  }

  /** The client went away, or the gateway answers instead. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pool.cancel(this)
    this.#upstream?.abort()
  }

  /** The client takes more of the answer. */
  resume(): void {
    this.#upstream?.resume()
  }

  connected(connection: UpstreamConnection): void {
    if (this.#isOver) connection.release()
    else this.#send(connection)
  }

  unconnected(reason: string): void {
    this.#fail(reason === 'connect-timeout' ? 504 : 503, reason)
  }

  #open(): void {
    this.#isFresh = true
    this.#pool.request(this)
  }

  #send(connection: UpstreamConnection): void {
    const { downstream, exchange } = this
    const { head } = downstream
    const { dropped, lines } = renderedEdit(exchange.requestEdit)
    const hasBody = head.framing !== 'none'
    const text = renderRequestHead(head, {
      path: exchange.path,
      query: exchange.search,
      host: exchange.host,
      framing: head.framing,
      length: head.length,
      lines,
      dropped,
      upgrade: head.upgrade,
      expectContinue: false,
    })
    this.#upstream = connection
    if (text === '') {
      this.#fail(400, 'bad-rewrite')
      connection.abort()
      return
    }
    connection.send(head.method, text, hasBody, this.#timeout, this)
    if (hasBody) downstream.readBody(this, true)
  }

  // The request's body on its way to the upstream.

  write(bytes: Buffer): boolean {
    this.exchange.bytesReceived += bytes.length
    return this.#isOver || (this.#upstream?.write(bytes) ?? true)
  }

  end(trailers: Fields | undefined): void {
    if (this.#isOver) return
    if (trailers !== undefined) this.#upstream?.writeText(renderTrailers(trailers))
    this.#upstream?.end()
  }

  abort(reason: string): void {
    if (this.#isOver) return
    this.stop()
    this.#events.cut(this, reason)
  }

  drained(): void {
    this.downstream.resumeBody()
  }

  // The answer on its way to the client.

  interim(head: ResponseHead): void {
    this.downstream.interim(head, NO_NAMES)
  }

  response(head: ResponseHead): boolean {
    const { downstream, exchange } = this
    exchange.status = head.status
    if (head.status === 101) return this.#tunnel(head)
    const { dropped, lines } = renderedEdit(exchange.responseEdit)
    this.#asWire = head.framing === 'chunked' && downstream.takesWire
    if (!downstream.respond(head, dropped, lines)) this.#fail(502, 'bad-response')
    return this.#asWire
  }

  #tunnel(head: ResponseHead): boolean {
    const { downstream } = this
    const upstream = this.#upstream as UpstreamConnection
    if (downstream.head.upgrade === '' || head.upgrade === '') {
      this.#fail(502, 'unasked-upgrade')
      return false
    }
    upstream.tunnel()
    const sink: BodySink = {
      write: (bytes) => upstream.write(bytes),
      end: () => upstream.endTunnel(),
      abort: () => upstream.abort(),
    }
    const { dropped, lines } = renderedEdit(this.exchange.responseEdit)
    if (!downstream.tunnel(head, dropped, lines, sink)) upstream.abort()
    this.#isTunnel = true
    return false
  }

  #isTunnel = false

  data(bytes: Buffer): boolean {
    if (this.#isOver) return true
    if (this.#isTunnel) return this.downstream.writeTunnel(bytes)
    return this.downstream.write(bytes, this.#asWire)
  }

  ended(trailers: Fields | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#isTunnel) this.downstream.endTunnel()
    else this.downstream.end(trailers, this.#asWire)
  }

  failed(reason: string, isUntouched: boolean): void {
    this.#upstream = undefined
    // An idle connection may be closed by the upstream in the moment that it is used again.
    if (isUntouched && !this.#isFresh && this.downstream.head.framing === 'none' && !this.#isOver) {
      this.#open()
      return
    }
    this.#fail(reason === 'timeout' ? 504 : 502, reason)
  }

  #fail(status: number, reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.downstream.isResponding) this.#events.cut(this, reason)
    else this.#events.unanswered(this, status, reason)
  }
}
