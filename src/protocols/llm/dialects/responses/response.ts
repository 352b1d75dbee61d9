import type { WireResponse } from '../../dialect.ts'
import { encodeJson } from '../../json.ts'
import type { FinishReason, NeutralRequest, NeutralResponse, Part } from '../../neutral.ts'
import { argumentsText, Dropped, prefixedId } from '../../parts.ts'
import {
  defined,
  type Fields,
  list,
  obj,
  readProviderBody,
  rejectWith,
  str,
} from '../../reading.ts'
import { markSignature } from '../../signatures.ts'
import { serverError } from '../../sse-stream.ts'
import { type Usage, usageFrom } from '../../usage.ts'
import { customInput, isCustom } from '../completions/response.ts'
import { errorFrom } from '../openai-errors.ts'
import { joinSeal } from './write-request.ts'

/** Totals include cached and reasoning tokens, as in chat completions. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = obj(value)
  if (typeof usage['input_tokens'] !== 'number') return undefined
  const input = obj(usage['input_tokens_details'])
  return usageFrom({
    input: usage['input_tokens'],
    output: usage['output_tokens'] as number,
    total: usage['total_tokens'] as number,
    cacheRead: input['cached_tokens'] as number,
    cacheWrite: input['cache_write_tokens'] as number,
    reasoning: obj(usage['output_tokens_details'])['reasoning_tokens'] as number,
  })
}

function writeUsage(usage: Usage): Fields {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.total,
  }
}

/** Derives the finish reason of a response from its status, reason and content. */
export function readFinish(response: Fields, hasCalls: boolean): FinishReason {
  if (response['status'] === 'incomplete') {
    const reason = obj(response['incomplete_details'])['reason']
    return reason === 'content_filter' ? 'contentFilter' : 'length'
  }
  return hasCalls ? 'toolCalls' : 'stop'
}

export function readFailure(response: Fields): ReturnType<typeof serverError> | undefined {
  const { status } = response
  if (status !== 'failed' && status !== 'cancelled') return undefined
  return errorFrom(obj(response['error']), 0)
}

export function readResponse(bytes: Uint8Array, maker: string): NeutralResponse {
  const body = readProviderBody(bytes)
  if (body === undefined || !Array.isArray(body['output'])) {
    rejectWith(serverError('The provider sent a response without output.'))
  }
  const failure = readFailure(body)
  if (failure !== undefined) rejectWith(failure)
  const dropped = new Dropped()
  const parts = list(body['output']).flatMap((item) => readItem(obj(item), maker, dropped))
  return {
    id: str(body['id']),
    model: str(body['model']),
    parts,
    finish: readFinish(
      body,
      parts.some(({ kind }) => kind === 'toolCall'),
    ),
    usage: readUsage(body['usage']),
    dropped: dropped.names,
  }
}

function readItem(item: Fields, maker: string, dropped: Dropped): readonly Part[] {
  switch (item['type']) {
    case 'message':
      return list(item['content']).map((value) => {
        const part = obj(value)
        if (list(part['annotations']).length > 0) dropped.add('annotations')
        return part['type'] === 'refusal'
          ? { kind: 'refusal', text: str(part['refusal']) }
          : { kind: 'text', text: str(part['text']) }
      })
    case 'function_call': {
      const { call_id, name } = item
      const text = str(item['arguments'])
      return [{ kind: 'toolCall', id: str(call_id), name: str(name), arguments: text }]
    }
    case 'reasoning': {
      const texts = [...list(item['summary']), ...list(item['content'])]
      const text = texts.map((part) => str(obj(part)['text'])).join('\n\n')
      const sealed = str(item['encrypted_content'])
      const value = joinSeal(str(item['id']), sealed)
      const signature = sealed === '' ? undefined : { maker, value }
      if (text === '' && signature === undefined) return []
      return [{ kind: 'reasoning', text, signature, isRedacted: text === '' }]
    }
    default:
      dropped.add(`output: ${str(item['type'])}`)
      return []
  }
}

export function writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse {
  const id = prefixedId('resp_', response.id)
  const items = response.parts.flatMap((part, at) => writeItem(part, request, `${id}_${at}`) ?? [])
  const body = responseObject(request, {
    id,
    model: response.model || request.model,
    output: items,
    finish: response.finish,
    usage: response.usage,
  })
  return {
    headers: [['content-type', 'application/json']],
    body: encodeJson(body),
    dropped: response.dropped,
  }
}

/** `base` is the prefix of item IDs, which clients only use to tell items apart. */
export function writeItem(
  part: Part,
  request: NeutralRequest,
  base: string,
  status = 'completed',
): Fields | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal': {
      const content = [contentPart(part.kind, part.text)]
      return { id: `msg_${base}`, type: 'message', status, role: 'assistant', content }
    }
    case 'toolCall': {
      const { id: call_id, name } = part
      if (isCustom(request, name)) {
        const input = customInput(part.arguments)
        return { id: `ctc_${base}`, type: 'custom_tool_call', status, call_id, name, input }
      }
      const text = argumentsText(part.arguments)
      return { id: `fc_${base}`, type: 'function_call', status, call_id, name, arguments: text }
    }
    case 'reasoning': {
      const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
      const { signature } = part
      const sealed = signature === undefined ? undefined : markSignature(signature)
      return defined({
        id: `rs_${base}`,
        type: 'reasoning',
        summary,
        encrypted_content: sealed,
      })
    }
    default:
      return undefined
  }
}

export function contentPart(kind: 'text' | 'refusal', text: string): Fields {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] }
}

export interface ResponseState {
  readonly id: string
  readonly model: string
  readonly output: readonly unknown[]
  /** Absent while the response is in progress. */
  readonly finish?: FinishReason | undefined
  readonly usage?: Usage | undefined
}

const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  contentFilter: 'content_filter',
}

/** The object around the output, which repeats the parameters of the request. */
export function responseObject(request: NeutralRequest, state: ResponseState): Fields {
  const { finish } = state
  const reason = finish === undefined ? undefined : INCOMPLETE[finish]
  const status =
    finish === undefined ? 'in_progress' : reason === undefined ? 'completed' : 'incomplete'
  const { toolChoice } = request
  return {
    id: state.id,
    object: 'response',
    created_at: request.receivedAt,
    status,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: request.maxTokens ?? null,
    metadata: request.metadata ?? {},
    model: state.model,
    output: state.output,
    parallel_tool_calls: request.parallelTools ?? true,
    previous_response_id: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    // Nothing is stored, regardless of the request.
    store: false,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' } },
    tool_choice:
      toolChoice === undefined
        ? 'auto'
        : toolChoice.kind === 'tool'
          ? { type: 'function', name: toolChoice.name }
          : toolChoice.kind === 'any'
            ? 'required'
            : toolChoice.kind,
    tools: [],
    top_p: request.topP ?? 1,
    truncation: 'disabled',
    usage: state.usage === undefined ? null : writeUsage(state.usage),
    user: null,
  }
}
