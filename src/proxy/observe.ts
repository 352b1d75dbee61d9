import { performance } from 'node:perf_hooks'
import type { Connection } from '../exchange/connection.ts'
import type { Decision } from '../exchange/decision.ts'
import { isRejection, type Reply } from '../exchange/reply.ts'
import type { ListenerProgram } from '../program/program.ts'
import {
  downstreamConnectionsRejected,
  tlsHandshakeDuration,
  tlsHandshakeFailures,
  tlsHandshakes,
} from '../telemetry/definitions/downstream.ts'
import { limitHits } from '../telemetry/definitions/limits.ts'
import {
  headersUnwritten,
  requestBytes,
  requestDuration,
  requestFirstByte,
  requestOverhead,
  requests,
  requestsActive,
  requestsRejected,
  responseBytes,
} from '../telemetry/definitions/requests.ts'
import {
  upstreamDuration,
  upstreamRequests,
  upstreamRetries,
} from '../telemetry/definitions/upstream.ts'
import type { Gauge } from '../telemetry/gauge.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Milliseconds } from '../telemetry/time-text.ts'
import type { HandshakeFailure } from '../wire/tls/handshake-failure.ts'
import type { Secured } from '../wire/tls/terminate.ts'
import type { AcceptObserver } from './accept-deps.ts'
import { logConnection, logRequest, respond, sourceOf, variablesOf } from './access-record.ts'
import type { Attempted, RetryReason } from './attempt-outcome.ts'
import type { Collectors } from './collectors.ts'
import type { Decisions } from './decisions.ts'
import { errorReporter, type ReportError } from './internal-errors.ts'
import { countMcp } from './mcp-observed.ts'
import { countCall, countFailovers } from './model-record.ts'
import { countRejection } from './observe-authentication.ts'
import { ServedSeries } from './observe-connections.ts'
import { limitOf } from './observe-limits.ts'
import type { RejectedConnection, UnroutedRequest, Unserved } from './rejection.ts'
import { CAUSES_OF_CLOSING, LIMITS_OF_REJECTIONS, reasonOf } from './rejection-causes.ts'
import { hasUnreported } from './rejection-record.ts'
import type { RequestState } from './request-state.ts'
import { ResetLog } from './reset-log.ts'
import type { Serving, WireProtocol } from './serving.ts'
import type { Streamed } from './stream-types.ts'
import { unwrittenHeaders } from './unwritten-headers.ts'

interface DeniedConnection {
  readonly id: string
  readonly listener: ListenerProgram
  readonly policy: string | undefined
  readonly rule: string | undefined
}

const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** Counts and logs events; nothing on the request path waits for it. */
export class Observing implements AcceptObserver {
  readonly #metrics: Metrics
  readonly #log: Logger
  readonly #resetLog: ResetLog
  /** Keyed by parts of the running Program: no names are built for each request. */
  readonly #series = new WeakMap<object, RouteSeries>()
  readonly #active = new WeakMap<ListenerProgram, Gauge>()
  readonly #backends = new Map<string, BackendSeries>()

  /** Denied connections: the log names the decision, so that `why` can look it up. */
  readonly #denied = new WeakMap<Connection, DeniedConnection>()
  readonly #collectors: Collectors
  readonly #decisions: Decisions
  readonly broke: ReportError

  constructor(
    metrics: Metrics,
    log: Logger,
    collectors: Collectors,
    decisions: Decisions,
    broke: ReportError = errorReporter(log, metrics),
  ) {
    this.broke = broke
    this.#metrics = metrics
    this.#log = log
    this.#resetLog = new ResetLog(log)
    this.#collectors = collectors
    this.#decisions = decisions
  }

  /** The Program has changed: series kept by name are looked up again. */
  swapped(): void {
    this.#backends.clear()
  }

  opened(): void {}

  closed(): void {}

  unheard(): void {
    this.#metrics.counter(limitHits).of({ listener: 'none' }).at('header-timeout').inc()
  }

  served(listener: string, protocol: WireProtocol): Serving {
    return new ServedSeries(this.#metrics, listener, protocol, this.#resetLog)
  }

  /** Counts and logs a rejected connection; a denial is logged as the specification defines. */
  rejected(rejected: RejectedConnection): void {
    const { word, detail, gateway, listener, connection } = rejected
    const name = listener === undefined ? gateway : `${gateway}/${listener.listener.name}`
    this.#metrics.counter(downstreamConnectionsRejected).of({ listener: name }).at(word).inc()
    if (word === 'connections' || word === 'connections-per-address')
      this.#metrics.counter(limitHits).of({ listener: name }).at(word).inc()
    const isDenied = word === 'authorization'
    const reported = connection && this.#denied.get(connection)
    const own = reported?.listener ?? listener
    const id = reported?.id ?? this.#closed(rejected)
    const record = {
      'src.addr': connection === undefined ? undefined : sourceOf(connection),
      // A denial has every field of the specification, even if it is empty.
      'tls.sni': connection?.sni ?? (isDenied ? '' : undefined),
      protocol: 'tcp',
      error: isDenied ? 'authorization failed' : word,
      detail: isDenied ? undefined : detail,
      duration: connection && new Milliseconds(Date.now() - connection.openedAt),
      gateway: own?.gateway ?? gateway,
      listener: own?.listener.name,
      policy: reported?.policy,
      rule: reported?.rule,
      'request.id': id,
    }
    if (isDenied) this.#log.error('request', record)
    else this.#log.warn('request', record)
  }

  #closed({ word, detail, id, gateway, listener, connection }: RejectedConnection): string {
    const said = detail === word || detail === '' ? word : `${word}: ${detail}`
    const why = { cause: CAUSES_OF_CLOSING[word], detail: said, id }
    return this.#decisions.closed({ gateway, listener }, connection, why)
  }

  decided(connection: Connection, listener: ListenerProgram, decision: Decision): void {
    const id = this.#decisions.connection(connection, listener, decision)
    if (decision.isAllowed || !decision.isEnforced) return
    const { rule, invalid } = decision
    const policy = rule?.policy ?? invalid?.policy
    const name = rule && `${rule.kind}[${rule.index}]`
    this.#denied.set(connection, { id, listener, policy, rule: name })
  }

  /** Records a denial or a rejection before the client receives its id. */
  responding(state: RequestState, reply: Reply, status: number): void {
    if (isRejection(reply) || hasUnreported(state)) this.#decisions.request(state, status, reply)
  }

  streamed(
    connection: Connection,
    { gateway, listener, accessLog }: ListenerProgram,
    streamed: Streamed,
  ): void {
    const record = {
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
      duration: new Milliseconds(streamed.milliseconds),
    }
    logConnection(this.#log, accessLog, connection, record, this.#collectors.record)
  }

  secured(
    _: Connection,
    { gateway, listener }: ListenerProgram,
    { version, isResumed, milliseconds }: Secured,
  ): void {
    const labels = { listener: `${gateway}/${listener.name}` }
    const resumed = isResumed ? 'true' : 'false'
    this.#metrics
      .counter(tlsHandshakes)
      .of(labels)
      .at(version as 'TLSv1.3', resumed)
      .inc()
    this.#metrics
      .histogram(tlsHandshakeDuration)
      .of(labels)
      .at()
      .observe(milliseconds / 1000)
  }

  unsecured(
    connection: Connection,
    listener: ListenerProgram | undefined,
    reason: HandshakeFailure,
    _milliseconds: number,
    id?: string,
  ): void {
    const name = listener === undefined ? 'none' : `${listener.gateway}/${listener.listener.name}`
    this.#metrics.counter(tlsHandshakeFailures).of({ listener: name }).at(reason).inc()
    const record = {
      'src.addr': sourceOf(connection),
      'tls.sni': connection.sni,
      protocol: 'tcp',
      error: 'tls',
      detail: reason,
      duration: new Milliseconds(Date.now() - connection.openedAt),
    }
    const isOfCertificate = reason.startsWith('client-certificate')
    // A missing or invalid client certificate is reported, as is what a client got a response to;
    // other failures concern only the client.
    if (!isOfCertificate && id === undefined) {
      this.#log.debug('request', record)
      return
    }
    const at = { gateway: listener?.gateway ?? '', listener }
    const cause = isOfCertificate ? 'authentication' : 'bad-request'
    const own = this.#decisions.closed(at, connection, { cause, detail: reason, id })
    this.#log.warn('request', { ...record, 'request.id': own })
  }

  began(state: RequestState): void {
    this.#activeOf(state).inc()
    state.isActive = true
    const { tracing } = state.listener
    if (tracing !== undefined) this.#collectors.begin(state, tracing)
  }

  requestRejected(
    connection: Connection,
    { word, status }: Unserved,
    unrouted: UnroutedRequest,
  ): void {
    this.#metrics.counter(requestsRejected).of({ listener: 'none', refusal: word }).at().inc()
    const reason = reasonOf(word, status)
    this.#decisions.unserved(connection, unrouted, { cause: reason, detail: word, status })
    const limit = word === 'internal' ? undefined : LIMITS_OF_REJECTIONS[word]
    if (limit !== undefined)
      this.#metrics.counter(limitHits).of({ listener: 'none' }).at(limit).inc()
    this.#log.info('request', {
      'src.addr': sourceOf(connection),
      'http.method': unrouted.method,
      'http.host': unrouted.host,
      'http.path': unrouted.path,
      'http.status': status,
      'tls.sni': connection.sni,
      'request.id': unrouted.id,
      reason,
      detail: word,
    })
  }

  finished(state: RequestState): void {
    const { exchange } = state
    const { startedAt, sentAt, respondedAt } = state
    const now = performance.now()
    const seconds = (now - startedAt) / 1000
    if (state.isActive) this.#activeOf(state).inc(-1)
    const series = labelled(this.#seriesOf(state), state, seconds)
    const status = STATUS_CLASSES[Math.min(5, Math.trunc(exchange.status / 100))] ?? 'none'
    series.requests
      .at(exchange.request.method as 'GET', status, exchange.reason || 'upstream')
      .inc()
    series.duration.at().observe(seconds)
    // The gateway writes its own responses as a whole, without waiting for a backend.
    series.firstByte.at().observe(((respondedAt || now) - startedAt) / 1000)
    series.overhead.at().observe(((sentAt || now) - startedAt) / 1000)
    series.received.at().inc(exchange.bytesReceived)
    series.sent.at().inc(exchange.bytesSent)
    if (exchange.reason !== 'upstream') {
      this.#limited(state)
      countRejection(this.#metrics, exchange)
    }
    if (hasUnreported(state)) this.#decisions.request(state, exchange.status)
    const unwritten = unwrittenHeaders(exchange)
    if (unwritten.length > 0) {
      const labels = { listener: listenerOf(state), route: state.route?.name || 'none' }
      this.#metrics.counter(headersUnwritten).of(labels).at().inc(unwritten.length)
    }
    if (state.selection !== undefined) countFailovers(this.#metrics, state)
    if (state.call !== undefined) countCall(this.#metrics, state, now)
    const { mcpRecord } = exchange
    if (mcpRecord !== undefined) countMcp(this.#metrics, state, mcpRecord, seconds)
    logRequest(this.#log, state, seconds, this.#collectors.record)
    if (state.trace !== undefined) this.#collectors.end(state, seconds)
  }

  attempted(backend: string, { outcome, purpose, firstByte }: Attempted): void {
    const series = this.#backendSeries(backend)
    series.requests.at(outcome, purpose).inc()
    if (firstByte >= 0) series.duration.at().observe(firstByte / 1000)
  }

  retried(backend: string, reason: RetryReason): void {
    this.#metrics.counter(upstreamRetries).of({ backend }).at(reason).inc()
  }

  /** Counts the limit that a request reached, if any. */
  #limited(state: RequestState): void {
    const { reason, detail } = state.exchange
    const limit = limitOf(reason, detail)
    if (limit === undefined) return
    this.#metrics
      .counter(limitHits)
      .of({ listener: listenerOf(state) })
      .at(limit)
      .inc()
  }

  #backendSeries(backend: string): BackendSeries {
    const known = this.#backends.get(backend)
    if (known !== undefined) return known
    const made = backendSeries(this.#metrics, backend)
    this.#backends.set(backend, made)
    return made
  }

  #seriesOf(state: RequestState): RouteSeries {
    const owner = state.route ?? state.listener
    const known = this.#series.get(owner)
    if (known !== undefined) return known
    const made = routeSeries(this.#metrics, listenerOf(state), state.route?.name || 'none')
    this.#series.set(owner, made)
    return made
  }

  #activeOf(state: RequestState): Gauge {
    const known = this.#active.get(state.listener)
    if (known !== undefined) return known
    const made = this.#metrics
      .gauge(requestsActive)
      .of({ listener: listenerOf(state) })
      .at()
    this.#active.set(state.listener, made)
    return made
  }
}

type RouteSeries = ReturnType<typeof routeSeries>

function routeSeries(metrics: Metrics, listener: string, route: string) {
  const labels = { listener, route }
  return {
    requests: metrics.counter(requests).of(labels),
    duration: metrics.histogram(requestDuration).of(labels),
    firstByte: metrics.histogram(requestFirstByte).of(labels),
    overhead: metrics.histogram(requestOverhead).of(labels),
    received: metrics.counter(requestBytes).of(labels),
    sent: metrics.counter(responseBytes).of(labels),
  }
}

/** Adds the labels that the configuration requires. */
function labelled(
  series: RouteSeries,
  { listener, exchange }: RequestState,
  seconds: number,
): RouteSeries {
  const { metricLabels } = listener
  if (metricLabels === undefined) return series
  if (metricLabels.reads.response) respond(exchange, seconds)
  const values = metricLabels.valuesIn(variablesOf(exchange))
  return {
    ...series,
    requests: series.requests.with(values),
    duration: series.duration.with(values),
    received: series.received.with(values),
    sent: series.sent.with(values),
  }
}

type BackendSeries = ReturnType<typeof backendSeries>

function backendSeries(metrics: Metrics, backend: string) {
  return {
    requests: metrics.counter(upstreamRequests).of({ backend }),
    duration: metrics.histogram(upstreamDuration).of({ backend }),
  }
}

function listenerOf(state: RequestState): string {
  return `${state.listener.gateway}/${state.listener.listener.name}`
}
