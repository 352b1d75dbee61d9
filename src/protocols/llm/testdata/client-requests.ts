/** One conversation with all features, as a client of each dialect would send it. */

const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjQ='

const WEATHER_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { city: { type: 'string' }, id: { type: 'integer', maximum: 1e3 } },
  required: ['city'],
  additionalProperties: false,
}

const ANSWER_SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
}

export const COMPLETIONS_REQUEST = {
  model: 'client-model',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Use metric units.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is in these? Grüße 🌍' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
        {
          type: 'file',
          file: { filename: 'report.pdf', file_data: `data:application/pdf;base64,${PDF}` },
        },
      ],
    },
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'They want the weather.',
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Bern","id":12345678901234567890}' },
        },
        { id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_2', content: '12:00' },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '{"degrees":20}' }] },
    { role: 'system', content: 'Now answer in French.' },
    { role: 'user', content: 'And now?' },
  ],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Weather of a city',
        parameters: WEATHER_SCHEMA,
        strict: true,
      },
    },
    { type: 'function', function: { name: 'get_time' } },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  max_completion_tokens: 2000,
  temperature: 1.5,
  top_p: 0.9,
  stop: ['END', '\n\n'],
  seed: 7,
  presence_penalty: 0.5,
  n: 2,
  logit_bias: { 50256: -100 },
  user: 'user-1',
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: ANSWER_SCHEMA, strict: true },
  },
  x_unknown: 1,
}

export const RESPONSES_REQUEST = {
  model: 'client-model',
  instructions: 'Be brief.',
  input: [
    { role: 'developer', content: 'Use metric units.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is in these? Grüße 🌍' },
        { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'low' },
        {
          type: 'input_file',
          filename: 'report.pdf',
          file_data: `data:application/pdf;base64,${PDF}`,
        },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_0',
      summary: [{ type: 'summary_text', text: 'They want the weather.' }],
      encrypted_content: 'gAAAA',
    },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city":"Bern"}',
      status: 'completed',
    },
    {
      type: 'custom_tool_call',
      id: 'ctc_1',
      call_id: 'call_2',
      name: 'run_sql',
      input: 'select 1',
    },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_text', text: '{"degrees":20}' }],
    },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { role: 'assistant', content: [{ type: 'output_text', text: 'It is warm.', annotations: [] }] },
    { role: 'user', content: 'And now?' },
  ],
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'Weather of a city',
      parameters: WEATHER_SCHEMA,
      strict: true,
    },
    { type: 'custom', name: 'run_sql', description: 'Runs SQL', format: { type: 'text' } },
    { type: 'web_search' },
  ],
  tool_choice: 'required',
  max_output_tokens: 4000,
  temperature: 0.2,
  reasoning: { effort: 'medium', summary: 'auto' },
  text: {
    verbosity: 'low',
    format: { type: 'json_schema', name: 'answer', schema: ANSWER_SCHEMA, strict: true },
  },
  include: ['reasoning.encrypted_content'],
  store: true,
  metadata: { team: 'a' },
}

export const GEMINI_REQUEST = {
  model: 'client-model',
  systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Use metric units.' }] },
  contents: [
    {
      role: 'user',
      parts: [
        { text: 'What is in these? Grüße 🌍' },
        { inlineData: { mimeType: 'image/png', data: PNG } },
        { inline_data: { mime_type: 'application/pdf', data: PDF } },
      ],
    },
    {
      role: 'model',
      parts: [
        { text: 'They want the weather.', thought: true },
        {
          functionCall: { name: 'get_weather', args: { city: 'Bern' } },
          thoughtSignature: 'EqQB',
        },
        { functionCall: { id: 'call_2', name: 'get_time', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'call_2', name: 'get_time', response: { output: '12:00' } } },
        { functionResponse: { name: 'get_weather', response: { degrees: 20 } } },
      ],
    },
    { role: 'model', parts: [{ text: 'It is warm.' }] },
    { role: 'user', parts: [{ text: 'And now?' }] },
  ],
  tools: [
    {
      functionDeclarations: [
        {
          name: 'get_weather',
          description: 'Weather of a city',
          parameters: {
            type: 'OBJECT',
            properties: {
              city: { type: 'STRING' },
              tags: { type: 'ARRAY', items: { type: 'STRING', nullable: true }, maxItems: '3' },
            },
            required: ['city'],
          },
        },
        { name: 'get_time', parametersJsonSchema: WEATHER_SCHEMA },
      ],
    },
    { googleSearch: {} },
  ],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  generationConfig: {
    maxOutputTokens: 6000,
    temperature: 0.2,
    topP: 0.9,
    topK: 40,
    stopSequences: ['END'],
    candidateCount: 1,
    responseMimeType: 'application/json',
    responseJsonSchema: ANSWER_SCHEMA,
    thinkingConfig: { thinkingBudget: 5000, includeThoughts: true },
  },
}

export const MESSAGES_REQUEST = {
  model: 'client-model',
  max_tokens: 6000,
  system: [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: 'A long handbook.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is in these? Grüße 🌍' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
        {
          type: 'document',
          title: 'report.pdf',
          source: { type: 'base64', media_type: 'application/pdf', data: PDF },
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'They want the weather.', signature: 'EqQB' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Bern' } },
        { type: 'tool_use', id: 'toolu_2', name: 'screenshot', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no such city', is_error: true },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_2',
          content: [
            { type: 'text', text: 'done' },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/' } },
          ],
        },
        { type: 'text', text: 'And now?', cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
  tools: [
    {
      name: 'get_weather',
      description: 'Weather of a city',
      input_schema: WEATHER_SCHEMA,
      cache_control: { type: 'ephemeral' },
    },
    { name: 'screenshot', input_schema: { type: 'object', properties: {} } },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 5000 },
  stop_sequences: ['END'],
  top_k: 40,
  metadata: { user_id: 'user-1' },
  context_management: { edits: [] },
}
