import { isTooMuch } from '../long-json.ts'
import { SseReader } from '../sse.ts'
import type { StreamReader } from './dialect.ts'
import type { LlmError } from './error.ts'
import { isObject, parseJsonText } from './json.ts'
import type { BlockStart, FinishReason, Signature, StreamEvent } from './neutral.ts'
import { Dropped } from './parts.ts'
import type { Fields } from './reading.ts'

/** Collects the events of a reader, and the blocks that it has opened. */
export class EventSink {
  events: StreamEvent[] = []
  /** Received content that no event can express. */
  readonly dropped = new Dropped()
  /** True after an end or an error; nothing follows. */
  isOver = false
  #next = 0
  readonly #open = new Set<number>()

  emit(event: StreamEvent): void {
    if (this.isOver) return
    this.events.push(event)
    this.isOver = event.kind === 'end' || event.kind === 'error'
  }

  open(part: BlockStart): number {
    const block = this.#next++
    this.#open.add(block)
    this.emit({ kind: 'blockStart', block, part })
    return block
  }

  delta(block: number, text: string): void {
    if (text !== '') this.emit({ kind: 'delta', block, text })
  }

  sign(block: number, signature: Signature): void {
    this.emit({ kind: 'signature', block, signature })
  }

  close(block: number | undefined): void {
    if (block !== undefined && this.#open.delete(block)) this.emit({ kind: 'blockEnd', block })
  }

  closeAll(): void {
    for (const block of [...this.#open]) this.close(block)
  }

  fail(error: LlmError): void {
    this.emit({ kind: 'error', error })
  }

  /** The provider is done, or reports that it failed. */
  finish(reason: FinishReason | LlmError): void {
    if (typeof reason === 'object') {
      this.fail(reason)
      return
    }
    this.closeAll()
    this.emit({ kind: 'finish', reason })
    this.emit({ kind: 'end' })
  }

  take(): readonly StreamEvent[] {
    const { events } = this
    this.events = []
    return events
  }
}

export function serverError(message: string): LlmError {
  return { status: 502, type: 'server', message }
}

const TOO_LONG = serverError('The provider sent an event that is too long.')

export const TRUNCATED = serverError('The provider ended the stream early.')

/** Turns the events of a dialect's stream into neutral ones. */
export interface EventHandler {
  event(data: Fields, sink: EventSink, name: string): void
  /** Handles data that is not JSON, such as `[DONE]`; returns false if it is unknown. */
  word?(data: string, sink: EventSink): boolean
  /** Called at the end of the body. Emits `end` if everything required has arrived. */
  finish(sink: EventSink): void
}

/** Returns a reader for dialects whose streams are server-sent events with JSON. */
export function sseStreamReader(handler: EventHandler): StreamReader {
  const sse = new SseReader()
  const sink = new EventSink()
  return {
    get dropped() {
      return sink.dropped.names
    },
    push(bytes) {
      const { comments } = sse
      for (const { event, data } of sse.push(bytes)) {
        if (sink.isOver) break
        if (handler.word?.(data, sink)) continue
        if (isTooMuch(data)) {
          sink.fail(TOO_LONG)
          break
        }
        const { value } = parseJsonText(data)
        if (isObject(value)) handler.event(value, sink, event)
        else sink.fail(serverError('The provider sent an event that is not a JSON object.'))
      }
      if (sse.isTooLong) sink.fail(TOO_LONG)
      if (sse.comments > comments) sink.emit({ kind: 'ping' })
      return sink.take()
    },
    end() {
      sse.end()
      handler.finish(sink)
      if (!sink.isOver) sink.fail(TRUNCATED)
      return sink.take()
    },
  }
}
