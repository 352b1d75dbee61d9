import type { WireResponse } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type { FinishReason, NeutralRequest, NeutralResponse, Part } from '../../neutral.ts'
import { argumentsObject, argumentsText, Dropped, prefixedId } from '../../parts.ts'
import {
  defined,
  type Fields,
  list,
  obj,
  readProviderBody,
  rejectWith,
  str,
} from '../../reading.ts'
import { serverError } from '../../sse-stream.ts'
import { type Usage, usageFrom } from '../../usage.ts'

/** `prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = obj(value)
  if (typeof usage['prompt_tokens'] !== 'number') return undefined
  const input = obj(usage['prompt_tokens_details'])
  const output = obj(usage['completion_tokens_details'])
  return usageFrom({
    input: usage['prompt_tokens'],
    output: usage['completion_tokens'] as number,
    total: usage['total_tokens'] as number,
    cacheRead: input['cached_tokens'] as number,
    cacheWrite: (input['cache_write_tokens'] ?? input['cache_creation_tokens']) as number,
    reasoning: output['reasoning_tokens'] as number,
    inputAudio: input['audio_tokens'] as number,
    outputAudio: output['audio_tokens'] as number,
  })
}

export function writeUsage(usage: Usage): Fields {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.total,
    prompt_tokens_details: defined({
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite > 0 ? usage.cacheWrite : undefined,
    }),
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}

/** Compatible providers add finish reasons: Mistral's `model_length`, DeepSeek's. */
export function readFinish(word: string): FinishReason {
  if (word === 'length' || word === 'model_length') return 'length'
  if (word === 'tool_calls' || word === 'function_call') return 'toolCalls'
  return word === 'content_filter' ? 'contentFilter' : 'stop'
}

export const FINISH_WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  stopSequence: 'stop',
  length: 'length',
  toolCalls: 'tool_calls',
  contentFilter: 'content_filter',
}

export function readResponse(bytes: Uint8Array): NeutralResponse {
  const body = readProviderBody(bytes)
  const choice = obj(list(body?.['choices'])[0])
  const message = obj(choice['message'])
  if (body === undefined || choice['message'] === undefined) {
    rejectWith(serverError('The provider sent a response without a message.'))
  }
  const dropped = new Dropped()
  const parts: Part[] = []
  const thought = reasoningText(message)
  if (thought !== '') parts.push({ kind: 'reasoning', text: thought, isRedacted: false })
  const text = contentText(message['content'])
  if (text !== '') parts.push({ kind: 'text', text })
  const refusal = str(message['refusal'])
  if (refusal !== '') parts.push({ kind: 'refusal', text: refusal })
  for (const item of list(message['tool_calls'])) {
    const call = obj(item)
    const called = obj(call['function'])
    parts.push({
      kind: 'toolCall',
      id: str(call['id']),
      name: str(called['name']),
      arguments: str(called['arguments']),
    })
  }
  noteLost(choice, message, dropped)
  const finish = readFinish(str(choice['finish_reason']))
  const hasCalls = parts.some(({ kind }) => kind === 'toolCall')
  return {
    id: str(body['id']),
    model: str(body['model']),
    parts,
    // Some compatible providers send `stop` when the model calls tools.
    finish: finish === 'stop' && hasCalls ? 'toolCalls' : finish,
    usage: readUsage(body['usage']),
    dropped: dropped.names,
  }
}

/** Records the fields of a message, or of a delta, that no other dialect can express. */
export function noteLost(choice: Fields, message: Fields, dropped: Dropped): void {
  if (list(message['annotations']).length > 0) dropped.add('annotations')
  dropped.addIfSet('logprobs', choice['logprobs'])
  dropped.addIfSet('audio', message['audio'])
}

/** Mistral sends a list of parts where others send a string. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return str(content)
  return content.map((part) => str(obj(part)['text'])).join('')
}

/** Not in OpenAI's API: the names that DeepSeek and its followers, and vLLM and OpenRouter, use. */
export function reasoningText(message: Fields): string {
  return str(message['reasoning_content']) || str(message['reasoning'])
}

export function writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse {
  const dropped = new Dropped()
  dropped.add(...response.dropped)
  const { parts } = response
  const joined = (kind: 'text' | 'refusal' | 'reasoning'): string =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('')
  if (parts.some((part) => part.kind === 'reasoning' && part.signature !== undefined)) {
    dropped.add('signatures of reasoning')
  }
  const calls = parts.filter((part) => part.kind === 'toolCall')
  const text = joined('text')
  const thought = joined('reasoning')
  const message = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || joined('refusal') !== '') ? null : text,
    refusal: joined('refusal') || null,
    reasoning_content: thought === '' ? undefined : thought,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((call) =>
            isCustom(request, call.name)
              ? { id: call.id, type: 'custom', custom: customCall(call.name, call.arguments) }
              : {
                  id: call.id,
                  type: 'function',
                  function: { name: call.name, arguments: argumentsText(call.arguments) },
                },
          ),
  }
  const body = {
    id: prefixedId('chatcmpl-', response.id),
    object: 'chat.completion',
    created: request.receivedAt,
    model: response.model || request.model,
    choices: [
      {
        index: 0,
        message: defined(message),
        logprobs: null,
        finish_reason: FINISH_WORDS[response.finish],
      },
    ],
    usage: response.usage === undefined ? undefined : writeUsage(response.usage),
  }
  return {
    headers: [['content-type', 'application/json']],
    body: encodeJson(defined(body)),
    dropped: dropped.names,
  }
}

export function isCustom(request: NeutralRequest, name: string): boolean {
  return request.tools.some((tool) => tool.isCustom === true && tool.name === name)
}

/** Returns the input of a custom tool: the one string argument of its replacement function. */
export function customInput(text: string): string {
  const { input } = argumentsObject(text)
  return typeof input === 'string' ? input : text
}

function customCall(name: string, text: string): Fields {
  return { name, input: customInput(text) }
}
