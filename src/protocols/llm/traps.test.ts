import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DialectName } from './dialect.ts'
import { recognizeEndpoint } from './index.ts'
import { streamOf } from './testdata/streamed-responses.ts'
import { translatorFor } from './translate.ts'
import type { TranslatedCall } from './translator.ts'

/* Where translators of this kind go wrong, one test for each way. */

// biome-ignore lint/suspicious/noExplicitAny: bodies of five vendors, looked into by hand
type Body = any

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

interface Options {
  readonly model?: string
  readonly maker?: string
  readonly maxOutputTokens?: number
}

function call(client: DialectName, provider: DialectName, body: Body, options: Options = {}) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : encode(body)
  const call = translatorFor(client, provider)?.translate(bytes, { maker: provider, ...options })
  assert.ok(call !== undefined)
  return call
}

function translated(
  client: DialectName,
  provider: DialectName,
  body: Body,
  options?: Options,
): TranslatedCall {
  const found = call(client, provider, body, options)
  assert.ok(found.ok, JSON.stringify(found))
  return found.value
}

function sent(client: DialectName, provider: DialectName, body: Body, options?: Options): Body {
  return JSON.parse(decode(translated(client, provider, body, options).request.body))
}

function dropped(client: DialectName, provider: DialectName, body: Body, options?: Options) {
  return translated(client, provider, body, options).request.dropped
}

function received(client: DialectName, provider: DialectName, response: Body, body: Body): Body {
  const read = translated(client, provider, body).response(encode(response))
  assert.ok(read.ok, JSON.stringify(read))
  return JSON.parse(decode(read.value.body))
}

function streamed(client: DialectName, provider: DialectName, bytes: Uint8Array, body: Body) {
  const stream = translated(client, provider, { ...body, stream: true }).openStream()
  return decode(Buffer.concat([stream.push(bytes), stream.end()]))
}

const user = (content: Body) => ({ role: 'user', content })
const chat = (fields: Body = {}) => ({ model: 'm', messages: [user('hi')], ...fields })
const message = (fields: Body = {}) => ({ max_tokens: 100, ...chat(fields) })
const toolCall = (id: string, name: string, text: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
const completion = (message: Body, finish = 'stop') => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
})
const chunks = (...events: Body[]) =>
  Buffer.from(
    [...events.map((it) => JSON.stringify(it)), '[DONE]'].map((it) => `data: ${it}\n\n`).join(''),
  )
const delta = (delta: Body, finish: string | null = null) => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

describe('traps of translation', () => {
  it('1: a required limit on tokens follows the model, and exceeds the budget for thinking', () => {
    const limit = (model: string, fields = {}) =>
      sent('completions', 'messages', chat(fields), { model }).max_tokens
    assert.equal(limit('claude-3-haiku-20240307'), 4096)
    assert.equal(limit('claude-3-5-sonnet-20241022'), 8192)
    assert.equal(limit('claude-opus-4-1'), 32_000)
    const options = { model: 'claude-opus-4-1', maxOutputTokens: 64_000 }
    assert.equal(sent('completions', 'messages', chat(), options).max_tokens, 64_000)
    for (const effort of ['minimal', 'low', 'medium', 'high', 'xhigh']) {
      for (const max of [undefined, 1025, 5000, 50_000]) {
        const body = chat({ reasoning_effort: effort, max_completion_tokens: max })
        const { max_tokens, thinking } = sent('completions', 'messages', body, {
          model: 'claude-sonnet-4-5',
        })
        assert.ok(thinking.budget_tokens >= 1024 && thinking.budget_tokens < max_tokens)
        if (max !== undefined) assert.equal(max_tokens, max)
      }
    }
    const tight = chat({ reasoning_effort: 'high', max_completion_tokens: 500 })
    assert.equal(
      sent('completions', 'messages', tight, { model: 'claude-sonnet-4-5' }).thinking,
      undefined,
    )
    assert.match(
      String(dropped('completions', 'messages', tight, { model: 'claude-sonnet-4-5' })),
      /reasoning/,
    )
  })

  it('2: tools without ids get unique ones, and results find their way by name and order', () => {
    const parts = ['a', 'b', 'a'].map((name) => ({ functionCall: { name, args: {} } }))
    const response = (responseId: string) => ({
      responseId,
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
    })
    const ids = ['r1', 'r2', ''].flatMap((id) =>
      received('completions', 'gemini', response(id), chat()).choices[0].message.tool_calls.map(
        (call: Body) => call.id,
      ),
    )
    assert.equal(new Set(ids).size, 9)
    for (const id of ids) assert.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
    const history = chat({
      messages: [
        user('hi'),
        { role: 'assistant', tool_calls: [toolCall('1', 'a', '{}'), toolCall('2', 'b', '{}')] },
        { role: 'tool', tool_call_id: '2', content: 'second' },
        { role: 'tool', tool_call_id: '1', content: 'first' },
      ],
    })
    const results = sent('completions', 'gemini', history, { model: 'gemini-2.5-pro' }).contents[2]
      .parts
    assert.deepEqual(
      results.map(({ functionResponse }: Body) => [
        functionResponse.name,
        functionResponse.response,
      ]),
      [
        ['a', { result: 'first' }],
        ['b', { result: 'second' }],
      ],
    )
  })

  it('3: all results of a turn are one message there and one each here', () => {
    const body = message({
      messages: [
        user('hi'),
        {
          role: 'assistant',
          content: ['x', 'y'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
        },
        user([
          { type: 'text', text: 'look' },
          { type: 'tool_result', tool_use_id: 'y', content: '2' },
          { type: 'tool_result', tool_use_id: 'x', content: '1' },
        ]),
      ],
    })
    const roles = sent('messages', 'completions', body).messages.map(({ role }: Body) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'user'])
    const back = sent('messages', 'converse', body, { model: 'amazon.nova' }).messages
    assert.deepEqual(
      back[2].content.map((block: Body) => block.toolResult?.toolUseId ?? block.text),
      ['x', 'y', 'look'],
    )
    const single = chat({
      tools: [{ type: 'function', function: { name: 'f' } }],
      parallel_tool_calls: false,
    })
    assert.deepEqual(sent('completions', 'messages', single).tool_choice, {
      type: 'auto',
      disable_parallel_tool_use: true,
    })
    const choice = { type: 'any', disable_parallel_tool_use: true }
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    const { parallel_tool_calls, tool_choice } = sent(
      'messages',
      'completions',
      message({ tools, tool_choice: choice }),
    )
    assert.deepEqual([parallel_tool_calls, tool_choice], [false, 'required'])
  })

  it('4: empty, broken and large arguments', () => {
    const inputs = ['', '{"a":', '[1]', '{"id":12345678901234567890}'].map((text) => {
      const response = completion({ tool_calls: [toolCall('1', 'f', text)] }, 'tool_calls')
      const read = translated('messages', 'completions', message()).response(encode(response))
      assert.ok(read.ok)
      return decode(read.value.body)
    })
    assert.match(inputs[0] ?? '', /"input":\{\}/)
    assert.match(inputs[1] ?? '', /"input":\{"invalid_arguments":"\{\\"a\\":"\}/)
    assert.match(inputs[2] ?? '', /"input":\{"invalid_arguments":"\[1\]"\}/)
    assert.match(inputs[3] ?? '', /"input":\{"id":12345678901234567890\}/)
    const history = message({
      messages: [
        user('hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'f', input: {} }] },
      ],
    })
    const big = JSON.stringify(history).replace(
      '"input":{}',
      '"input":{"id":12345678901234567890,"e":1e400}',
    )
    const args = sent('messages', 'completions', big).messages[1].tool_calls[0].function.arguments
    assert.equal(args, '{"id":12345678901234567890,"e":1e400}')
  })

  it('5: mixed pieces of several calls come one block after the other', () => {
    const start = (index: number, name: string) =>
      delta({ tool_calls: [{ index, id: `c${index}`, function: { name, arguments: '' } }] })
    const piece = (index: number, text: string) =>
      delta({ tool_calls: [{ index, function: { arguments: text } }] })
    const bytes = chunks(
      start(0, 'a'),
      start(1, 'b'),
      piece(1, '{"y"'),
      piece(0, '{"x"'),
      piece(1, ':2}'),
      piece(0, ':1}'),
      delta({}, 'tool_calls'),
    )
    const text = streamed('messages', 'completions', bytes, message())
    const events = [...text.matchAll(/data: (.*)\n/g)].map(([, data]) => JSON.parse(data ?? ''))
    let open: number | undefined
    const inputs = new Map<number, string>()
    for (const event of events) {
      if (event.type === 'content_block_start') {
        assert.equal(open, undefined)
        open = event.index
      } else if (event.type === 'content_block_stop') {
        assert.equal(open, event.index)
        open = undefined
      } else if (event.type === 'content_block_delta') {
        assert.equal(open, event.index)
        inputs.set(event.index, (inputs.get(event.index) ?? '') + event.delta.partial_json)
      }
    }
    assert.deepEqual([...inputs.values()], ['{"x":1}', '{"y":2}'])
  })

  it('6: several system prompts, also in the middle, and alone', () => {
    const body = chat({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: 'b' },
        user('hi'),
        { role: 'system', content: 'c' },
      ],
    })
    const current = sent('completions', 'messages', body)
    assert.deepEqual(
      current.system.map(({ text }: Body) => text),
      ['a', 'b'],
    )
    assert.equal(current.messages[1].role, 'system')
    const old = sent('completions', 'messages', { ...body, temperature: 0.5 })
    assert.deepEqual(
      old.system.map(({ text }: Body) => text),
      ['a', 'b', 'c'],
    )
    assert.ok(
      dropped('completions', 'messages', { ...body, temperature: 0.5 }).includes(
        'position of system messages',
      ),
    )
    for (const provider of ['messages', 'gemini', 'converse'] as const) {
      const alone = sent(
        'completions',
        provider,
        chat({ messages: [{ role: 'system', content: 'a' }] }),
      )
      assert.equal((alone.messages ?? alone.contents)[0].role, 'user')
    }
  })

  it('7: reasons to stop', () => {
    const claude = (stop_reason: string) => ({
      content: [{ type: 'text', text: 'x' }],
      stop_reason,
    })
    const finish = (word: string) =>
      received('completions', 'messages', claude(word), chat()).choices[0].finish_reason
    assert.deepEqual(
      [
        'end_turn',
        'stop_sequence',
        'max_tokens',
        'tool_use',
        'refusal',
        'model_context_window_exceeded',
        'a_new_one',
      ].map(finish),
      ['stop', 'stop', 'length', 'tool_calls', 'content_filter', 'length', 'stop'],
    )
    const paused = translated('completions', 'messages', chat()).response(
      encode(claude('pause_turn')),
    )
    assert.ok(!paused.ok && paused.error.status === 502)
    const gemini = (finishReason: string, parts: Body[] = []) => ({
      candidates: [{ content: { parts }, finishReason }],
    })
    const stop = (response: Body) => received('messages', 'gemini', response, message()).stop_reason
    assert.equal(stop(gemini('STOP', [{ functionCall: { name: 'f' } }])), 'tool_use')
    assert.equal(stop(gemini('STOP', [{ text: 'x' }])), 'end_turn')
    assert.equal(stop(gemini('SAFETY')), 'refusal')
    assert.equal(stop({ promptFeedback: { blockReason: 'SAFETY' } }), 'refusal')
    const broken = translated('messages', 'gemini', message()).response(
      encode(gemini('MALFORMED_FUNCTION_CALL')),
    )
    assert.ok(!broken.ok)
    const incomplete = (reason: string) => ({
      output: [],
      status: 'incomplete',
      incomplete_details: { reason },
    })
    assert.equal(
      received('messages', 'responses', incomplete('max_output_tokens'), message()).stop_reason,
      'max_tokens',
    )
    assert.equal(
      received('messages', 'responses', incomplete('content_filter'), message()).stop_reason,
      'refusal',
    )
  })

  it('8: temperatures above 1, and versions that have none', () => {
    const hot = chat({ temperature: 1.7 })
    assert.equal(sent('completions', 'messages', hot).temperature, 1)
    assert.ok(dropped('completions', 'messages', hot).includes('temperature above 1'))
    const version = (body: Body) =>
      new Map(translated('completions', 'messages', body).request.headers).get('anthropic-version')
    assert.equal(version(hot), '2023-06-01')
    assert.equal(version(chat()), '2026-10-21')
    assert.equal(sent('messages', 'completions', message({ temperature: 0.3 })).temperature, 0.3)
  })

  it('9: images by address and by file', () => {
    const url = 'https://example.com/a.png'
    const body = chat({ messages: [user([{ type: 'image_url', image_url: { url } }])] })
    assert.deepEqual(sent('completions', 'messages', body).messages[0].content[0].source, {
      type: 'url',
      url,
    })
    for (const provider of ['gemini', 'converse'] as const) {
      const rejected = call('completions', provider, body)
      assert.ok(!rejected.ok && rejected.error.status === 400, provider)
    }
    const file = message({
      messages: [user([{ type: 'image', source: { type: 'file', file_id: 'f' } }])],
    })
    const rejected = call('messages', 'completions', file)
    assert.ok(!rejected.ok && rejected.error.status === 400)
  })

  it('10: signatures return unchanged to their maker and to nobody else', () => {
    const response = {
      content: [
        { type: 'thinking', thinking: 'hmm', signature: 'SIG' },
        { type: 'tool_use', id: 't', name: 'f', input: {} },
      ],
      stop_reason: 'tool_use',
    }
    const read = translated(
      'responses',
      'messages',
      { model: 'm', input: 'hi' },
      { maker: 'claude.eu' },
    ).response(encode(response))
    assert.ok(read.ok)
    const { output } = JSON.parse(decode(read.value.body))
    const next = {
      model: 'm',
      input: [user('hi'), ...output, { type: 'function_call_output', call_id: 't', output: '1' }],
    }
    const own = sent('responses', 'messages', next, { maker: 'claude.eu' }).messages[1].content
    assert.deepEqual(own[0], { type: 'thinking', thinking: 'hmm', signature: 'SIG' })
    const other = sent('responses', 'messages', next, { maker: 'claude.us' }).messages[1].content
    assert.deepEqual(
      other.map(({ type }: Body) => type),
      ['tool_use'],
    )
    // As bytes to a provider of the client's own dialect.
    const passed = sent('responses', 'responses', next, { maker: 'openai' })
    assert.deepEqual(
      passed.input.map((item: Body) => item.type),
      [undefined, 'function_call', 'function_call_output'],
    )
    assert.deepEqual(dropped('responses', 'responses', next, { maker: 'openai' }), [
      'reasoning of earlier turns',
    ])
  })

  it('10: a provider that changed is not asked to think in the middle of a turn', () => {
    const body = message({
      model: 'm',
      max_tokens: 5000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      messages: [
        user('hi'),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'S' },
            { type: 'tool_use', id: 't', name: 'f', input: {} },
          ],
        },
        user([{ type: 'tool_result', tool_use_id: 't', content: '1' }]),
      ],
    })
    const model = 'anthropic.claude-sonnet-4-5'
    const written = sent('messages', 'converse', body, { model })
    assert.equal(written.additionalModelRequestFields, undefined)
    assert.deepEqual(
      written.messages[1].content.map((block: Body) => Object.keys(block)[0]),
      ['toolUse'],
    )
  })

  it('11: cached tokens are counted once, and input is in the last event', () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 70,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    }
    const response = { content: [], stop_reason: 'end_turn', usage }
    const openai = received('completions', 'messages', response, chat()).usage
    assert.deepEqual(
      [openai.prompt_tokens, openai.prompt_tokens_details.cached_tokens, openai.total_tokens],
      [100, 70, 105],
    )
    const back = received(
      'messages',
      'completions',
      { ...completion({ content: 'x' }), usage: openai },
      message(),
    ).usage
    assert.deepEqual(
      [back.input_tokens, back.cache_read_input_tokens, back.cache_creation_input_tokens],
      [10, 70, 20],
    )
    const text = streamed('messages', 'completions', streamOf('completions'), message())
    assert.match(text, /"type":"message_delta".*"input_tokens":60/)
  })

  it('12: usage is asked for, and shown to those who asked', () => {
    const body = sent('completions', 'completions', chat({ stream: true }))
    assert.deepEqual(body.stream_options, { include_usage: true })
    const shown = streamed(
      'completions',
      'messages',
      streamOf('messages'),
      chat({ stream_options: { include_usage: true } }),
    )
    assert.match(shown, /"choices":\[\],"usage":\{"prompt_tokens":100/)
    assert.doesNotMatch(
      streamed('completions', 'messages', streamOf('messages'), chat()),
      /"usage"/,
    )
  })

  it('13: schemas go where JSON Schema is taken as it is', () => {
    const parameters = { $schema: 'x', type: 'object', properties: {}, additionalProperties: false }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    const [{ functionDeclarations }] = sent('completions', 'gemini', chat({ tools })).tools
    assert.deepEqual(functionDeclarations[0].parametersJsonSchema, parameters)
    assert.equal(functionDeclarations[0].parameters, undefined)
    assert.equal(sent('completions', 'responses', chat({ tools })).tools[0].strict, false)
  })

  it('15: names that a provider would reject are changed on the way and restored', () => {
    const name = `mcp.server/${'very_long_'.repeat(8)}tool`
    const tools = [{ name, input_schema: { type: 'object' } }]
    const made = translated('messages', 'completions', message({ tools }))
    const written = JSON.parse(decode(made.request.body)).tools[0].function.name
    assert.match(written, /^[a-zA-Z0-9_-]{1,64}$/)
    const read = made.response(
      encode(completion({ tool_calls: [toolCall('1', written, '{}')] }, 'tool_calls')),
    )
    assert.ok(read.ok)
    assert.equal(JSON.parse(decode(read.value.body)).content[0].name, name)
    const stream = made.openStream()
    const call = delta({
      tool_calls: [{ index: 0, id: '1', function: { name: written, arguments: '{}' } }],
    })
    assert.ok(
      decode(stream.push(chunks(call, delta({}, 'tool_calls')))).includes(`"name":"${name}"`),
    )
  })

  it('16: a last message of the assistant, empty texts and empty messages', () => {
    const body = chat({
      messages: [
        user(''),
        user('hi'),
        { role: 'assistant', content: '' },
        { role: 'assistant', content: 'So  ' },
      ],
    })
    const { messages } = sent('completions', 'messages', body)
    assert.deepEqual(messages, [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'So' }] },
    ])
  })

  it('17: marks for the cache are translated where there are any, and reported elsewhere', () => {
    const cached = [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }]
    const body = message({ system: cached })
    assert.deepEqual(sent('messages', 'converse', body).system[1], {
      cachePoint: { type: 'default', ttl: '1h' },
    })
    for (const provider of ['completions', 'responses', 'gemini'] as const) {
      assert.ok(dropped('messages', provider, body).includes('cache_control'), provider)
    }
  })
})

describe('what carries state', () => {
  for (const [client, body] of [
    ['responses', { model: 'm', input: 'hi', previous_response_id: 'resp_1' }],
    ['responses', { model: 'm', input: 'hi', conversation: 'conv_1' }],
    ['responses', { model: 'm', input: 'hi', background: true }],
    ['responses', { model: 'm', prompt: { id: 'p' } }],
    ['responses', { model: 'm', input: [{ type: 'item_reference', id: 'i' }] }],
    ['responses', { model: 'm', input: [user([{ type: 'input_file', file_id: 'f' }])] }],
    ['messages', message({ container: 'c' })],
    ['completions', chat({ messages: [user([{ type: 'file', file: { file_id: 'f' } }])] })],
    ['completions', chat({ functions: [] })],
  ] as const) {
    it(`${client}: ${JSON.stringify(body)} is rejected with 400`, () => {
      for (const provider of [
        'completions',
        'responses',
        'messages',
        'gemini',
        'converse',
      ] as const) {
        if (provider === client) continue
        const found = call(client, provider, body)
        assert.ok(!found.ok && found.error.status === 400, provider)
      }
    })
  }

  it('passes as bytes where both ends speak one dialect', () => {
    const body = '{ "model": "m", "previous_response_id":"resp_1", "top_p": 1.0, "x": 1e2 }'
    assert.equal(decode(translated('responses', 'responses', body).request.body), body)
    const renamed = translated('responses', 'responses', body, { model: 'n' }).request.body
    assert.equal(decode(renamed), body.replace('"m"', '"n"'))
  })
})

describe('requests that are not what they seem', () => {
  for (const [what, body] of [
    ['a model named twice', '{"model":"a","model":"b","messages":[]}'],
    ['a model named twice by an escape', '{"model":"a","mod\\u0065l":"b","messages":[]}'],
    ['a model that is no string', '{"model":["a"],"messages":[]}'],
    ['no model', '{"messages":[]}'],
    ['no JSON', '{"model":"a",}'],
    ['a byte order mark', '\ufeff{"model":"a","messages":[]}'],
    ['a list', '[]'],
    ['a depth of 1000', `{"model":"a","messages":${'['.repeat(1000)}${']'.repeat(1000)}}`],
  ] as const) {
    it(`${what} is rejected with 400, translated or not`, () => {
      for (const provider of ['completions', 'messages'] as const) {
        const found = call('completions', provider, body)
        assert.ok(!found.ok && found.error.status === 400, provider)
      }
    })
  }

  it('a model that would lead to another path is rejected', () => {
    for (const model of ['../../v1/files', 'a/b', 'a?b', '..', 'a:b', 'ä']) {
      const found = call('completions', 'gemini', chat({ model }))
      assert.ok(!found.ok, model)
    }
    const dots = call('completions', 'converse', chat({ model: '..' }))
    assert.ok(!dots.ok)
    assert.equal(recognizeEndpoint('POST', '/model/%2e%2e/converse'), undefined)
    const { path } = translated('completions', 'converse', chat({ model: '../x?y' })).request
    assert.equal(path, '/model/..%2Fx%3Fy/converse')
  })
})
