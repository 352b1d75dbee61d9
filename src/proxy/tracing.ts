import type { Exchange } from '../exchange/exchange.ts'
import { type HeaderEdit, NO_EDIT } from '../exchange/header-edit.ts'
import type { TracingProgram } from '../program/program.ts'
import {
  type AttributeValue,
  isWithin,
  type Joined,
  type Span,
  type Tracer,
} from '../telemetry/trace.ts'
import {
  parseTraceparent,
  parseTracestate,
  SAMPLED,
  type TraceContext,
  writeTraceparent,
  writeTracestate,
} from '../telemetry/trace-context.ts'
import { respond, variablesOf } from './access-record.ts'
import type { ActiveTrace, AttemptOutcome, RequestState } from './request-state.ts'
import { withTrace } from './trace-headers.ts'

/** The trace of one request: from the client, through the gateway, to the backend. */
export class RequestTrace implements ActiveTrace {
  readonly #tracer: Tracer
  readonly #send: Send
  readonly #policy: TracingProgram
  readonly #joined: Joined
  readonly #tracestate: string
  /** Undefined if it is not sampled. */
  readonly #server: Span | undefined
  #client: Span | undefined = undefined
  /** The headers after policies, before the trace is added. */
  #edit: HeaderEdit = NO_EDIT
  /** The same with the trace, as the previous attempt sent them. */
  #traced: HeaderEdit | undefined = undefined
  /** Held until it is known whether they are exported. */
  readonly #ended: Span[] = []

  /** The tracer must not export anything itself. */
  constructor(tracer: Tracer, send: Send, policy: TracingProgram, exchange: Exchange) {
    const { headers, method } = exchange.request
    const parent = parseTraceparent(headers.get('traceparent'))
    // Without a valid parent, its state means nothing.
    const state = parent && parseTracestate(headers.get('tracestate'))
    this.#tracer = tracer
    this.#send = send
    this.#policy = policy
    this.#tracestate = state === undefined ? '' : writeTracestate(state)
    this.#joined = tracer.join(parent, samplingOf(policy, parent, exchange))
    this.#server = this.#joined.isSampled
      ? tracer.begin(this.#joined, 'server', method, this.#tracestate)
      : undefined
  }

  get traceId(): string {
    return this.#joined.traceId
  }

  get spanId(): string | undefined {
    return this.#server?.spanId
  }

  attempting(run: RequestState): void {
    const { exchange } = run
    // Another provider has its own headers: those of the previous one are not sent to it.
    if (exchange.requestEdit !== this.#traced) this.#edit = exchange.requestEdit
    if (this.#server !== undefined) {
      this.#client = this.#tracer.beginWithin(this.#server, 'client', exchange.request.method)
    }
    const traceparent = writeTraceparent(this.#client ?? this.#joined)
    this.#traced = withTrace(this.#edit, traceparent, this.#tracestate)
    exchange.requestEdit = this.#traced
  }

  mirroring({ exchange }: RequestState): HeaderEdit {
    const edit = exchange.requestEdit === this.#traced ? this.#edit : exchange.requestEdit
    return withTrace(edit, writeTraceparent(this.#server ?? this.#joined), this.#tracestate)
  }

  attempted(run: RequestState, outcome: AttemptOutcome): void {
    const span = this.#client
    if (span === undefined) return
    this.#client = undefined
    const { status } = run.exchange
    const hasResponded = /^[1-5]xx$/.test(outcome)
    span.attributes = this.#allowed({
      'http.request.method': run.exchange.request.method,
      'http.response.status_code': hasResponded && status > 0 ? status : undefined,
      'http.request.resend_count': run.retries === 0 ? undefined : run.retries,
      ...endpointAttributes(run.endpoint),
      'portcullis.backend': run.backend?.name,
      'error.type': hasResponded ? undefined : outcome,
    })
    const isFailed = !hasResponded || outcome === '4xx' || outcome === '5xx'
    span.status = isFailed && outcome !== 'cancelled' ? 'error' : 'unset'
    this.#tracer.end(span)
    this.#ended.push(span)
  }

  /** Everything is over: the spans are exported, if the filter allows it. */
  end(run: RequestState, seconds: number): void {
    const span = this.#server
    if (span === undefined) return
    const { exchange } = run
    const { filter, fields, reads } = this.#policy
    if (reads.response) respond(exchange, seconds)
    const variables = variablesOf(exchange)
    if (filter?.(variables) === false) return
    const route = run.route?.name ?? ''
    span.name = route === '' ? exchange.request.method : `${exchange.request.method} ${route}`
    const attributes = this.#allowed(attributesOf(run))
    for (const { name, valueIn, entriesIn } of fields) {
      if (entriesIn === undefined) attributes[name] = attributeOf(valueIn(variables))
      else for (const [own, value] of entriesIn(variables)) attributes[own] = attributeOf(value)
    }
    const { 'span.name': named, ...others } = attributes
    if (typeof named === 'string' && named !== '') span.name = named
    span.attributes = others
    if (exchange.status >= 500 || exchange.status === 0) {
      span.status = 'error'
      span.message = exchange.detail === '' ? exchange.reason : exchange.detail
    }
    this.#tracer.end(span)
    for (const each of this.#ended) this.#send(each)
    this.#send(span)
  }

  #allowed(attributes: Attributes): Attributes {
    for (const name of this.#policy.removed) attributes[name] = undefined
    return attributes
  }
}

type Send = (span: Span) => void

type Attributes = { [name: string]: AttributeValue | undefined }

/** Undefined: the ratios of the tracer apply, which are constant. */
function samplingOf(
  { randomSampling, clientSampling }: TracingProgram,
  parent: TraceContext | undefined,
  exchange: Exchange,
): boolean | undefined {
  if (parent === undefined) {
    if (typeof randomSampling === 'number') return undefined
    return Math.random() < randomSampling(variablesOf(exchange))
  }
  if (typeof clientSampling === 'number') return undefined
  const isAsked = (parent.flags & SAMPLED) !== 0
  return isAsked && isWithin(parent.traceId, clientSampling(variablesOf(exchange)))
}

/** OpenTelemetry's names if there is one; never the query, which may contain secrets. */
function attributesOf(run: RequestState): Attributes {
  const { exchange, listener } = run
  const { request } = exchange
  return {
    'http.request.method': request.method,
    'http.response.status_code': exchange.status === 0 ? undefined : exchange.status,
    'url.scheme': request.scheme,
    'url.path': request.path,
    'server.address': request.host,
    'server.port': exchange.destination.port,
    'client.address': exchange.source.address.text,
    'network.protocol.version': request.version.slice('HTTP/'.length),
    'user_agent.original': request.headers.get('user-agent'),
    'http.request.body.size': exchange.bytesReceived,
    'http.response.body.size': exchange.bytesSent,
    'rpc.grpc.status_code': exchange.grpcStatus < 0 ? undefined : exchange.grpcStatus,
    'portcullis.gateway': listener.gateway,
    'portcullis.listener': listener.listener.name,
    'portcullis.route': run.route?.name || undefined,
    'portcullis.backend': run.backend?.name,
    'portcullis.request.id': request.id,
    'portcullis.reason': exchange.reason,
  }
}

type Computed = ReturnType<TracingProgram['fields'][number]['valueIn']>

/** Lists of strings stay lists; other nested values are sent as JSON. */
export function attributeOf(value: Computed): AttributeValue | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') return value
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string')
  return isTexts ? (value as readonly string[]) : JSON.stringify(value)
}

/** `10.0.3.7:8080` in OpenTelemetry's form: an address, and a separate port. */
function endpointAttributes(endpoint: string) {
  const [, address = endpoint, port] = /^\[?(.*?)\]?:(\d+)$/.exec(endpoint) ?? []
  return { 'server.address': address, 'server.port': port === undefined ? undefined : Number(port) }
}
