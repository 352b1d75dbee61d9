import type { HeaderLookup, StreamReader } from '../../dialect.ts'
import { type LlmError, type LlmErrorType, typeOfStatus } from '../../error.ts'
import { type EventStreamMessage, EventStreamReader } from '../../event-stream.ts'
import type { FinishReason, NeutralResponse, Part } from '../../neutral.ts'
import { Dropped } from '../../parts.ts'
import { type Fields, list, obj, readProviderBody, rejectWith, str } from '../../reading.ts'
import { retryAfterOf } from '../../retry-after.ts'
import { EventSink, serverError, TRUNCATED } from '../../sse-stream.ts'
import { count, type Usage, usageFrom } from '../../usage.ts'
import { STATUS_IN_STREAM } from '../openai-errors.ts'

/** As with Anthropic, `inputTokens` excludes tokens read from or written to the cache. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = obj(value)
  if (typeof usage['inputTokens'] !== 'number') return undefined
  const cacheRead = count(usage['cacheReadInputTokens'])
  const cacheWrite = count(usage['cacheWriteInputTokens'])
  return usageFrom({
    input: count(usage['inputTokens']) + cacheRead + cacheWrite,
    output: count(usage['outputTokens']),
    total: count(usage['totalTokens']),
    cacheRead,
    cacheWrite,
  })
}

function readStop(word: string): FinishReason | LlmError {
  switch (word) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'stop_sequence':
      return 'stopSequence'
    case 'tool_use':
      return 'toolCalls'
    case 'guardrail_intervened':
    case 'content_filtered':
      return 'contentFilter'
    case 'malformed_model_output':
    case 'malformed_tool_use':
      return serverError(`The model failed: ${word}.`)
    default:
      return 'stop'
  }
}

export function readResponse(bytes: Uint8Array, maker: string): NeutralResponse {
  const body = readProviderBody(bytes)
  const message = obj(obj(body?.['output'])['message'])
  if (body === undefined || !Array.isArray(message['content'])) {
    rejectWith(serverError('The provider sent a response without a message.'))
  }
  const finish = readStop(str(body['stopReason']))
  if (typeof finish === 'object') rejectWith(finish)
  const dropped = new Dropped()
  const content = list(message['content'])
  return {
    id: '',
    model: '',
    parts: content.flatMap((block) => readBlock(obj(block), maker, dropped) ?? []),
    finish,
    usage: readUsage(body['usage']),
    dropped: dropped.names,
  }
}

function readBlock(block: Fields, maker: string, dropped: Dropped): Part | undefined {
  if (typeof block['text'] === 'string') return { kind: 'text', text: block['text'] }
  if (block['toolUse'] !== undefined) {
    const { toolUseId, name, input } = obj(block['toolUse'])
    const text = JSON.stringify(input ?? {})
    return { kind: 'toolCall', id: str(toolUseId), name: str(name), arguments: text }
  }
  if (block['reasoningContent'] !== undefined) {
    const { reasoningText, redactedContent } = obj(block['reasoningContent'])
    if (typeof redactedContent === 'string') {
      const signature = { maker, value: redactedContent }
      return { kind: 'reasoning', text: '', signature, isRedacted: true }
    }
    const { text, signature: value } = obj(reasoningText)
    const signature = { maker, value: str(value) }
    return { kind: 'reasoning', text: str(text), signature, isRedacted: false }
  }
  dropped.add(`content: ${Object.keys(block)[0] ?? ''}`)
  return undefined
}

export function readStream(maker: string): StreamReader {
  const frames = new EventStreamReader()
  const sink = new EventSink()
  const handler = new ConverseHandler(maker)
  return {
    get dropped() {
      return sink.dropped.names
    },
    push(bytes) {
      for (const message of frames.push(bytes)) {
        if (sink.isOver) break
        handler.message(message, sink)
      }
      if (frames.problem !== undefined) sink.fail(serverError(frames.problem))
      return sink.take()
    },
    end() {
      if (!frames.isInsideMessage) handler.finish(sink)
      if (!sink.isOver) sink.fail(TRUNCATED)
      return sink.take()
    },
  }
}

class ConverseHandler {
  readonly #maker: string
  readonly #blocks = new Map<unknown, number>()
  #stop: string | undefined

  constructor(maker: string) {
    this.#maker = maker
  }

  message({ headers, payload }: EventStreamMessage, sink: EventSink): void {
    const data = readProviderBody(payload) ?? {}
    if (headers.get(':message-type') !== 'event') {
      const name = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
      const message = str(data['message']) || (headers.get(':error-message') ?? '')
      sink.fail(errorFrom(name, message, 0))
      return
    }
    const index = data['contentBlockIndex']
    switch (headers.get(':event-type')) {
      case 'messageStart':
        sink.emit({ kind: 'start', id: '', model: '' })
        return
      case 'contentBlockStart': {
        const { toolUse } = obj(data['start'])
        if (toolUse === undefined) return
        const { toolUseId, name } = obj(toolUse)
        const part = { kind: 'toolCall' as const, id: str(toolUseId), name: str(name) }
        this.#blocks.set(index, sink.open(part))
        return
      }
      case 'contentBlockDelta':
        this.#delta(index, obj(data['delta']), sink)
        return
      case 'contentBlockStop':
        sink.close(this.#blocks.get(index))
        return
      case 'messageStop':
        this.#stop = str(data['stopReason'])
        return
      case 'metadata': {
        const usage = readUsage(data['usage'])
        if (usage !== undefined) sink.emit({ kind: 'usage', usage })
        this.finish(sink)
        return
      }
      default:
        sink.emit({ kind: 'ping' })
        return
    }
  }

  finish(sink: EventSink): void {
    if (this.#stop === undefined) return
    sink.finish(readStop(this.#stop))
  }

  /** Blocks of text and reasoning begin with their first delta. */
  #delta(index: unknown, delta: Fields, sink: EventSink): void {
    if (typeof delta['text'] === 'string') {
      const block = this.#blocks.get(index) ?? sink.open({ kind: 'text' })
      this.#blocks.set(index, block)
      sink.delta(block, delta['text'])
      return
    }
    if (delta['toolUse'] !== undefined) {
      const block = this.#blocks.get(index)
      if (block !== undefined) sink.delta(block, str(obj(delta['toolUse'])['input']))
      return
    }
    if (delta['reasoningContent'] === undefined) {
      sink.dropped.add(`content: ${Object.keys(delta)[0] ?? ''}`)
      return
    }
    const { text, signature, redactedContent } = obj(delta['reasoningContent'])
    const isRedacted = typeof redactedContent === 'string'
    const block = this.#blocks.get(index) ?? sink.open({ kind: 'reasoning', isRedacted })
    this.#blocks.set(index, block)
    sink.delta(block, str(text))
    const value = isRedacted ? redactedContent : str(signature)
    if (value !== '') sink.sign(block, { maker: this.#maker, value })
  }
}

const TYPES: Readonly<Record<string, LlmErrorType | undefined>> = {
  throttling: 'rateLimit',
  validation: 'invalidRequest',
  accessdenied: 'permission',
  resourcenotfound: 'notFound',
  servicequotaexceeded: 'rateLimit',
  serviceunavailable: 'overloaded',
  modelnotready: 'overloaded',
  modeltimeout: 'timeout',
  unrecognizedclient: 'authentication',
  expiredtoken: 'authentication',
}

export function readError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError {
  const body = readProviderBody(bytes)
  // `ThrottlingException:http://…` also occurs.
  const name = (header('x-amzn-errortype') ?? str(body?.['__type'])).replace(/:.*$/, '')
  const message = str(body?.['message']) || str(body?.['Message'])
  return {
    ...errorFrom(name, message, status),
    retryAfterMs: retryAfterOf(header),
    requestId: header('x-amzn-requestid'),
  }
}

export function errorFrom(name: string, message: string, status: number): LlmError {
  const word = name
    .replace(/^.*#/, '')
    .replace(/Exception$/i, '')
    .toLowerCase()
  const type = TYPES[word] ?? (status === 0 ? 'server' : typeOfStatus(status))
  return {
    // 424: the model failed, which the client cannot fix.
    status: status === 0 ? STATUS_IN_STREAM[type] : status === 424 ? 502 : status,
    type: status === 424 ? 'server' : type,
    message: message || `The provider failed with status ${status || 'unknown'}.`,
  }
}
