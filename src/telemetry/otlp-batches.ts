import type { OtlpSend, OtlpSendResult } from './otlp-send.ts'
import type { TraceSource } from './otlp-span.ts'

/** Why spans or records were lost: the label values of their counters. */
export type OtlpLoss = 'queue-full' | 'refused' | 'unavailable' | 'stopped'

export interface BatchOptions {
  readonly source: TraceSource
  readonly send: OtlpSend
  /** Max items that wait; more are dropped. */
  readonly capacity?: number
  /** Max items of a batch; a batch is sent as soon as it is full. */
  readonly batch?: number
  /** Max milliseconds that an item waits, unless the collector is slow. */
  readonly interval?: number
  /** Max attempts to send a batch. */
  readonly attempts?: number
  /** Milliseconds before the second attempt, doubled for each further attempt. */
  readonly backoff?: number
  readonly onExported?: (items: number) => void
  readonly onLost?: (items: number, why: OtlpLoss, detail: string) => void
}

/** How spans or log records are encoded. */
export interface Codec<Item> {
  readonly contentType: string
  readonly encode: (item: Item) => Uint8Array
  readonly encodeBatch: (items: readonly Uint8Array[], source: TraceSource) => Uint8Array
  /** The number of items that the collector reports as rejected. */
  readonly rejected: (response: Uint8Array) => number
}

/** Sends items to a collector in batches, without blocking the caller. */
export interface BatchExporter<Item> {
  readonly export: (item: Item) => void
  /** Sends the remaining items without retries; calls back when that is complete. */
  readonly stop: (done: () => void) => void
}

const MAX_BACKOFF = 30_000

/** A collector may request a delay; after a longer delay, its items are no longer useful. */
const MAX_WAIT = 300_000

/** `given`: a codec that is loaded or is being loaded. */
export function createBatchExporter<Item extends object>(
  given: Codec<Item> | Promise<Codec<Item>>,
  options: BatchOptions,
): BatchExporter<Item> {
  const { source, send, capacity = 4096, batch = 512 } = options
  const { interval = 1000, attempts = 6, backoff = 1000 } = options
  const loading = given instanceof Promise ? given : undefined
  let codec = given instanceof Promise ? undefined : given
  loading?.then((loaded) => {
    codec = loaded
  })
  // Encoded one by one as they arrive: encoding a whole batch would delay the requests of that
  // moment. The first items may arrive before the encoder is loaded.
  let queue: (Uint8Array | Item)[] = []
  let state: 'idle' | 'scheduled' | 'sending' | 'backing off' = 'idle'
  let timer: NodeJS.Timeout | undefined
  let retry: (() => void) | undefined
  let onStopped: (() => void) | undefined

  const exportItem = (item: Item) => {
    if (onStopped !== undefined) return lose(1, 'stopped', '')
    if (queue.length >= capacity) return lose(1, 'queue-full', '')
    queue.push(codec === undefined ? item : codec.encode(item))
    if (state === 'idle') {
      state = 'scheduled'
      timer = setTimeout(sendNext, interval).unref()
    }
    // Deferred: the code that ends a request must send a response first.
    if (state === 'scheduled' && queue.length === batch) setImmediate(sendFull)
  }

  const sendFull = () => {
    if (state === 'scheduled') sendNext()
  }

  const sendNext = () => {
    clearTimeout(timer)
    if (queue.length === 0) {
      state = 'idle'
      onStopped?.()
      return
    }
    state = 'sending'
    if (codec === undefined) {
      loading?.then(sendNext)
      return
    }
    const { encode, encodeBatch } = codec
    const items = queue
      .slice(0, batch)
      .map((item) => (item instanceof Uint8Array ? item : encode(item)))
    queue = queue.slice(batch)
    sendBody(codec, encodeBatch(items, source), items.length, 1)
  }

  const sendBody = (by: Codec<Item>, body: Uint8Array, items: number, attempt: number) => {
    state = 'sending'
    send(body, by.contentType, (result) => onResult(result, by, body, items, attempt))
  }

  const onResult = (
    result: OtlpSendResult,
    by: Codec<Item>,
    body: Uint8Array,
    items: number,
    attempt: number,
  ) => {
    if ('status' in result && result.status >= 200 && result.status < 300) {
      const rejected = Math.max(0, Math.min(by.rejected(result.body), items))
      if (items > rejected) options.onExported?.(items - rejected)
      if (rejected > 0) lose(rejected, 'refused', 'the collector accepted only a part')
      return proceed()
    }
    const detail = 'status' in result ? `status ${result.status}` : result.error
    if ('status' in result && !RETRIED.includes(result.status)) {
      lose(items, 'refused', detail)
      return proceed()
    }
    if (onStopped !== undefined) {
      lose(items + queue.length, 'stopped', detail)
      queue = []
      return proceed()
    }
    if (attempt >= attempts) {
      lose(items, 'unavailable', detail)
      return proceed()
    }
    state = 'backing off'
    retry = () => sendBody(by, body, items, attempt + 1)
    timer = setTimeout(retry, waitBefore(attempt, backoff, result)).unref()
  }

  const proceed = () => {
    if (queue.length >= batch || onStopped !== undefined) return sendNext()
    state = queue.length === 0 ? 'idle' : 'scheduled'
    if (state === 'scheduled') timer = setTimeout(sendNext, interval).unref()
  }

  const lose = (items: number, why: OtlpLoss, detail: string) => {
    options.onLost?.(items, why, detail)
  }

  return {
    export: exportItem,
    stop: (done) => {
      onStopped = done
      if (state === 'sending') return
      clearTimeout(timer)
      if (state === 'backing off') retry?.()
      else sendNext()
    },
  }
}

/** https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRIED: readonly number[] = [429, 502, 503, 504]

/** With jitter, so that gateways that lost the same collector do not all retry at once. */
function waitBefore(attempt: number, backoff: number, result: OtlpSendResult): number {
  const doubled = Math.min(backoff * 2 ** (attempt - 1), MAX_BACKOFF)
  const own = doubled * (0.5 + Math.random() / 2)
  const asked = 'status' in result ? (result.retryAfter ?? 0) : 0
  return Math.max(own, Math.min(asked, MAX_WAIT))
}
