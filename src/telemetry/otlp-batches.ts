import type { OtlpSend, OtlpSendResult } from './otlp-send.ts'
import type { TraceSource } from './otlp-span.ts'

/** Why spans or records were lost: the values of a label of their counters. */
export type OtlpLoss = 'queue-full' | 'refused' | 'unavailable' | 'stopped'

export interface BatchOptions {
  readonly source: TraceSource
  readonly send: OtlpSend
  /** Most items that wait; more are dropped. */
  readonly capacity?: number
  /** Most items that are sent at once; as soon as there are as many they are. */
  readonly batch?: number
  /** Milliseconds that an item waits at most, unless the collector is slow. */
  readonly interval?: number
  /** Times that a batch is sent at most. */
  readonly attempts?: number
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly backoff?: number
  readonly onExported?: (items: number) => void
  readonly onLost?: (items: number, why: OtlpLoss, detail: string) => void
}

/** How spans, or records of a log, are written. */
export interface Codec<Item> {
  readonly contentType: string
  readonly encode: (item: Item) => Uint8Array
  readonly encodeBatch: (items: readonly Uint8Array[], source: TraceSource) => Uint8Array
  /** How many of them the collector says that it did not take. */
  readonly rejected: (response: Uint8Array) => number
}

/** Hands items to a collector, in batches, without anyone waiting for it. */
export interface BatchExporter<Item> {
  readonly export: (item: Item) => void
  /** Sends what there is, without further attempts; calls back when that is over. */
  readonly stop: (done: () => void) => void
}

const LONGEST_BACKOFF = 30_000

/** A collector may ask for patience; for longer, nothing of it is worth keeping. */
const LONGEST_WAIT = 300_000

/** `given`: a codec that is there, or that is being loaded. */
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
  // Encoded one by one, as they come: a whole batch would hold up the requests of that moment.
  // The first ones may find that there is nothing yet to encode them with.
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
    // Not now: whoever ends a request has a response to give.
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

/** With some chance in it, so that gateways that lost one collector do not come back as one. */
function waitBefore(attempt: number, backoff: number, result: OtlpSendResult): number {
  const doubled = Math.min(backoff * 2 ** (attempt - 1), LONGEST_BACKOFF)
  const own = doubled * (0.5 + Math.random() / 2)
  const asked = 'status' in result ? (result.retryAfter ?? 0) : 0
  return Math.max(own, Math.min(asked, LONGEST_WAIT))
}
