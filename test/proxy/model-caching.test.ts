import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

/* Marks are placed as the vendors' references for `cache_control` and `cachePoint` describe. */

let vendor: Provider
let port = 0
let running: Deciding | undefined

const SONNET = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const PROFILE = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x1'
const LONG = 'word '.repeat(1000)

async function serve(promptCaching: object | undefined, more: object = {}): Promise<void> {
  const params = { apiKey: 'sk-vendor', hostOverride: `127.0.0.1:${vendor.port}` }
  const cached = promptCaching === undefined ? {} : { promptCaching }
  const llm = {
    models: [
      { name: 'claude*', provider: 'anthropic', params, ...cached },
      { name: 'gpt*', provider: 'openAI', params, ...cached },
      { name: '*', provider: 'bedrock', params: { ...params, awsRegion: 'us-east-1' }, ...cached },
    ],
    ...more,
  }
  const text = JSON.stringify({ gateways: { default: { port } }, llm })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

/** The request that the provider received. */
async function sent(path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method: 'POST', headers: { 'anthropic-version': '2023-06-01' } },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, await response.text())
  return JSON.parse(Buffer.from(vendor.arrived.at(-1)?.body ?? '', 'latin1').toString('utf8'))
}

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const tool = (name: string) => ({ name, input_schema: { type: 'object', properties: {} } })
const TALK = [user('one'), assistant('two'), user('three')]

const messages = (more: object = {}) =>
  sent('/v1/messages', { model: 'claude-x', max_tokens: 9, system: 'be brief', ...more })
const complete = (model: string, more: object = {}) =>
  sent('/v1/chat/completions', {
    model,
    messages: [{ role: 'system', content: 'be brief' }, ...TALK],
    ...more,
  })

const MARK = { type: 'ephemeral' }
const POINT = { cachePoint: { type: 'default' } }
const text = (text: string, marked = false) => ({
  ...{ type: 'text', text },
  ...(marked ? { cache_control: MARK } : {}),
})
const ANY = { minTokens: 0 }

const WHOLE = {
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'ok' }],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'ok' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
  chat: {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
}

describe('cache marks in prompts', () => {
  before(async () => {
    vendor = await startProvider('vendor')
    vendor.respondWith = ({ url = '' }, response) => {
      const [, kind = ''] = /\/(messages|converse|chat)\b/.exec(url) ?? []
      const body = WHOLE[kind as keyof typeof WHOLE] ?? { input_tokens: 1 }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await vendor?.close()
  })

  beforeEach(() => {
    vendor.arrived.length = 0
  })

  it('Anthropic: after the system prompt and the message before the last', async () => {
    await serve(ANY)
    const body = await messages({ messages: TALK, tools: [tool('a')] })
    assert.deepEqual(body.system, [text('be brief', true)])
    assert.deepEqual(body.messages, [user('one'), assistant([text('two', true)]), user('three')])
    assert.deepEqual(body.tools, [tool('a')])
  })

  it('a client of another API gets the same marks', async () => {
    await serve(ANY)
    const { system, messages: all } = await complete('claude-x')
    assert.deepEqual(system, [text('be brief', true)])
    assert.deepEqual(all[1], assistant([text('two', true)]))
  })

  it('tools are marked if configured, and content that cannot carry a mark is skipped', async () => {
    await serve({ ...ANY, cacheTools: true, cacheSystem: false })
    const later = { ...tool('b'), defer_loading: true }
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const body = await messages({
      tools: [tool('a'), later],
      messages: [user([text('one')]), assistant([text('two'), thinking]), user('three')],
    })
    assert.equal(body.system, 'be brief')
    assert.deepEqual(body.tools, [{ ...tool('a'), cache_control: MARK }, later])
    assert.deepEqual(body.messages[1].content, [text('two', true), thinking])
  })

  it('the offset moves the mark back, at most to the first message; a single message has none', async () => {
    for (const [cacheMessageOffset, at] of [
      [0, 1],
      [1, 0],
      [9, 0],
    ] as const) {
      await serve({ ...ANY, cacheMessageOffset })
      const body = await messages({ messages: TALK })
      const marked = body.messages.map(({ content }: { content: unknown }) =>
        Array.isArray(content),
      )
      assert.equal(marked.indexOf(true), at)
      assert.equal(marked.lastIndexOf(true), at)
    }
    await serve({ ...ANY, cacheSystem: false })
    const alone = { messages: [user('one')] }
    assert.deepEqual((await messages(alone)).messages, alone.messages)
  })

  it('content that is shorter than minTokens, including everything before it, is not marked', async () => {
    await serve({})
    const short = await messages({ messages: TALK })
    assert.equal(short.system, 'be brief')
    assert.deepEqual(short.messages, TALK)
    const history = await messages({ messages: [user(LONG), assistant('two'), user('three')] })
    assert.equal(history.system, 'be brief')
    assert.deepEqual(history.messages[1], assistant([text('two', true)]))
    const system = await messages({ system: LONG, messages: [user('one')] })
    assert.deepEqual(system.system, [text(LONG, true)])
    const last = await messages({ messages: [user('one'), assistant('two'), user(LONG)] })
    assert.deepEqual(last.messages.slice(0, 2), TALK.slice(0, 2))
  })

  it('a request with marks of the client stays as it is', async () => {
    await serve({ ...ANY, cacheTools: true })
    for (const own of [
      { system: [text('be brief', true)] },
      { tools: [{ ...tool('a'), cache_control: MARK }] },
      { messages: [user([text('one', true)]), assistant('two'), user('three')] },
      { cache_control: MARK },
    ]) {
      const body = { system: 'be brief', messages: TALK, ...own }
      assert.deepEqual(await messages(body), { model: 'claude-x', max_tokens: 9, ...body })
    }
  })

  it('Bedrock: points after system prompts, messages and tools', async () => {
    await serve({ ...ANY, cacheTools: true })
    const tools = [{ type: 'function', function: { name: 'a', parameters: { type: 'object' } } }]
    const body = await complete(SONNET, { tools })
    assert.deepEqual(body.system, [{ text: 'be brief' }, POINT])
    assert.deepEqual(body.messages[1].content, [{ text: 'two' }, POINT])
    assert.deepEqual(body.messages[2].content, [{ text: 'three' }])
    assert.deepEqual(body.toolConfig.tools.slice(1), [POINT])
    const nova = await complete('eu.amazon.nova-pro-v1:0', { tools })
    assert.deepEqual(nova.system.slice(1), [POINT])
    assert.equal(nova.toolConfig.tools.length, 1)
  })

  it('Bedrock models that reject points get none', async () => {
    await serve(ANY)
    for (const [model, isMarked] of [
      [SONNET, true],
      ['anthropic.claude-3-5-haiku-20241022-v1:0', true],
      ['us.anthropic.claude-3-7-sonnet-20250219-v1:0', true],
      [PROFILE, true],
      ['anthropic.claude-3-haiku-20240307-v1:0', false],
      ['anthropic.claude-v2:1', false],
      ['anthropic.claude-instant-v1', false],
      ['meta.llama3-70b-instruct-v1:0', false],
    ] as const) {
      const body = await complete(model)
      assert.equal(JSON.stringify(body).includes('cachePoint'), isMarked, model)
    }
  })

  it('other providers, other calls and gateways without it are unaffected', async () => {
    await serve(ANY)
    const { messages: openai } = await complete('gpt-x')
    assert.deepEqual(openai.slice(1), TALK)
    const counted = { model: 'claude-x', system: 'be brief', messages: TALK }
    assert.deepEqual(await sent('/v1/messages/count_tokens', counted), counted)
    await serve(undefined)
    assert.deepEqual((await messages({ messages: TALK })).messages, TALK)
  })

  it('the model takes precedence over its provider, and the policy of all models comes last', async () => {
    const policies = { ai: { promptCaching: { ...ANY, cacheSystem: false } } }
    await serve(undefined, { policies })
    const general = await messages({ messages: TALK })
    assert.equal(general.system, 'be brief')
    assert.deepEqual(general.messages[1], assistant([text('two', true)]))
    await serve({ ...ANY, cacheMessages: false }, { policies })
    const own = await messages({ messages: TALK })
    assert.deepEqual(own.system, [text('be brief', true)])
    assert.deepEqual(own.messages, TALK)
    const params = { apiKey: 'sk-vendor', hostOverride: `127.0.0.1:${vendor.port}` }
    const defaults = { promptCaching: { ...ANY, cacheMessages: false } }
    const providers = [{ name: 'shared', provider: 'anthropic', params, defaults }]
    const provider = { reference: 'shared' }
    await serve(undefined, { providers, models: [{ name: '*', provider }] })
    assert.deepEqual((await messages({ messages: TALK })).system, [text('be brief', true)])
    const promptCaching = { ...ANY, cacheSystem: false }
    await serve(undefined, { providers, models: [{ name: '*', provider, promptCaching }] })
    const model = await messages({ messages: TALK })
    assert.equal(model.system, 'be brief')
    assert.deepEqual(model.messages[1], assistant([text('two', true)]))
  })
})
