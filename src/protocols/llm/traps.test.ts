import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Body,
  call,
  chat,
  completion,
  decode,
  dropped,
  encode,
  message,
  received,
  sent,
  streamed,
  translated,
  user,
} from './testdata/probe.ts'
import { EVENTS, frame, streamOf } from './testdata/streamed-responses.ts'

/* Typical mistakes of such translators, one test for each. */

describe('translation edge cases', () => {
  it('1: a required token limit follows the model, and exceeds the thinking budget', () => {
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

  it('7: stop reasons', () => {
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

  it('8: temperatures above 1, and versions without temperature', () => {
    const hot = chat({ temperature: 1.7 })
    assert.equal(sent('completions', 'messages', hot).temperature, 1)
    assert.ok(dropped('completions', 'messages', hot).includes('temperature above 1'))
    const version = (body: Body) =>
      new Map(translated('completions', 'messages', body).request.headers).get('anthropic-version')
    assert.equal(version(hot), '2023-06-01')
    assert.equal(version(chat()), '2026-10-21')
    assert.equal(sent('messages', 'completions', message({ temperature: 0.3 })).temperature, 0.3)
  })

  it('9: images by URL and by file', () => {
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

  it('10: signatures return unchanged to their provider only', () => {
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
    // Passed through to a provider of the client's own dialect.
    const passed = sent('responses', 'responses', next, { maker: 'openai' })
    assert.deepEqual(
      passed.input.map((item: Body) => item.type),
      [undefined, 'function_call', 'function_call_output'],
    )
    assert.deepEqual(dropped('responses', 'responses', next, { maker: 'openai' }), [
      'reasoning of earlier turns',
    ])
  })

  it('10: disables thinking if the provider changes in the middle of a turn', () => {
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

  it('11: cached tokens are counted once, and the last event has the input', () => {
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

  it('12: usage is requested, and shown only to clients that requested it', () => {
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

  it('13: schemas are sent in a field that accepts JSON Schema unchanged', () => {
    const parameters = { $schema: 'x', type: 'object', properties: {}, additionalProperties: false }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    const [{ functionDeclarations }] = sent('completions', 'gemini', chat({ tools })).tools
    assert.deepEqual(functionDeclarations[0].parametersJsonSchema, parameters)
    assert.equal(functionDeclarations[0].parameters, undefined)
    assert.equal(sent('completions', 'responses', chat({ tools })).tools[0].strict, false)
  })

  it('14: an error inside a stream is an error for the client, without a clean end', () => {
    const errors: Readonly<Record<string, Uint8Array>> = {
      completions: Buffer.from('data: {"error":{"message":"broken","type":"server_error"}}\n\n'),
      responses: Buffer.from('event: error\ndata: {"type":"error","message":"broken"}\n\n'),
      messages: Buffer.from(
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"broken"}}\n\n',
      ),
      gemini: Buffer.from('data: {"error":{"code":503,"message":"broken"}}\n\n'),
      converse: frame('throttlingException', { message: 'broken' }, 'exception'),
    }
    const bodies = {
      completions: chat(),
      messages: message(),
      responses: { model: 'm', input: 'a' },
    }
    for (const client of ['completions', 'messages', 'responses'] as const) {
      for (const provider of [
        'completions',
        'responses',
        'messages',
        'gemini',
        'converse',
      ] as const) {
        if (client === provider) continue
        const events = EVENTS[provider] ?? []
        const begun = streamOf(provider, events.slice(0, 2))
        for (const end of [errors[provider] as Uint8Array, new Uint8Array(0)]) {
          // Anything after an error is ignored.
          const rest = end.length === 0 ? end : streamOf(provider, events.slice(2))
          const bytes = Buffer.concat([begun, end, rest])
          const text = streamed(client, provider, bytes, bodies[client])
          assert.match(text, /error|failed/, `${client} ${provider}`)
          assert.doesNotMatch(
            text,
            /\[DONE\]|message_stop|response\.completed|response\.incomplete/,
            `${client} ${provider}: ${text}`,
          )
        }
      }
    }
  })

  it('16: a last assistant message, empty texts and empty messages', () => {
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

  it('17: cache markers are translated if supported, and reported otherwise', () => {
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
