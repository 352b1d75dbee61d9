import type { LogExport, Program, TracingProgram } from '../program/program.ts'
import { createClock } from '../telemetry/clock.ts'
import {
  logsExported,
  logsUnexported,
  traceSpansDropped,
  traceSpansExported,
} from '../telemetry/definitions/telemetry.ts'
import type { LogFields, Logger, LogValue } from '../telemetry/log.ts'
import { renderJson } from '../telemetry/log-json.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createOtlpExporter, createOtlpLogExporter } from '../telemetry/otlp.ts'
import type { BatchExporter, OtlpLoss } from '../telemetry/otlp-batches.ts'
import type { LogRecord } from '../telemetry/otlp-logs.ts'
import { createOtlpSend } from '../telemetry/otlp-send.ts'
import { Milliseconds } from '../telemetry/time-text.ts'
import { type AttributeValue, createTracer, type Span, type Tracer } from '../telemetry/trace.ts'
import { createOtlpGrpcSend } from '../upstream/otlp-grpc.ts'
import type { RequestState } from './request-state.ts'
import { attributeOf, RequestTrace } from './tracing.ts'

export interface CollectorOptions {
  readonly metrics: Metrics
  readonly log: Logger
  readonly version: string
  /** Milliseconds that requests which began on a replaced Program may still take. */
  readonly grace: number
}

/** Min milliseconds between two log records about loss. */
const QUIET = 10_000
/** Max milliseconds that the end of the process waits for a collector. */
const MAX_FLUSH = 5_000

interface Sending {
  readonly tracer: Tracer
  readonly send: (span: Span) => void
}

/** Exports spans and log records: one exporter for each collector that the Program names. */
export class Collectors {
  readonly #options: CollectorOptions
  readonly #exporters = new Map<string, BatchExporter<Span>>()
  readonly #logs = new Map<string, BatchExporter<LogRecord>>()
  readonly #clock = createClock()
  readonly #tracers = new WeakMap<TracingProgram, Sending>()
  #lossLoggedAt = Number.NEGATIVE_INFINITY

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  begin(state: RequestState, policy: TracingProgram): void {
    const { tracer, send } = this.#sendingOf(policy)
    state.trace = new RequestTrace(tracer, send, policy, state.exchange)
  }

  end(state: RequestState, seconds: number): void {
    if (state.trace instanceof RequestTrace) state.trace.end(state, seconds)
  }

  /** Exports a record of the access log. */
  readonly record = (to: LogExport, fields: LogFields, trace: RequestState['trace']): void => {
    let exporter = this.#logs.get(to.collector)
    if (exporter === undefined) {
      exporter = this.#openLog(to)
      this.#logs.set(to.collector, exporter)
    }
    const { traceId = '', spanId = '' } = trace ?? {}
    const attributes: Record<string, AttributeValue | undefined> = {}
    for (const name in fields) attributes[name] = loggedAttribute(fields[name])
    exporter.export({ time: this.#clock(), body: 'request', traceId, spanId, attributes })
  }

  /** Flushes collectors that are no longer named, once the last request on them is over. */
  swapped({ listeners }: Program): void {
    const named = new Set(
      listeners.flatMap(({ tracing, accessLog }) => [
        tracing?.collector,
        accessLog?.otlp?.collector,
      ]),
    )
    for (const exporters of [this.#exporters, this.#logs]) {
      for (const [collector, exporter] of exporters) {
        if (named.has(collector)) continue
        exporters.delete(collector)
        setTimeout(() => exporter.stop(() => {}), this.#options.grace).unref()
      }
    }
  }

  /** Sends what is left, and waits only so long. */
  async stop(): Promise<void> {
    const exporters = [...this.#exporters.values(), ...this.#logs.values()]
    if (exporters.length === 0) return
    this.#exporters.clear()
    this.#logs.clear()
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, MAX_FLUSH)
    const stopped = exporters.map((exporter) => new Promise<void>((done) => exporter.stop(done)))
    await Promise.race([late.promise, Promise.all(stopped)])
    clearTimeout(timer)
  }

  #sendingOf(policy: TracingProgram): Sending {
    const known = this.#tracers.get(policy)
    if (known !== undefined) return known
    const exporter = this.#exporters.get(policy.collector) ?? this.#open(policy)
    this.#exporters.set(policy.collector, exporter)
    const { randomSampling, clientSampling } = policy
    const tracer = createTracer({
      // Ratios that are expressions are evaluated for each request.
      sampling: {
        ratio: typeof randomSampling === 'number' ? randomSampling : 0,
        parentRatio: typeof clientSampling === 'number' ? clientSampling : 0,
      },
      export: () => {},
    })
    const sending = { tracer, send: exporter.export }
    this.#tracers.set(policy, sending)
    return sending
  }

  #open({ address, path, protocol, resources, headers }: TracingProgram): BatchExporter<Span> {
    const { metrics } = this.#options
    const own = Object.entries(resources).flatMap(([name, value]) => {
      const attribute = attributeOf(value)
      return attribute === undefined ? [] : [[name, attribute] as const]
    })
    const exported = metrics.counter(traceSpansExported).of({}).at()
    return createOtlpExporter({
      source: this.#source(Object.fromEntries(own)),
      send:
        protocol === 'http'
          ? createOtlpSend({ url: `${address}${path}`, headers })
          : createOtlpGrpcSend({ url: address, headers }),
      onExported: (spans) => exported.inc(spans),
      onLost: (spans, why, detail) => {
        metrics.counter(traceSpansDropped).of({}).at(why).inc(spans)
        this.#lost('tracing', { collector: address, error: 'spans were lost' }, why, detail)
      },
    })
  }

  #openLog({ address, path, protocol, headers }: LogExport): BatchExporter<LogRecord> {
    const { metrics } = this.#options
    const exported = metrics.counter(logsExported).of({}).at()
    return createOtlpLogExporter({
      source: this.#source({}),
      send:
        protocol === 'http'
          ? createOtlpSend({ url: `${address}${path}`, headers })
          : createOtlpGrpcSend({ url: address, headers }, 'logs'),
      onExported: (records) => exported.inc(records),
      onLost: (records, why, detail) => {
        metrics.counter(logsUnexported).of({}).at(why).inc(records)
        this.#lost('log', { collector: address, error: 'records were lost' }, why, detail)
      },
    })
  }

  #source(own: Readonly<Record<string, AttributeValue>>) {
    const { version } = this.#options
    const resource = { 'service.name': 'portcullis', 'service.version': version, ...own }
    return { resource, scope: { name: 'portcullis', version } }
  }

  #lost(scope: 'tracing' | 'log', fields: LogFields, reason: OtlpLoss, detail: string): void {
    const now = performance.now()
    if (now - this.#lossLoggedAt < QUIET) return
    this.#lossLoggedAt = now
    this.#options.log.warn(scope, { ...fields, reason, detail })
  }
}

/** Nested values are sent as JSON, except for lists of strings. */
function loggedAttribute(value: LogValue): AttributeValue | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object') return value
  if (value instanceof Milliseconds) return value.toJSON()
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string')
  return isTexts ? (value as readonly string[]) : renderJson(value)
}
