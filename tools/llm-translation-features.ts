/** A feature that a client may request, as part of a request in its dialect. */
export interface Feature {
  readonly what: string
  readonly fields: Readonly<Record<string, unknown>>
}

const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjQ='
const SCHEMA = { type: 'object', properties: {}, additionalProperties: false }

const chatUser = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] })
const chatTool = { type: 'function', function: { name: 'f', parameters: SCHEMA } }

const COMPLETIONS: readonly Feature[] = [
  { what: 'text, `max_completion_tokens`', fields: { max_completion_tokens: 100 } },
  {
    what: 'system and developer messages',
    fields: {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    },
  },
  {
    what: 'system messages in the middle',
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    },
  },
  { what: 'function tools', fields: { tools: [chatTool] } },
  { what: 'custom tools', fields: { tools: [{ type: 'custom', custom: { name: 'f' } }] } },
  {
    what: '`format` of custom tools',
    fields: { tools: [{ type: 'custom', custom: { name: 'f', format: { type: 'grammar' } } }] },
  },
  { what: '`tool_choice`', fields: { tools: [chatTool], tool_choice: 'required' } },
  {
    what: '`parallel_tool_calls: false`',
    fields: { tools: [chatTool], parallel_tool_calls: false },
  },
  {
    what: 'images as data',
    fields: chatUser({ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }),
  },
  {
    what: 'images by URL',
    fields: chatUser({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
  },
  {
    what: '`detail` of images',
    fields: chatUser({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' },
    }),
  },
  {
    what: '`name` of messages',
    fields: { messages: [{ role: 'user', name: 'a', content: 'b' }] },
  },
  {
    what: 'PDF files as data',
    fields: chatUser({
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
    }),
  },
  { what: 'stored files (`file_id`)', fields: chatUser({ type: 'file', file: { file_id: 'f' } }) },
  {
    what: 'audio input',
    fields: chatUser({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
  },
  {
    what: '`response_format: json_schema`',
    fields: {
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } },
    },
  },
  { what: '`response_format: json_object`', fields: { response_format: { type: 'json_object' } } },
  { what: '`reasoning_effort`', fields: { reasoning_effort: 'medium' } },
  { what: '`temperature` up to 1', fields: { temperature: 0.5 } },
  { what: '`temperature` above 1', fields: { temperature: 1.5 } },
  { what: '`top_p`', fields: { top_p: 0.5 } },
  { what: '`stop`', fields: { stop: ['END'] } },
  {
    what: '`presence_penalty`, `frequency_penalty`',
    fields: { presence_penalty: 1, frequency_penalty: 1 },
  },
  { what: '`seed`', fields: { seed: 1 } },
  { what: '`n` above 1', fields: { n: 2 } },
  { what: '`logprobs`, `logit_bias`', fields: { logprobs: true, logit_bias: { 1: 1 } } },
  { what: 'audio output', fields: { modalities: ['text', 'audio'] } },
  { what: '`user`, `safety_identifier`', fields: { user: 'u' } },
  { what: '`service_tier: flex`', fields: { service_tier: 'flex' } },
  { what: '`verbosity`', fields: { verbosity: 'low' } },
  { what: '`prompt_cache_key`', fields: { prompt_cache_key: 'k' } },
  { what: '`metadata`', fields: { metadata: { a: 'b' } } },
  { what: '`functions`, `function_call`', fields: { functions: [] } },
]

const input = (...items: readonly unknown[]) => ({ input: items })
const inputUser = (...content: readonly unknown[]) => input({ role: 'user', content })
const tool = { type: 'function', name: 'f', parameters: SCHEMA }

const RESPONSES: readonly Feature[] = [
  { what: 'text, `max_output_tokens`', fields: { max_output_tokens: 100 } },
  { what: '`instructions`', fields: { instructions: 'a' } },
  { what: 'function tools', fields: { tools: [tool] } },
  { what: 'custom tools', fields: { tools: [{ type: 'custom', name: 'f' }] } },
  {
    what: '`format` of custom tools',
    fields: { tools: [{ type: 'custom', name: 'f', format: { type: 'grammar' } }] },
  },
  { what: 'built-in tools (`web_search`, …)', fields: { tools: [{ type: 'web_search' }] } },
  {
    what: 'items of built-in tools',
    fields: input({ type: 'web_search_call', id: 'w' }, { role: 'user', content: 'a' }),
  },
  { what: '`parallel_tool_calls: false`', fields: { tools: [tool], parallel_tool_calls: false } },
  {
    what: 'images as data',
    fields: inputUser({ type: 'input_image', image_url: `data:image/png;base64,${PNG}` }),
  },
  {
    what: 'images by URL',
    fields: inputUser({ type: 'input_image', image_url: 'https://example.com/a.png' }),
  },
  {
    what: 'PDF files as data',
    fields: inputUser({
      type: 'input_file',
      filename: 'a.pdf',
      file_data: `data:application/pdf;base64,${PDF}`,
    }),
  },
  {
    what: 'files by URL',
    fields: inputUser({ type: 'input_file', file_url: 'https://example.com/a.pdf' }),
  },
  { what: 'stored files (`file_id`)', fields: inputUser({ type: 'input_file', file_id: 'f' }) },
  {
    what: '`text.format: json_schema`',
    fields: { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA } } },
  },
  { what: '`text.verbosity`', fields: { text: { verbosity: 'low' } } },
  { what: '`reasoning.effort`', fields: { reasoning: { effort: 'medium' } } },
  {
    what: "encrypted reasoning of another provider's",
    fields: input(
      { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' },
      { role: 'user', content: 'a' },
    ),
  },
  { what: '`temperature` above 1', fields: { temperature: 1.5 } },
  { what: '`store: true`', fields: { store: true } },
  { what: '`previous_response_id`, `conversation`', fields: { previous_response_id: 'r' } },
  { what: '`background: true`', fields: { background: true } },
  { what: '`prompt` (stored templates)', fields: { prompt: { id: 'p' } } },
  { what: 'items by reference', fields: input({ type: 'item_reference', id: 'i' }) },
  { what: '`truncation: auto`', fields: { truncation: 'auto' } },
  { what: '`top_logprobs`', fields: { top_logprobs: 2 } },
  { what: '`metadata`', fields: { metadata: { a: 'b' } } },
]

const claudeUser = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] })
const claudeTool = { name: 'f', input_schema: SCHEMA }
const cache_control = { type: 'ephemeral' }

const MESSAGES: readonly Feature[] = [
  { what: 'text, `max_tokens`', fields: {} },
  { what: '`system`', fields: { system: 'a' } },
  { what: 'tools', fields: { tools: [claudeTool] } },
  {
    what: 'server tools (`web_search_…`)',
    fields: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  },
  {
    what: '`defer_loading`, `input_examples`, … of tools',
    fields: { tools: [{ ...claudeTool, defer_loading: true }] },
  },
  {
    what: '`disable_parallel_tool_use`',
    fields: { tools: [claudeTool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  },
  {
    what: '`is_error` of tool results',
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: 'x', is_error: true }],
        },
      ],
    },
  },
  {
    what: 'images as data',
    fields: claudeUser({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: PNG },
    }),
  },
  {
    what: 'images by URL',
    fields: claudeUser({
      type: 'image',
      source: { type: 'url', url: 'https://example.com/a.png' },
    }),
  },
  {
    what: 'PDF documents as data',
    fields: claudeUser({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: PDF },
    }),
  },
  {
    what: 'stored files',
    fields: claudeUser({ type: 'image', source: { type: 'file', file_id: 'f' } }),
  },
  {
    what: 'citations',
    fields: claudeUser({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
      citations: { enabled: true },
    }),
  },
  { what: '`cache_control`', fields: { system: [{ type: 'text', text: 'a', cache_control }] } },
  {
    what: '`thinking`',
    fields: { max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 4000 } },
  },
  {
    what: "thinking of another provider's",
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 's' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
  },
  {
    what: '`output_config.format`',
    fields: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  },
  { what: '`temperature`, `top_p`', fields: { temperature: 0.5 } },
  { what: '`top_k`', fields: { top_k: 5 } },
  { what: '`stop_sequences`', fields: { stop_sequences: ['END'] } },
  { what: '`metadata.user_id`', fields: { metadata: { user_id: 'u' } } },
  { what: '`context_management`', fields: { context_management: {} } },
  { what: '`container`, `mcp_servers`', fields: { container: 'c' } },
]

const geminiUser = (...parts: readonly unknown[]) => ({ contents: [{ role: 'user', parts }] })
const config = (fields: Readonly<Record<string, unknown>>) => ({ generationConfig: fields })
const declared = { functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }] }

const GEMINI: readonly Feature[] = [
  { what: 'text, `maxOutputTokens`', fields: config({ maxOutputTokens: 100 }) },
  { what: '`systemInstruction`', fields: { systemInstruction: { parts: [{ text: 'a' }] } } },
  { what: '`functionDeclarations`', fields: { tools: [declared] } },
  { what: 'built-in tools (`googleSearch`, …)', fields: { tools: [{ googleSearch: {} }] } },
  {
    what: '`functionCallingConfig`',
    fields: { tools: [declared], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  },
  {
    what: 'images as data',
    fields: geminiUser({ inlineData: { mimeType: 'image/png', data: PNG } }),
  },
  {
    what: 'PDF files as data',
    fields: geminiUser({ inlineData: { mimeType: 'application/pdf', data: PDF } }),
  },
  {
    what: 'files by URL (`fileData`)',
    fields: geminiUser({ fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a' } }),
  },
  {
    what: '`responseSchema`, `responseJsonSchema`',
    fields: config({ responseMimeType: 'application/json', responseJsonSchema: SCHEMA }),
  },
  { what: '`thinkingConfig`', fields: config({ thinkingConfig: { thinkingBudget: 1024 } }) },
  { what: '`temperature` up to 1', fields: config({ temperature: 0.5 }) },
  { what: '`topP`', fields: config({ topP: 0.5 }) },
  { what: '`topK`', fields: config({ topK: 5 }) },
  { what: '`stopSequences`', fields: config({ stopSequences: ['END'] }) },
  { what: '`seed`', fields: config({ seed: 1 }) },
  { what: '`candidateCount` above 1', fields: config({ candidateCount: 2 }) },
  { what: '`safetySettings`', fields: { safetySettings: [] } },
  { what: '`cachedContent`', fields: { cachedContent: 'cachedContents/a' } },
]

export const FEATURES: Readonly<Record<string, readonly Feature[]>> = {
  completions: COMPLETIONS,
  responses: RESPONSES,
  messages: MESSAGES,
  gemini: GEMINI,
}

export const BASES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  completions: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', input: 'hi' },
  messages: { model: 'm', max_tokens: 2000, messages: [{ role: 'user', content: 'hi' }] },
  gemini: { model: 'm', contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
}
