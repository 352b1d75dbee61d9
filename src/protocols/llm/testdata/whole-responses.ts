/** Each provider's response in one piece: reasoning, text and two tool calls. */

export const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 10 },
}

export const WHOLE: Readonly<Record<string, unknown>> = {
  completions: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-x-2026',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Grüße 🌍',
          reasoning_content: 'Hmm.',
          tool_calls: [
            {
              id: 'call_a',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Bern"}' },
            },
            { id: 'call_b', type: 'function', function: { name: 'get_time', arguments: '' } },
          ],
        },
      },
    ],
    usage: USAGE,
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt-x-2026',
    output: [
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Hmm.' }],
        encrypted_content: 'gAAAA',
      },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Grüße 🌍', annotations: [] }],
      },
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_a',
        name: 'get_weather',
        arguments: '{"city":"Bern"}',
      },
      {
        id: 'fc_2',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_b',
        name: 'get_time',
        arguments: '{}',
      },
      { id: 'ws_1', type: 'web_search_call', status: 'completed' },
    ],
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 10 },
      total_tokens: 150,
    },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x-2026',
    content: [
      { type: 'thinking', thinking: 'Hmm.', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'RRRR' },
      { type: 'text', text: 'Grüße 🌍', citations: null },
      { type: 'tool_use', id: 'toolu_a', name: 'get_weather', input: { city: 'Bern' } },
      { type: 'tool_use', id: 'toolu_b', name: 'get_time', input: {} },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 50,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 10,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 10 },
    },
  },
  gemini: {
    responseId: 'gem1',
    modelVersion: 'gemini-x-2026',
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            { text: 'Hmm.', thought: true },
            { text: 'Grüße 🌍' },
            {
              functionCall: { name: 'get_weather', args: { city: 'Bern' } },
              thoughtSignature: 'c2ln',
            },
            { functionCall: { name: 'get_time' } },
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: 40,
      thoughtsTokenCount: 10,
      cachedContentTokenCount: 40,
      totalTokenCount: 150,
    },
  },
  converse: {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hmm.', signature: 'EqQB' } } },
          { text: 'Grüße 🌍' },
          { toolUse: { toolUseId: 'tooluse_a', name: 'get_weather', input: { city: 'Bern' } } },
          { toolUse: { toolUseId: 'tooluse_b', name: 'get_time', input: {} } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: {
      inputTokens: 50,
      outputTokens: 50,
      totalTokens: 150,
      cacheReadInputTokens: 40,
      cacheWriteInputTokens: 10,
    },
    metrics: { latencyMs: 1 },
  },
}
