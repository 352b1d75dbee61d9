import type { HeaderLookup, StreamReader } from '../../dialect.ts'
import { type LlmError, typeOfStatus } from '../../error.ts'
import type { FinishReason, NeutralResponse, Part } from '../../neutral.ts'
import { Dropped } from '../../parts.ts'
import {
  type Fields,
  list,
  obj,
  readProviderBody,
  readProviderValue,
  rejectWith,
  str,
} from '../../reading.ts'
import { retryAfterOf } from '../../retry-after.ts'
import {
  type EventHandler,
  type EventSink,
  serverError,
  sseStreamReader,
} from '../../sse-stream.ts'
import { count, type Usage, usageFrom } from '../../usage.ts'

/** The prompt count includes cached tokens; thoughts are counted separately from the candidates. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = obj(value)
  if (typeof usage['promptTokenCount'] !== 'number') return undefined
  const reasoning = count(usage['thoughtsTokenCount'])
  return usageFrom({
    input: count(usage['promptTokenCount']) + count(usage['toolUsePromptTokenCount']),
    output: count(usage['candidatesTokenCount']) + reasoning,
    total: count(usage['totalTokenCount']),
    cacheRead: count(usage['cachedContentTokenCount']),
    reasoning,
  })
}

const FILTERED = new Set(
  `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
  IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION`.split(/\s+/),
)
const MALFORMED = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
])

/** Tool calls end with STOP here. */
function readFinish(word: string, hasCalls: boolean): FinishReason | LlmError {
  if (MALFORMED.has(word)) return serverError(`The model failed: ${word}.`)
  if (word === 'MAX_TOKENS') return 'length'
  if (FILTERED.has(word)) return 'contentFilter'
  return hasCalls ? 'toolCalls' : 'stop'
}

export function readResponse(bytes: Uint8Array, maker: string): NeutralResponse {
  const body = readProviderBody(bytes)
  const candidate = obj(list(body?.['candidates'])[0])
  const blocked = str(obj(body?.['promptFeedback'])['blockReason'])
  if (body === undefined || (candidate['finishReason'] === undefined && blocked === '')) {
    rejectWith(serverError('The provider sent a response without a candidate.'))
  }
  const id = str(body['responseId'])
  const dropped = new Dropped()
  noteMetadata(candidate, dropped)
  const parts: Part[] = []
  for (const item of list(obj(candidate['content'])['parts'])) {
    addPart(obj(item), parts, { id, maker, dropped })
  }
  const hasCalls = parts.some(({ kind }) => kind === 'toolCall')
  const finish =
    blocked !== '' ? 'contentFilter' : readFinish(str(candidate['finishReason']), hasCalls)
  if (typeof finish === 'object') rejectWith(finish)
  return {
    id,
    model: str(body['modelVersion']),
    parts,
    finish,
    usage: readUsage(body['usageMetadata']),
    dropped: dropped.names,
  }
}

function noteMetadata(candidate: Fields, dropped: Dropped): void {
  if (candidate['groundingMetadata'] !== undefined) dropped.add('groundingMetadata')
  if (candidate['citationMetadata'] !== undefined) dropped.add('citations')
}

/** Records a part that is neither text nor a call. */
function noteOther(part: Fields, dropped: Dropped): void {
  const kind = Object.keys(part).find((name) => name !== 'thoughtSignature')
  if (kind !== undefined) dropped.add(`parts: ${kind}`)
}

interface PartReading {
  readonly id: string
  readonly maker: string
  readonly dropped: Dropped
}

/** A signature is on the part after the thought, or on a part without one; see write-request.ts. */
function addPart(part: Fields, parts: Part[], { id, maker, dropped }: PartReading): void {
  const sealed = str(part['thoughtSignature'])
  const last = parts.at(-1)
  if (part['thought'] === true) {
    const text = str(part['text'])
    if (last?.kind === 'reasoning' && last.signature === undefined) {
      parts[parts.length - 1] = { ...last, text: last.text + text }
    } else parts.push({ kind: 'reasoning', text, isRedacted: false })
    return
  }
  if (sealed !== '') {
    const signature = { maker, value: sealed }
    if (last?.kind === 'reasoning' && last.signature === undefined) {
      parts[parts.length - 1] = { ...last, signature }
    } else parts.push({ kind: 'reasoning', text: '', signature, isRedacted: false })
  }
  if (part['functionCall'] !== undefined) {
    const call = obj(part['functionCall'])
    const calls = parts.filter(({ kind }) => kind === 'toolCall').length
    parts.push({
      kind: 'toolCall',
      id: str(call['id']) || inventCallId(id, calls),
      name: str(call['name']),
      arguments: JSON.stringify(call['args'] ?? {}),
    })
  } else if (typeof part['text'] === 'string') {
    const previous = parts.at(-1)
    if (previous?.kind === 'text') {
      parts[parts.length - 1] = { kind: 'text', text: previous.text + part['text'] }
    } else if (part['text'] !== '') parts.push({ kind: 'text', text: part['text'] })
  } else noteOther(part, dropped)
}

/** Calls may have no ID here. IDs must be unique in a conversation: the response's makes it so. */
function inventCallId(responseId: string, index: number): string {
  const base = responseId.replace(/[^a-zA-Z0-9]/g, '').slice(0, 24)
  return `call_${base === '' ? crypto.randomUUID().replaceAll('-', '').slice(0, 24) : base}_${index}`
}

export function readStream(maker: string): StreamReader {
  return sseStreamReader(new CandidateHandler(maker))
}

class CandidateHandler implements EventHandler {
  readonly #maker: string
  #id: string | undefined
  #calls = 0
  #open: { readonly kind: 'text' | 'reasoning'; readonly block: number } | undefined
  #finish = ''
  #isBlocked = false

  constructor(maker: string) {
    this.#maker = maker
  }

  event(data: Fields, sink: EventSink): void {
    if (data['error'] !== undefined) {
      sink.fail(errorFrom(obj(data['error']), 0))
      return
    }
    if (this.#id === undefined) {
      this.#id = str(data['responseId'])
      sink.emit({ kind: 'start', id: this.#id, model: str(data['modelVersion']) })
    }
    // Each event has usage, and the last one counts.
    const usage = readUsage(data['usageMetadata'])
    if (usage !== undefined) sink.emit({ kind: 'usage', usage })
    if (str(obj(data['promptFeedback'])['blockReason']) !== '') this.#isBlocked = true
    const candidate = obj(list(data['candidates'])[0])
    noteMetadata(candidate, sink.dropped)
    for (const part of list(obj(candidate['content'])['parts'])) this.#part(obj(part), sink)
    this.#finish = str(candidate['finishReason']) || this.#finish
  }

  /** Nothing marks the end of the stream except the end of the body. */
  finish(sink: EventSink): void {
    if (this.#finish === '' && !this.#isBlocked) return
    const reason = this.#isBlocked ? 'contentFilter' : readFinish(this.#finish, this.#calls > 0)
    sink.finish(reason)
  }

  #part(part: Fields, sink: EventSink): void {
    const text = str(part['text'])
    if (part['thought'] === true) {
      this.#write('reasoning', text, sink)
      return
    }
    const sealed = str(part['thoughtSignature'])
    if (sealed !== '') {
      if (this.#open?.kind !== 'reasoning') this.#openBlock('reasoning', sink)
      const block = (this.#open as { readonly block: number }).block
      sink.sign(block, { maker: this.#maker, value: sealed })
      sink.close(block)
      this.#open = undefined
    }
    if (part['functionCall'] === undefined) {
      if (typeof part['text'] !== 'string') noteOther(part, sink.dropped)
      this.#write('text', text, sink)
      return
    }
    sink.close(this.#open?.block)
    this.#open = undefined
    const call = obj(part['functionCall'])
    const id = str(call['id']) || inventCallId(this.#id ?? '', this.#calls)
    this.#calls++
    const block = sink.open({ kind: 'toolCall', id, name: str(call['name']) })
    sink.delta(block, JSON.stringify(call['args'] ?? {}))
    sink.close(block)
  }

  #write(kind: 'text' | 'reasoning', text: string, sink: EventSink): void {
    if (text === '') return
    if (this.#open?.kind !== kind) this.#openBlock(kind, sink)
    sink.delta((this.#open as { readonly block: number }).block, text)
  }

  #openBlock(kind: 'text' | 'reasoning', sink: EventSink): void {
    sink.close(this.#open?.block)
    const part = kind === 'text' ? { kind } : { kind, isRedacted: false }
    this.#open = { kind, block: sink.open(part) }
  }
}

export function readError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError {
  const value = readProviderValue(bytes)
  // A stream that fails immediately is a list with one error.
  const body = obj(Array.isArray(value) ? value[0] : value)
  const error = errorFrom(obj(body['error']), status)
  return { ...error, retryAfterMs: retryAfterOf(header) ?? error.retryAfterMs }
}

export function errorFrom(fields: Fields, status: number): LlmError {
  const code = status !== 0 ? status : count(fields['code']) || 500
  const delays = list(fields['details']).map((detail) => str(obj(detail)['retryDelay']))
  const delay = Number.parseFloat(delays.find((text) => text !== '') ?? '')
  return {
    status: code,
    type: typeOfStatus(code),
    message: str(fields['message']) || `The provider failed with status ${code}.`,
    retryAfterMs: delay >= 0 ? delay * 1000 : undefined,
  }
}
