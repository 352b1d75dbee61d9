import type { WireResponse } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type { FinishReason, NeutralRequest, NeutralResponse, Part } from '../../neutral.ts'
import { argumentsObject, Dropped, fitCallId, prefixedId } from '../../parts.ts'
import { type Fields, list, obj, readProviderBody, rejectWith, str } from '../../reading.ts'
import { markSignature } from '../../signatures.ts'
import { serverError } from '../../sse-stream.ts'
import { count, type Usage, usageFrom } from '../../usage.ts'

/** `input_tokens` excludes tokens read from or written to the cache. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = obj(value)
  if (typeof usage['output_tokens'] !== 'number' && typeof usage['input_tokens'] !== 'number') {
    return undefined
  }
  const cacheRead = count(usage['cache_read_input_tokens'])
  const cacheWrite = count(usage['cache_creation_input_tokens'])
  return usageFrom({
    input: count(usage['input_tokens']) + cacheRead + cacheWrite,
    output: count(usage['output_tokens']),
    cacheRead,
    cacheWrite,
    reasoning: count(obj(usage['output_tokens_details'])['thinking_tokens']),
  })
}

/** The last event has the total output and may omit the input usage. */
export function mergeUsage(start: Usage | undefined, last: Usage): Usage {
  if (start === undefined) return last
  const cacheRead = last.cacheRead || start.cacheRead
  const cacheWrite = last.cacheWrite || start.cacheWrite
  const input = (uncached(last) || uncached(start)) + cacheRead + cacheWrite
  return usageFrom({ ...last, input, cacheRead, cacheWrite, total: 0 })
}

function uncached({ input, cacheRead, cacheWrite }: Usage): number {
  return Math.max(0, input - cacheRead - cacheWrite)
}

export function writeUsage(usage: Usage): Fields {
  return {
    input_tokens: uncached(usage),
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: usage.output,
    output_tokens_details: usage.reasoning > 0 ? { thinking_tokens: usage.reasoning } : null,
    server_tool_use: null,
  }
}

/** Returns undefined for a turn that the provider pauses for the client to continue. */
export function readStop(word: string): FinishReason | undefined {
  if (word === 'pause_turn') return undefined
  if (word === 'max_tokens' || word === 'model_context_window_exceeded') return 'length'
  if (word === 'stop_sequence') return 'stopSequence'
  if (word === 'tool_use') return 'toolCalls'
  return word === 'refusal' ? 'contentFilter' : 'stop'
}

export const STOP_WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  stopSequence: 'stop_sequence',
  length: 'max_tokens',
  toolCalls: 'tool_use',
  contentFilter: 'refusal',
}

export const PAUSED = serverError('The provider paused the turn, which cannot be translated.')

export function readResponse(bytes: Uint8Array, maker: string): NeutralResponse {
  const body = readProviderBody(bytes)
  if (body === undefined || !Array.isArray(body['content'])) {
    rejectWith(serverError('The provider sent a response without content.'))
  }
  const finish = readStop(str(body['stop_reason'])) ?? rejectWith(PAUSED)
  const dropped = new Dropped()
  const parts = list(body['content']).flatMap((item) => readBlock(obj(item), maker, dropped) ?? [])
  return {
    id: str(body['id']),
    model: str(body['model']),
    parts,
    finish,
    stopSequence: str(body['stop_sequence']) || undefined,
    usage: readUsage(body['usage']),
    dropped: dropped.names,
  }
}

function readBlock(block: Fields, maker: string, dropped: Dropped): Part | undefined {
  switch (block['type']) {
    case 'text':
      if (list(block['citations']).length > 0) dropped.add('citations')
      return { kind: 'text', text: str(block['text']) }
    case 'tool_use': {
      const text = JSON.stringify(block['input'] ?? {})
      return { kind: 'toolCall', id: str(block['id']), name: str(block['name']), arguments: text }
    }
    case 'thinking': {
      const signature = { maker, value: str(block['signature']) }
      return { kind: 'reasoning', text: str(block['thinking']), signature, isRedacted: false }
    }
    case 'redacted_thinking': {
      const signature = { maker, value: str(block['data']) }
      return { kind: 'reasoning', text: '', signature, isRedacted: true }
    }
    default:
      dropped.add(`content: ${str(block['type'])}`)
      return undefined
  }
}

/** The signature of reasoning that has none: it is not sent back to any provider. */
export const UNSIGNED = markSignature({ maker: '', value: '' })

export function writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse {
  const body = {
    ...messageHead(response.id, response.model || request.model),
    content: response.parts.flatMap((part) => writeBlock(part) ?? []),
    stop_reason: STOP_WORDS[response.finish],
    stop_sequence: response.stopSequence ?? null,
    usage: writeUsage(response.usage ?? usageFrom({})),
  }
  return {
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: response.dropped,
  }
}

export function messageHead(id: string, model: string): Fields {
  return {
    id: prefixedId('msg_', id),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
  }
}

function writeBlock(part: Part): unknown {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? undefined : { type: 'text', text: part.text, citations: null }
    case 'toolCall': {
      const input = argumentsObject(part.arguments)
      return { type: 'tool_use', id: fitCallId(part.id), name: part.name, input }
    }
    case 'reasoning': {
      const signature = part.signature === undefined ? UNSIGNED : markSignature(part.signature)
      return part.isRedacted
        ? { type: 'redacted_thinking', data: signature }
        : { type: 'thinking', thinking: part.text, signature }
    }
    default:
      return undefined
  }
}
