import { encodeBatchAsJson, encodeSpanAsJson, rejectedInJson } from './otlp-json.ts'
import type { OtlpSend, OtlpSendResult } from './otlp-send.ts'
import type { TraceSource } from './otlp-span.ts'
import type { Span } from './trace.ts'

/** Why spans were lost: the values of a label of `portcullis_trace_spans_dropped_total`. */
export type SpanLoss = 'queue-full' | 'refused' | 'unavailable' | 'stopped'

export interface OtlpExporterOptions {
  readonly source: TraceSource
  readonly encoding?: 'protobuf' | 'json'
  readonly send: OtlpSend
  /** Most spans that wait; more are dropped. */
  readonly capacity?: number
  /** Most spans that are sent at once; as soon as there are as many they are. */
  readonly batch?: number
  /** Milliseconds that a span waits at most, unless the collector is slow. */
  readonly interval?: number
  /** Times that a batch is sent at most. */
  readonly attempts?: number
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly backoff?: number
  readonly whenExported?: (spans: number) => void
  readonly whenLost?: (spans: number, why: SpanLoss, detail: string) => void
}

/** Hands spans to a collector, in batches, without anyone waiting for it. */
export interface OtlpExporter {
  readonly export: (span: Span) => void
  /** Sends what there is, without further attempts; calls back when that is over. */
  readonly stop: (done: () => void) => void
}

const LONGEST_BACKOFF = 30_000

/** A collector may ask for patience; for longer, spans are not worth keeping. */
const LONGEST_WAIT = 300_000

export function createOtlpExporter(options: OtlpExporterOptions): OtlpExporter {
  const { source, send, encoding = 'protobuf', capacity = 4096, batch = 512 } = options
  const { interval = 1000, attempts = 6, backoff = 1000 } = options
  let codec = encoding === 'json' ? JSON_CODEC : undefined
  const loading = encoding === 'json' ? undefined : loadProtobufCodec()
  loading?.then((loaded) => {
    codec = loaded
  })
  // Encoded one by one, as they come: a whole batch would hold up the requests of that moment.
  // The first ones may find that there is nothing yet to encode them with.
  let queue: (Uint8Array | Span)[] = []
  let state: 'idle' | 'scheduled' | 'sending' | 'backing off' = 'idle'
  let timer: NodeJS.Timeout | undefined
  let retry: (() => void) | undefined
  let whenStopped: (() => void) | undefined

  const exportSpan = (span: Span) => {
    if (whenStopped !== undefined) return lose(1, 'stopped', '')
    if (queue.length >= capacity) return lose(1, 'queue-full', '')
    queue.push(codec === undefined ? span : codec.encodeSpan(span))
    if (state === 'idle') {
      state = 'scheduled'
      timer = setTimeout(sendNext, interval).unref()
    }
    // Not now: whoever ends a span has a response to give.
    if (state === 'scheduled' && queue.length === batch) setImmediate(sendFull)
  }

  const sendFull = () => {
    if (state === 'scheduled') sendNext()
  }

  const sendNext = () => {
    clearTimeout(timer)
    if (queue.length === 0) {
      state = 'idle'
      whenStopped?.()
      return
    }
    state = 'sending'
    if (codec === undefined) {
      loading?.then(sendNext)
      return
    }
    const { encodeSpan, encodeBatch } = codec
    const spans = queue
      .slice(0, batch)
      .map((span) => (span instanceof Uint8Array ? span : encodeSpan(span)))
    queue = queue.slice(batch)
    sendBody(codec, encodeBatch(spans, source), spans.length, 1)
  }

  const sendBody = (by: Codec, body: Uint8Array, spans: number, attempt: number) => {
    state = 'sending'
    send(body, by.contentType, (result) => onResult(result, by, body, spans, attempt))
  }

  const onResult = (
    result: OtlpSendResult,
    by: Codec,
    body: Uint8Array,
    spans: number,
    attempt: number,
  ) => {
    if ('status' in result && result.status >= 200 && result.status < 300) {
      const rejected = Math.max(0, Math.min(by.rejected(result.body), spans))
      if (spans > rejected) options.whenExported?.(spans - rejected)
      if (rejected > 0) lose(rejected, 'refused', 'the collector took only a part')
      return proceed()
    }
    const detail = 'status' in result ? `status ${result.status}` : result.error
    if ('status' in result && !RETRIED.includes(result.status)) {
      lose(spans, 'refused', detail)
      return proceed()
    }
    if (whenStopped !== undefined) {
      lose(spans + queue.length, 'stopped', detail)
      queue = []
      return proceed()
    }
    if (attempt >= attempts) {
      lose(spans, 'unavailable', detail)
      return proceed()
    }
    state = 'backing off'
    retry = () => sendBody(by, body, spans, attempt + 1)
    timer = setTimeout(retry, waitBefore(attempt, backoff, result)).unref()
  }

  const proceed = () => {
    if (queue.length >= batch || whenStopped !== undefined) return sendNext()
    state = queue.length === 0 ? 'idle' : 'scheduled'
    if (state === 'scheduled') timer = setTimeout(sendNext, interval).unref()
  }

  const lose = (spans: number, why: SpanLoss, detail: string) => {
    options.whenLost?.(spans, why, detail)
  }

  return {
    export: exportSpan,
    stop: (done) => {
      whenStopped = done
      if (state === 'sending') return
      clearTimeout(timer)
      if (state === 'backing off') retry?.()
      else sendNext()
    },
  }
}

/** https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRIED: readonly number[] = [429, 502, 503, 504]

/** With some chance in it, so that gateways that lost one collector do not come back as one. */
function waitBefore(attempt: number, backoff: number, result: OtlpSendResult): number {
  const doubled = Math.min(backoff * 2 ** (attempt - 1), LONGEST_BACKOFF)
  const own = doubled * (0.5 + Math.random() / 2)
  const asked = 'status' in result ? (result.retryAfter ?? 0) : 0
  return Math.max(own, Math.min(asked, LONGEST_WAIT))
}

interface Codec {
  readonly contentType: string
  readonly encodeSpan: (span: Span) => Uint8Array
  readonly encodeBatch: (spans: readonly Uint8Array[], source: TraceSource) => Uint8Array
  /** How many spans the collector says that it did not take. */
  readonly rejected: (response: Uint8Array) => number
}

/** Loaded with the first collector that gets protobuf. */
async function loadProtobufCodec(): Promise<Codec> {
  const { encodeSpan, encodeBatch, rejectedIn } = await import('./otlp-protobuf.ts')
  return { contentType: 'application/x-protobuf', encodeSpan, encodeBatch, rejected: rejectedIn }
}

const JSON_CODEC: Codec = {
  contentType: 'application/json',
  encodeSpan: encodeSpanAsJson,
  encodeBatch: encodeBatchAsJson,
  rejected: rejectedInJson,
}
