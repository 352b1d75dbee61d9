import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { BUILT_IN } from '../../src/policies/guardrails/schema.ts'
import { guardRequest } from '../../src/program/model-guards.ts'
import { RECOGNIZERS } from '../../src/protocols/llm/index.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { cut, type ModelProvider, startModelProvider } from './model-provider.ts'

let openai: ModelProvider
let anthropic: ModelProvider
let port = 0
let running: Deciding | undefined

const model = (name: string, provider: string, { port: at }: ModelProvider, more = {}) => ({
  name,
  provider,
  params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
  ...more,
})

async function serve(guardrails: object, own: object = {}): Promise<void> {
  const text = JSON.stringify({
    gateways: { default: { port } },
    llm: {
      models: [model('gpt-x', 'openAI', openai, own), model('claude-x', 'anthropic', anthropic)],
      policies: { guardrails },
    },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

const mask = (...rules: object[]) => ({ regex: { rules } })
const reject = (...rules: object[]) => ({ regex: { action: 'reject', rules } })
const EMAIL = { builtin: 'email' }

async function call(body: object, path = '/v1/chat/completions') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'gpt-x', ...body }),
  })
  return { status: response.status, text: await response.text() }
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta, finish_reason }],
  })}\n\n`

/** A stream with these parts, split at arbitrary bytes. */
function saying(...pieces: readonly string[]): readonly Buffer[] {
  const events = [
    ...pieces.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ]
  return cut(Buffer.from(events.join('')), 11)
}

/** The text that a chat completions client reads. */
function heard(stream: string): string {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
    .join('')
}

describe('guards of calls to models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
    await anthropic.close()
  })

  beforeEach(() => {
    for (const provider of [openai, anthropic]) {
      provider.arrived.length = 0
      provider.behaviour = {}
    }
  })

  it('know the recognizers that the configuration can name', () => {
    const known = new Set(RECOGNIZERS.map(({ name }) => name))
    assert.deepEqual([...BUILT_IN].sort(), [...known].sort())
  })

  describe('on requests', () => {
    it('mask all texts, and leave the rest as it is written', async () => {
      await serve({ request: [mask(EMAIL, { pattern: 'project [a-z]+', name: 'SECRET' })] })
      const { status } = await call({
        temperature: 1.0,
        messages: [
          { role: 'system', content: 'ann@example.com asks' },
          { role: 'user', content: [{ type: 'text', text: 'about project zeus' }] },
          {
            role: 'assistant',
            tool_calls: [
              {
                id: 'a@example.com',
                type: 'function',
                function: { name: 'f', arguments: '{"to":"ben@example.com"}' },
              },
            ],
          },
          { role: 'tool', tool_call_id: 'a@example.com', content: 'eve@example.com' },
        ],
      })
      assert.equal(status, 200)
      const sent = openai.bodies()[0] as { readonly messages: Record<string, never>[] }
      const [first, second, third, fourth] = sent.messages
      assert.equal(first?.content, '<EMAIL_ADDRESS> asks')
      assert.deepEqual(second?.content, [{ type: 'text', text: 'about <SECRET>' }])
      const [toolCall] = (third?.tool_calls ?? []) as Record<string, never>[]
      assert.equal(toolCall?.id, 'a@example.com')
      assert.deepEqual(toolCall?.function, {
        name: 'f',
        arguments: '{"to":"<EMAIL_ADDRESS>"}',
      })
      assert.deepEqual(
        [fourth?.content, fourth?.tool_call_id],
        ['<EMAIL_ADDRESS>', 'a@example.com'],
      )
    })

    it('find text that is split over parts of one message', async () => {
      const REJECTED = /content is not allowed/
      const card = { builtin: 'creditCard' }
      await serve({ request: [mask(EMAIL)] })
      const parts = [
        { type: 'text', text: 'write to ann@' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        { type: 'text', text: 'example.com', cache_control: { type: 'ephemeral' } },
      ]
      await call(user(parts))
      const [sent] = openai.bodies() as { readonly messages: Record<string, never>[] }[]
      const masked = [{ ...parts[0], text: 'write to <EMAIL_ADDRESS>' }, parts[1]]
      assert.deepEqual(sent?.messages[0]?.content, [...masked, { ...parts[2], text: '<MASKED>' }])
      await serve({ request: [reject(EMAIL, card)] })
      const split = [
        { type: 'text', text: '4111 1111' },
        { type: 'text', text: ' 1111 1111' },
      ]
      openai.arrived.length = 0
      assert.match((await call(user(split))).text, REJECTED)
      const claude = {
        model: 'claude-x',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
      }
      assert.match((await call({ ...claude, system: split }, '/v1/messages')).text, REJECTED)
      const result = [{ type: 'tool_result', tool_use_id: 'a', content: split }]
      const messages = [{ role: 'user', content: result }]
      assert.match((await call({ ...claude, messages }, '/v1/messages')).text, REJECTED)
      const contents = [{ role: 'user', parts: split.map(({ text }) => ({ text })) }]
      const rule = { recognizers: RECOGNIZERS, rejection: undefined }
      const gemini = guardRequest({ contents }, [rule]) as unknown as { readonly contents: unknown }
      const texts = ['<CREDIT_CARD>', '<MASKED>'].map((text) => ({ text }))
      assert.deepEqual(gemini.contents, [{ role: 'user', parts: texts }])
      const input = [
        { role: 'user', content: split.map((one) => ({ ...one, type: 'input_text' })) },
      ]
      assert.match((await call({ input }, '/v1/responses')).text, REJECTED)
      assert.equal(openai.arrived.length + anthropic.arrived.length, 0)
      // Inputs of embeddings are separate texts.
      assert.doesNotMatch(
        (await call({ input: ['4111 1111', ' 1111 1111'] }, '/v1/embeddings')).text,
        REJECTED,
      )
    })

    it('mask texts that a model is to repeat', async () => {
      await serve({ request: [mask(EMAIL)] })
      const prediction = { type: 'content', content: 'write to ann@example.com' }
      const { status } = await call({ messages: [{ role: 'user', content: 'x' }], prediction })
      assert.equal(status, 200)
      const sent = openai.bodies()[0] as { readonly prediction: typeof prediction }
      assert.equal(sent.prediction.content, 'write to <EMAIL_ADDRESS>')
    })

    it('decode escapes of JSON', async () => {
      await serve({ request: [mask(EMAIL)] })
      await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        body: '{"model":"gpt-x","messages":[{"role":"user","content":"ann\\u0040example.com"}]}',
      })
      assert.ok(!String(openai.arrived[0]?.body).includes('example.com'))
    })

    it('reject in the format of each vendor, and call no provider', async () => {
      await serve({
        request: [{ ...reject(EMAIL), rejection: { status: 422, message: 'No addresses.' } }],
      })
      const { status, text } = await call(user('ann@example.com'))
      assert.equal(status, 422)
      assert.match(JSON.parse(text).error.message, /^No addresses\./)
      const vendor = await call(
        { model: 'claude-x', max_tokens: 9, system: 'of ann@example.com', ...user('hi') },
        '/v1/messages',
      )
      assert.deepEqual([vendor.status, JSON.parse(vendor.text).type], [422, 'error'])
      assert.deepEqual([openai.arrived.length, anthropic.arrived.length], [0, 0])
      assert.equal((await call(user('hi'))).status, 200)
    })

    it('of a model apply after those for all', async () => {
      const own = { guardrails: { request: [mask({ pattern: '<EMAIL_ADDRESS>', name: 'TWICE' })] } }
      await serve({ request: [mask(EMAIL)] }, own)
      await call(user('ann@example.com'))
      assert.match(String(openai.arrived[0]?.body), /<TWICE>/)
    })
  })

  describe('on responses', () => {
    it('mask and reject complete ones, of the same API and translated', async () => {
      await serve({ response: [mask({ pattern: 'Gr.{1,2}e', name: 'HELLO' })] })
      const same = await call(user('hi'))
      assert.equal(JSON.parse(same.text).choices[0].message.content, '<HELLO>')
      const other = await call({ model: 'claude-x', ...user('hi') })
      assert.equal(JSON.parse(other.text).choices[0].message.content, '<HELLO>')
      await serve({ response: [reject({ pattern: 'Gr.{1,2}e' })] })
      const rejected = await call(user('hi'))
      assert.equal(rejected.status, 403)
      assert.ok(!rejected.text.includes('Gr'), rejected.text)
    })

    it('mask streams across chunks', async () => {
      await serve({ response: [mask(EMAIL, { pattern: 'project [a-z]+', name: 'SECRET' })] })
      const pieces = saying('write to a', 'nn@exa', 'mple.c', 'om about pro', 'ject zeus', ', now')
      openai.behaviour = { pieces }
      const { status, text } = await call({ stream: true, ...user('hi') })
      assert.equal(status, 200)
      assert.equal(heard(text), 'write to <EMAIL_ADDRESS> about <SECRET>, now')
      assert.match(text, /\[DONE\]/)
    })

    it('mask streams across blocks', async () => {
      await serve({ response: [mask(EMAIL)] })
      const event = (type: string, more: object) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
      const block = (index: number, text: string) => [
        event('content_block_start', { index, content_block: { type: 'text', text: '' } }),
        event('content_block_delta', { index, delta: { type: 'text_delta', text } }),
        event('content_block_stop', { index }),
      ]
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [],
      }
      const usage = { input_tokens: 1, output_tokens: 1 }
      const events = [
        event('message_start', { message: { ...message, usage } }),
        ...block(0, 'to ann@'),
        ...block(1, 'example.com now'),
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
        event('message_stop', {}),
      ]
      anthropic.behaviour = { pieces: cut(Buffer.from(events.join('')), 13) }
      const stream = { ...user('hi'), model: 'claude-x', stream: true }
      assert.equal(heard((await call(stream)).text), 'to <EMAIL_ADDRESS> now')
      const own = await call({ ...stream, max_tokens: 9 }, '/v1/messages')
      assert.doesNotMatch(own.text, /ann@|example/)
      assert.equal(own.text.match(/content_block_stop/g)?.length, 4)
    })

    it('end streams with an error before any rejected content', async () => {
      await serve({ response: [reject(EMAIL)] })
      openai.behaviour = { pieces: saying('write to a', 'nn@exa', 'mple.c', 'om, now') }
      const { text } = await call({ stream: true, ...user('hi') })
      assert.ok(!text.includes('[DONE]') && !/ann|example/.test(text), text)
      assert.match(text, /"error"/)
    })

    it('mask those of Gemini clients', async () => {
      await serve({ response: [mask({ pattern: 'Gr.{1,2}e', name: 'HELLO' })] })
      const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
      const { text } = await call({ contents }, '/v1beta/models/gpt-x:generateContent')
      assert.equal(JSON.parse(text).candidates[0].content.parts[0].text, '<HELLO>')
    })
  })

  for (const [what, guardrails] of [
    ['a pattern that is none', { request: [mask({ pattern: '(' })] }],
    ['an unknown recognizer', { request: [mask({ builtin: 'shoeSize' })] }],
    ['a kind of guard that is not there', { request: [{ webhook: { host: 'a:1' } }] }],
  ] as const) {
    it(`are rejected with their configuration: ${what}`, () => {
      const backend = { name: 'm', ai: { name: 'p', provider: { openAI: {} } } }
      const policies = { guardrails }
      const text = JSON.stringify({ gateways: {}, backends: [{ ...backend, policies }] })
      const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
      assert.ok(diagnostics.some(({ severity }) => severity === 'error'))
    })
  }

  it('are rejected on a backend without models', () => {
    const policies = { guardrails: { request: [mask(EMAIL)] } }
    const backend = { name: 'm', host: 'api:8080', policies }
    const text = JSON.stringify({
      gateways: { default: { port: 4000 } },
      backends: [backend],
      routes: [{ backends: [{ backend: 'm' }] }],
    })
    const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['PC0219'],
    )
  })
})
