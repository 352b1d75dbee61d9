import { EventStreamCodec } from '@smithy/eventstream-codec'
import { USAGE, WHOLE } from './whole-responses.ts'

/*
 * The same as a stream, with comments, pings, unknown events and, if the dialect has them,
 * interleaved deltas.
 */

type Event = readonly [name: string | undefined, data: unknown]

const chunk = (delta: unknown, finish: string | null = null): Event => [
  undefined,
  {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-x-2026',
    choices: [{ index: 0, delta, finish_reason: finish }],
    usage: null,
  },
]
const callPiece = (index: number, text: string): Event =>
  chunk({ tool_calls: [{ index, function: { arguments: text } }] })
const callStart = (index: number, id: string, name: string): Event =>
  chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })

const COMPLETIONS: readonly Event[] = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'Hmm.' }),
  chunk({ content: 'Grüße' }),
  chunk({ content: ' 🌍' }),
  callStart(0, 'call_a', 'get_weather'),
  callPiece(0, '{"city"'),
  callStart(1, 'call_b', 'get_time'),
  callPiece(0, ':"Bern"}'),
  chunk({}, 'tool_calls'),
  [
    undefined,
    {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt-x-2026',
      choices: [],
      usage: USAGE,
    },
  ],
  [undefined, '[DONE]'],
]

const named = (type: string, fields: object): Event => [type, { type, ...fields }]

/** Each event has a number and names its item. */
function withPlaces(events: readonly Event[]): readonly Event[] {
  const ids = ['rs_1', 'msg_1', 'fc_1', 'fc_2']
  return events.map(([name, data], sequence_number) => {
    const fields = data as Record<string, unknown>
    const item_id = ids[Number(fields['output_index'])]
    const place = item_id === undefined || 'item' in fields ? {} : { item_id }
    return [name, { ...fields, ...place, sequence_number }]
  })
}

const RESPONSES: readonly Event[] = withPlaces([
  named('response.created', {
    response: { id: 'resp_1', model: 'gpt-x-2026', status: 'in_progress' },
  }),
  named('response.in_progress', { response: { id: 'resp_1' } }),
  named('response.output_item.added', {
    output_index: 0,
    item: { id: 'rs_1', type: 'reasoning', summary: [] },
  }),
  named('response.reasoning_summary_part.added', {
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  }),
  named('response.reasoning_summary_text.delta', {
    output_index: 0,
    summary_index: 0,
    delta: 'Hmm.',
  }),
  named('response.output_item.done', {
    output_index: 0,
    item: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAA' },
  }),
  named('response.output_item.added', {
    output_index: 1,
    item: { id: 'msg_1', type: 'message', content: [] },
  }),
  named('response.content_part.added', {
    output_index: 1,
    content_index: 0,
    part: { type: 'output_text', text: '' },
  }),
  named('response.output_text.delta', { output_index: 1, content_index: 0, delta: 'Grüße' }),
  named('response.output_text.delta', { output_index: 1, content_index: 0, delta: ' 🌍' }),
  named('response.content_part.done', {
    output_index: 1,
    content_index: 0,
    part: { type: 'output_text', text: 'Grüße 🌍' },
  }),
  named('response.output_item.done', {
    output_index: 1,
    item: {
      id: 'msg_1',
      type: 'message',
      content: [{ type: 'output_text', text: 'Grüße 🌍', annotations: [] }],
    },
  }),
  named('response.output_item.added', {
    output_index: 2,
    item: {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'call_a',
      name: 'get_weather',
      arguments: '',
    },
  }),
  named('response.function_call_arguments.delta', { output_index: 2, delta: '{"city"' }),
  named('response.output_item.added', {
    output_index: 3,
    item: { id: 'fc_2', type: 'function_call', call_id: 'call_b', name: 'get_time', arguments: '' },
  }),
  named('response.function_call_arguments.delta', { output_index: 2, delta: ':"Bern"}' }),
  named('response.future.event', { output_index: 9 }),
  named('response.output_item.done', {
    output_index: 3,
    item: {
      id: 'fc_2',
      type: 'function_call',
      call_id: 'call_b',
      name: 'get_time',
      arguments: '{}',
    },
  }),
  named('response.output_item.done', {
    output_index: 2,
    item: {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'call_a',
      name: 'get_weather',
      arguments: '{"city":"Bern"}',
    },
  }),
  named('response.completed', { response: WHOLE['responses'] }),
])

const MESSAGES: readonly Event[] = [
  named('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x-2026',
      content: [],
      usage: {
        input_tokens: 50,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 10,
        output_tokens: 1,
      },
    },
  }),
  named('ping', {}),
  named('content_block_start', {
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  }),
  named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Hmm.' } }),
  named('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } }),
  named('content_block_stop', { index: 0 }),
  named('content_block_start', {
    index: 1,
    content_block: { type: 'redacted_thinking', data: 'RRRR' },
  }),
  named('content_block_stop', { index: 1 }),
  named('content_block_start', { index: 2, content_block: { type: 'text', text: '' } }),
  named('content_block_delta', { index: 2, delta: { type: 'text_delta', text: 'Grüße' } }),
  named('content_block_delta', { index: 2, delta: { type: 'text_delta', text: ' 🌍' } }),
  named('content_block_stop', { index: 2 }),
  named('content_block_start', {
    index: 3,
    content_block: { type: 'tool_use', id: 'toolu_a', name: 'get_weather', input: {} },
  }),
  named('content_block_delta', { index: 3, delta: { type: 'input_json_delta', partial_json: '' } }),
  named('content_block_delta', {
    index: 3,
    delta: { type: 'input_json_delta', partial_json: '{"city"' },
  }),
  named('content_block_delta', {
    index: 3,
    delta: { type: 'input_json_delta', partial_json: ':"Bern"}' },
  }),
  named('content_block_stop', { index: 3 }),
  named('future_event', { index: 3 }),
  named('content_block_start', {
    index: 4,
    content_block: { type: 'tool_use', id: 'toolu_b', name: 'get_time', input: {} },
  }),
  named('content_block_stop', { index: 4 }),
  named('message_delta', {
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 50, output_tokens_details: { thinking_tokens: 10 } },
  }),
  named('message_stop', {}),
]

const candidate = (parts: readonly unknown[], rest: object = {}, tokens = 0): Event => [
  undefined,
  {
    responseId: 'gem1',
    modelVersion: 'gemini-x-2026',
    candidates: [{ index: 0, content: { role: 'model', parts }, ...rest }],
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: tokens,
      thoughtsTokenCount: 10,
      cachedContentTokenCount: 40,
      totalTokenCount: 110 + tokens,
    },
  },
]

const GEMINI: readonly Event[] = [
  candidate([{ text: 'Hmm.', thought: true }]),
  candidate([{ text: 'Grüße' }], {}, 5),
  candidate([{ text: ' 🌍' }], {}, 10),
  candidate(
    [
      { functionCall: { name: 'get_weather', args: { city: 'Bern' } }, thoughtSignature: 'c2ln' },
      { functionCall: { name: 'get_time' } },
    ],
    {},
    30,
  ),
  candidate([], { finishReason: 'STOP' }, 40),
]

const CONVERSE: readonly Event[] = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hmm.' } } }],
  [
    'contentBlockDelta',
    { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'EqQB' } } },
  ],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: 'Grüße' } }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { text: ' 🌍' } }],
  ['contentBlockStop', { contentBlockIndex: 1 }],
  [
    'contentBlockStart',
    { contentBlockIndex: 2, start: { toolUse: { toolUseId: 'tooluse_a', name: 'get_weather' } } },
  ],
  ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: '{"city"' } } }],
  ['contentBlockDelta', { contentBlockIndex: 2, delta: { toolUse: { input: ':"Bern"}' } } }],
  ['contentBlockStop', { contentBlockIndex: 2 }],
  ['futureEvent', {}],
  [
    'contentBlockStart',
    { contentBlockIndex: 3, start: { toolUse: { toolUseId: 'tooluse_b', name: 'get_time' } } },
  ],
  ['contentBlockStop', { contentBlockIndex: 3 }],
  ['messageStop', { stopReason: 'tool_use' }],
  [
    'metadata',
    {
      usage: {
        inputTokens: 50,
        outputTokens: 50,
        totalTokens: 150,
        cacheReadInputTokens: 40,
        cacheWriteInputTokens: 10,
      },
      metrics: { latencyMs: 1 },
    },
  ],
]

export const EVENTS: Readonly<Record<string, readonly Event[]>> = {
  completions: COMPLETIONS,
  responses: RESPONSES,
  messages: MESSAGES,
  gemini: GEMINI,
  converse: CONVERSE,
}

/** The bytes of a stream; readers must accept any `lineEnd`, and comments. */
export function streamOf(
  provider: string,
  events = EVENTS[provider] ?? [],
  lineEnd = '\n',
): Uint8Array {
  if (provider === 'converse')
    return Buffer.concat(events.map(([type, data]) => frame(type ?? '', data)))
  let text = `: a comment${lineEnd}${lineEnd}`
  for (const [name, data] of events) {
    if (name !== undefined) text += `event: ${name}${lineEnd}`
    text += `data: ${typeof data === 'string' ? data : JSON.stringify(data)}${lineEnd}${lineEnd}`
  }
  return Buffer.from(text)
}

const CODEC = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)

/** Encoded by AWS's own codec. */
export function frame(type: string, data: unknown, kind = 'event'): Uint8Array {
  return CODEC.encode({
    headers: {
      ':message-type': { type: 'string', value: kind },
      [kind === 'event' ? ':event-type' : ':exception-type']: { type: 'string', value: type },
      ':content-type': { type: 'string', value: 'application/json' },
      'x-number': { type: 'integer', value: 7 },
      'x-flag': { type: 'boolean', value: true },
    },
    body: Buffer.from(JSON.stringify(data)),
  })
}
