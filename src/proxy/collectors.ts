import type { Program, TracingProgram } from '../program/program.ts'
import { traceSpansDropped, traceSpansExported } from '../telemetry/definitions/telemetry.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createOtlpExporter, type OtlpExporter, type SpanLoss } from '../telemetry/otlp.ts'
import { createOtlpSend } from '../telemetry/otlp-send.ts'
import { createTracer, type Tracer } from '../telemetry/trace.ts'
import { createOtlpGrpcSend } from '../upstream/otlp-grpc.ts'
import type { RequestState } from './request-state.ts'
import { attributeOf, RequestTrace } from './tracing.ts'

export interface CollectorOptions {
  readonly metrics: Metrics
  readonly log: Logger
  readonly version: string
  /** Milliseconds that requests which began on a Program may take after it was replaced. */
  readonly grace: number
}

/** Milliseconds between two records of spans that were lost. */
const QUIET = 10_000
/** Milliseconds that the end of the process waits for a collector. */
const LONGEST_FLUSH = 5_000

interface Sending {
  readonly tracer: Tracer
  readonly send: OtlpExporter['export']
}

/** Where spans go: one exporter for each collector that the Program names. */
export class Collectors {
  readonly #options: CollectorOptions
  readonly #exporters = new Map<string, OtlpExporter>()
  readonly #tracers = new WeakMap<TracingProgram, Sending>()
  #lossToldAt = Number.NEGATIVE_INFINITY

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

  /** Collectors that nothing names any more are told what is left, when the last request is over. */
  swapped({ listeners }: Program): void {
    const named = new Set(listeners.map(({ tracing }) => tracing?.collector))
    for (const [collector, exporter] of this.#exporters) {
      if (named.has(collector)) continue
      this.#exporters.delete(collector)
      setTimeout(() => exporter.stop(() => {}), this.#options.grace).unref()
    }
  }

  /** Sends what there is, and waits for that only so long. */
  async stop(): Promise<void> {
    const exporters = [...this.#exporters.values()]
    if (exporters.length === 0) return
    this.#exporters.clear()
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, LONGEST_FLUSH)
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
      // Shares that an expression says are asked for each request.
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

  #open({ address, path, protocol, resources, headers }: TracingProgram): OtlpExporter {
    const { metrics, version } = this.#options
    const own = Object.entries(resources).flatMap(([name, value]) => {
      const attribute = attributeOf(value)
      return attribute === undefined ? [] : [[name, attribute] as const]
    })
    const resource = {
      'service.name': 'portcullis',
      'service.version': version,
      ...Object.fromEntries(own),
    }
    const exported = metrics.counter(traceSpansExported).of({}).at()
    return createOtlpExporter({
      source: { resource, scope: { name: 'portcullis', version } },
      send:
        protocol === 'http'
          ? createOtlpSend({ url: `${address}${path}`, headers })
          : createOtlpGrpcSend({ url: address, headers }),
      whenExported: (spans) => exported.inc(spans),
      whenLost: (spans, why, detail) => this.#lost(address, spans, why, detail),
    })
  }

  #lost(address: string, spans: number, why: SpanLoss, detail: string): void {
    const { metrics, log } = this.#options
    metrics.counter(traceSpansDropped).of({}).at(why).inc(spans)
    const now = performance.now()
    if (now - this.#lossToldAt < QUIET) return
    this.#lossToldAt = now
    log.warn('tracing', { collector: address, error: 'spans were lost', reason: why, detail })
  }
}
