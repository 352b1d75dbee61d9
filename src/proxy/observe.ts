import type { Connection } from '../exchange/connection.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { ListenerProgram } from '../program/program.ts'
import {
  downstreamConnectionsRejected,
  tlsHandshakeFailures,
  tlsHandshakes,
} from '../telemetry/definitions/downstream.ts'
import {
  requestBytes,
  requestDuration,
  requests,
  requestsActive,
  requestsRefused,
  responseBytes,
} from '../telemetry/definitions/requests.ts'
import type { Gauge } from '../telemetry/gauge.ts'
import type { Logger, LogValue } from '../telemetry/log.ts'
import type { LogFieldName } from '../telemetry/log-fields.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Refusal } from '../wire/http1/refusals.ts'
import type { HandshakeFailure } from '../wire/tls/handshake-failure.ts'
import type { Secured } from '../wire/tls/terminate.ts'
import type { AcceptObserver, Rejection } from './accept.ts'
import type { Run } from './run.ts'
import type { Streamed } from './tcp.ts'

const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** Counts and logs what happened; nothing on the request path waits for it. */
export class Observing implements AcceptObserver {
  readonly #metrics: Metrics
  readonly #log: Logger
  /** By the parts of the Program that runs: found without building names for each request. */
  readonly #series = new WeakMap<object, RouteSeries>()
  readonly #active = new WeakMap<ListenerProgram, Gauge>()

  constructor(metrics: Metrics, log: Logger) {
    this.#metrics = metrics
    this.#log = log
  }

  opened(): void {}

  closed(): void {}

  /** The record of the specification: a connection that network authorization refused. */
  rejected({ word, detail, gateway, listener, connection }: Rejection): void {
    const name = listener === undefined ? gateway : `${gateway}/${listener.listener.name}`
    this.#metrics.counter(downstreamConnectionsRejected).of({ listener: name }).at(word).inc()
    const isDenied = word === 'authorization'
    const record = {
      'src.addr': connection === undefined ? undefined : sourceOf(connection),
      'tls.sni': connection?.sni,
      protocol: 'tcp',
      error: isDenied ? 'authorization failed' : word,
      detail: isDenied ? undefined : detail,
      duration: connection === undefined ? undefined : `${Date.now() - connection.openedAt}ms`,
    }
    if (isDenied) this.#log.error('request', record)
    else this.#log.warn('request', record)
  }

  streamed(
    connection: Connection,
    { gateway, listener }: ListenerProgram,
    streamed: Streamed,
  ): void {
    this.#log.info('request', {
      gateway,
      listener: listener.name,
      backend: streamed.backend,
      endpoint: streamed.endpoint,
      'src.addr': sourceOf(connection),
      'tls.sni': connection.sni,
      protocol: 'tcp',
      reason: streamed.reason,
      detail: streamed.detail === '' ? undefined : streamed.detail,
      'bytes.received': streamed.bytesReceived,
      'bytes.sent': streamed.bytesSent,
      duration: `${streamed.milliseconds.toFixed(3)}ms`,
    })
  }

  secured(
    _: Connection,
    { gateway, listener }: ListenerProgram,
    { version, isResumed }: Secured,
  ): void {
    const labels = { listener: `${gateway}/${listener.name}` }
    const resumed = isResumed ? 'true' : 'false'
    this.#metrics
      .counter(tlsHandshakes)
      .of(labels)
      .at(version as 'TLSv1.3', resumed)
      .inc()
  }

  unsecured(_: Connection, listener: ListenerProgram | undefined, reason: HandshakeFailure): void {
    const name = listener === undefined ? 'none' : `${listener.gateway}/${listener.listener.name}`
    this.#metrics.counter(tlsHandshakeFailures).of({ listener: name }).at(reason).inc()
  }

  began(run: Run): void {
    this.#activeOf(run).inc()
  }

  refused(connection: Connection, { word, status }: Refusal): void {
    this.#metrics.counter(requestsRefused).of({ listener: 'none', refusal: word }).at().inc()
    this.#log.info('request', {
      'src.addr': sourceOf(connection),
      'http.status': status,
      reason: 'bad-request',
      detail: word,
    })
  }

  finished(run: Run): void {
    const { exchange } = run
    const seconds = (performance.now() - run.startedAt) / 1000
    const series = this.#seriesOf(run)
    const status = STATUS_CLASSES[Math.trunc(exchange.status / 100)] ?? 'none'
    series.requests
      .at(exchange.request.method as 'GET', status, exchange.reason as 'upstream')
      .inc()
    series.duration.at().observe(seconds)
    series.received.at().inc(exchange.bytesReceived)
    series.sent.at().inc(exchange.bytesSent)
    this.#activeOf(run).inc(-1)
    if (this.#log.isOn('info')) this.#log.info('request', accessRecord(run, exchange, seconds))
  }

  #seriesOf(run: Run): RouteSeries {
    const owner = run.route ?? run.listener
    const known = this.#series.get(owner)
    if (known !== undefined) return known
    const made = routeSeries(this.#metrics, listenerOf(run), run.route?.name ?? 'none')
    this.#series.set(owner, made)
    return made
  }

  #activeOf(run: Run): Gauge {
    const known = this.#active.get(run.listener)
    if (known !== undefined) return known
    const made = this.#metrics
      .gauge(requestsActive)
      .of({ listener: listenerOf(run) })
      .at()
    this.#active.set(run.listener, made)
    return made
  }
}

type RouteSeries = ReturnType<typeof routeSeries>

function routeSeries(metrics: Metrics, listener: string, route: string) {
  const labels = { listener, route }
  return {
    requests: metrics.counter(requests).of(labels),
    duration: metrics.histogram(requestDuration).of(labels),
    received: metrics.counter(requestBytes).of(labels),
    sent: metrics.counter(responseBytes).of(labels),
  }
}

/** Only fields that the reference lists. */
type AccessRecord = { readonly [name in LogFieldName]?: LogValue }

function accessRecord(run: Run, exchange: Exchange, seconds: number): AccessRecord {
  const { request } = exchange
  return {
    gateway: run.listener.gateway,
    listener: run.listener.listener.name,
    route: run.route?.name,
    backend: run.backend?.name,
    endpoint: run.endpoint === '' ? undefined : run.endpoint,
    'src.addr': sourceOf(exchange.connection),
    'http.method': request.method,
    'http.host': request.host,
    'http.path': request.path,
    'http.version': request.version,
    'http.status': exchange.status,
    'request.id': request.id,
    reason: exchange.reason,
    detail: exchange.detail === '' ? undefined : exchange.detail,
    'bytes.received': exchange.bytesReceived,
    'bytes.sent': exchange.bytesSent,
    duration: `${(seconds * 1000).toFixed(3)}ms`,
  }
}

function listenerOf(run: Run): string {
  return `${run.listener.gateway}/${run.listener.listener.name}`
}

function sourceOf({ source }: Connection): string {
  const { text } = source.address
  return text.includes(':') ? `[${text}]:${source.port}` : `${text}:${source.port}`
}
