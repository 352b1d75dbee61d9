// HOT PATH: what happens to a request, in order. Guarded by bench/proxy.ts.

import type { Connection } from '../exchange/connection.ts'
import { Exchange, RequestAttributes } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import {
  type BackendProgram,
  isReply,
  type ListenerProgram,
  type RouteProgram,
} from '../program/program.ts'
import type { Choice } from '../upstream/cluster.ts'
import type { Downstream, DownstreamEvents } from '../wire/downstream.ts'
import { NO_LINES } from '../wire/http1/field-lines.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { normalisePath } from '../wire/http1/path.ts'
import { type Refusal, refusalOf } from '../wire/http1/refusals.ts'
import { Forward, type ForwardEvents } from './forward.ts'
import type { HttpListeners } from './http-listeners.ts'
import { writeReply } from './replies.ts'

/** Who is told what happened: logs, metrics. */
export interface Observer {
  opened(connection: Connection): void
  closed(connection: Connection): void
  refused(connection: Connection, refusal: Refusal): void
  began(run: Run): void
  finished(run: Run): void
}

/** Where requests of a port go now; asked once for each request. */
export interface Port {
  readonly listeners: HttpListeners
}

/** One exchange under way, and where it is. */
export class Run {
  readonly downstream: Downstream
  readonly exchange: Exchange
  readonly listener: ListenerProgram
  route: RouteProgram | undefined = undefined
  backend: BackendProgram | undefined = undefined
  choice: Choice | undefined = undefined
  forward: Forward | undefined = undefined
  endpoint = ''
  readonly startedAt: number
  isOver = false

  constructor(
    downstream: Downstream,
    exchange: Exchange,
    listener: ListenerProgram,
    startedAt: number,
  ) {
    this.downstream = downstream
    this.exchange = exchange
    this.listener = listener
    this.startedAt = startedAt
  }
}

export class RequestLoop implements DownstreamEvents, ForwardEvents {
  readonly #port: Port
  readonly #connection: Connection
  readonly #observer: Observer
  readonly #nextId: () => string

  constructor(port: Port, connection: Connection, observer: Observer, nextId: () => string) {
    this.#port = port
    this.#connection = connection
    this.#observer = observer
    this.#nextId = nextId
    observer.opened(connection)
  }

  request(downstream: Downstream): void {
    const { head } = downstream
    const path = head.form === 'authority' ? '' : normalisePath(head.path)
    const listener = this.#port.listeners.forHost(head.host)
    if (typeof path === 'number' || path === '' || listener === undefined) {
      this.#unroutable(downstream, path)
      return
    }
    const scheme = this.#connection.isEncrypted ? 'https' : 'http'
    const version = head.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0'
    const headers = new Http1Headers(head.fields)
    const now = Date.now()
    const request = new RequestAttributes(
      head.method,
      path,
      head.query,
      head.host,
      scheme,
      version,
      headers,
      now,
    )
    request.id = this.#nextId()
    const exchange = new Exchange(this.#connection, request)
    const run = new Run(downstream, exchange, listener, performance.now())
    downstream.exchange = run
    this.#observer.began(run)
    run.route = listener.match(exchange)
    const outcome = run.route.run(exchange)
    if (outcome instanceof Promise) {
      outcome.then(
        (answer) => this.#choose(run, answer),
        (error) => this.#broken(run, error),
      )
    } else this.#choose(run, outcome)
  }

  #unroutable(downstream: Downstream, path: string | number): void {
    const refusal: Refusal =
      typeof path === 'number'
        ? refusalOf(path)
        : { word: 'bad-target', status: path === '' ? 405 : 404 }
    downstream.reply(refusal.status, NO_LINES, '')
    this.#observer.refused(this.#connection, refusal)
  }

  #choose(run: Run, answered: Reply | undefined): void {
    if (run.isOver) return
    if (answered !== undefined) return void this.#reply(run, answered)
    const backend = (run.route as RouteProgram).choose(run.exchange)
    if (isReply(backend)) return void this.#reply(run, backend)
    run.backend = backend
    const outcome = backend.run(run.exchange)
    if (outcome instanceof Promise)
      outcome.then(
        (answer) => this.#forward(run, answer),
        (error) => this.#broken(run, error),
      )
    else this.#forward(run, outcome)
  }

  #forward(run: Run, answered: Reply | undefined): void {
    if (run.isOver) return
    if (answered !== undefined) return void this.#reply(run, answered)
    const { exchange, downstream } = run
    const choice = (run.backend as BackendProgram).cluster.choose(exchange, [])
    if (typeof choice === 'string')
      return void this.#reply(run, { ...reply(503, 'no-backend'), detail: choice })
    run.choice = choice
    run.endpoint = choice.endpoint
    if (exchange.host === '') exchange.host = choice.host
    const timeout =
      run.backend?.requestTimeout || run.route?.timeouts.backendRequest || DEFAULT_TIMEOUT
    run.forward = new Forward(downstream, exchange, choice.pool, timeout, this)
    run.forward.start()
  }

  #reply(run: Run, answer: Reply): void {
    writeReply(run.downstream, run.exchange, answer)
  }

  /** A step threw: a fault of ours, which must not let anybody through. */
  #broken(run: Run, error: unknown): void {
    if (run.isOver) return
    process.emitWarning(error instanceof Error ? error : String(error))
    if (!run.downstream.isResponding) this.#reply(run, reply(500, 'internal'))
  }

  unanswered(forward: Forward, status: number, reason: string): void {
    const run = forward.downstream.exchange as Run
    this.#settle(
      run,
      reason === 'timeout' ? 'timeout' : status === 503 ? 'connect-failed' : 'reset',
    )
    this.#reply(run, { ...reply(status, wordOf(status, reason)), detail: reason })
  }

  cut(forward: Forward, reason: string): void {
    forward.exchange.reason = 'upstream-reset'
    forward.exchange.detail = reason
    forward.downstream.abort()
  }

  refused(_: Downstream, refusal: Refusal): void {
    this.#observer.refused(this.#connection, refusal)
  }

  drained(downstream: Downstream): void {
    ;(downstream.exchange as Run | undefined)?.forward?.resume()
  }

  aborted(downstream: Downstream, reason: string): void {
    const run = downstream.exchange as Run | undefined
    if (run === undefined || run.isOver) return
    if (run.exchange.reason === '') {
      run.exchange.reason = 'client-gone'
      run.exchange.detail = reason
    }
    run.forward?.stop()
    this.#settle(run, 'cancelled')
    this.#over(run)
  }

  finished(downstream: Downstream): void {
    const run = downstream.exchange as Run | undefined
    if (run === undefined) return
    if (run.exchange.reason === '') run.exchange.reason = 'upstream'
    this.#settle(run, 'answered')
    this.#over(run)
  }

  closed(): void {
    this.#observer.closed(this.#connection)
  }

  #over(run: Run): void {
    if (run.isOver) return
    run.isOver = true
    run.exchange.bytesSent = run.downstream.bytesSent
    this.#observer.finished(run)
  }

  #settle(
    run: Run,
    outcome: 'answered' | 'connect-failed' | 'reset' | 'timeout' | 'cancelled',
  ): void {
    const { choice } = run
    if (choice === undefined) return
    run.choice = undefined
    choice.done({
      outcome,
      status: run.exchange.status,
      duration: performance.now() - run.startedAt,
    })
  }
}

/** The word of the metrics for an upstream that did not answer. */
function wordOf(status: number, reason: string): string {
  if (status === 400) return 'bad-request'
  if (status === 503 || reason === 'connect-timeout') return 'upstream-connect'
  if (status === 504) return 'upstream-timeout'
  return reason === 'closed' || reason === 'ECONNRESET' ? 'upstream-reset' : 'upstream-invalid'
}

const DEFAULT_TIMEOUT = 60_000
