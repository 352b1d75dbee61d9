import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { freePort } from '../free-port.ts'
import { type Behaviour, type ModelProvider, startModelProvider } from './model-provider.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

let openai: ModelProvider
let anthropic: ModelProvider
let gateway: WholeGateway
let port = 0

const KEY = 'sk-client-1234567890'
const chunk = (content: string) =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`
const STOP = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
const LONG = 'x'.repeat(10_000_000)

const config = (more: object = {}) => {
  const model = (name: string, provider: string, { port: at }: ModelProvider) => ({
    ...{ name, provider },
    params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
  })
  return JSON.stringify({
    gateways: { default: { port } },
    llm: {
      models: [model('gpt-x', 'openAI', openai), model('claude-x', 'anthropic', anthropic)],
      policies: {
        apiKey: { keys: [{ key: KEY }] },
        timeout: { backendRequest: '2s' },
        retry: { attempts: 1 },
        ...more,
      },
    },
  })
}

async function call(model: string, more: object = {}, headers?: Record<string, string>) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: headers ?? { authorization: `Bearer ${KEY}` },
    body: JSON.stringify({
      ...{ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      ...more,
    }),
  })
  const text = await response.text().catch((error) => `cut off: ${error}`)
  return { status: response.status, text }
}

/** The text that a chat completions client reads. */
function heard(stream: string): string {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
    .join('')
}

describe('a faulty provider', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
    gateway = await startWhole(config())
  })

  after(async () => {
    await gateway?.stop()
    await openai?.close()
    await anthropic?.close()
  })

  beforeEach(() => {
    for (const one of [openai, anthropic]) one.behaviour = {}
  })

  const WHOLE: readonly (readonly [string, Behaviour, number])[] = [
    ['dies before it responds', { dies: 'at-once' }, 502],
    ['never responds', { hangs: true }, 504],
    ['is overloaded', { status: 503 }, 503],
    ['rejects with a status of its own', { status: 418 }, 418],
  ]
  for (const [what, behaviour, status] of WHOLE) {
    for (const model of ['gpt-x', 'claude-x']) {
      it(`${model}: it ${what}`, async () => {
        for (const one of [openai, anthropic]) one.behaviour = behaviour
        const response = await call(model)
        assert.equal(response.status, status)
        assert.equal(typeof JSON.parse(response.text).error.message, 'string')
        for (const one of [openai, anthropic]) one.behaviour = {}
        assert.equal((await call(model)).status, 200)
      })
    }
  }

  for (const model of ['gpt-x', 'claude-x']) {
    it(`${model}: it dies in a stream, and no clean end is made up`, async () => {
      for (const one of [openai, anthropic]) one.behaviour = { dies: 'in-stream' }
      const { status, text } = await call(model, { stream: true })
      assert.equal(status, 200)
      assert.doesNotMatch(text, /\[DONE\]/)
    })
  }

  it('returns an error or something unexpected with 200 to a translated call', async () => {
    for (const body of [
      '{"type":"error","error":{"type":"api_error","message":"no"}}',
      '<html>',
      '',
    ]) {
      const usual = anthropic.respondWith
      anthropic.respondWith = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      }
      const { status, text } = await call('claude-x')
      anthropic.respondWith = usual
      assert.equal(status, 502, body)
      assert.equal(typeof JSON.parse(text).error.message, 'string')
    }
  })

  it('sends an event of 10 MB, which passes unchanged', async () => {
    openai.behaviour = { pieces: [chunk(LONG), STOP] }
    const { status, text } = await call('gpt-x', { stream: true })
    assert.equal(status, 200)
    assert.equal(heard(text).length, LONG.length)
    assert.match(text, /\[DONE\]\n\n$/)
  })

  it('sends an event of 4 MB that is translated, and one of 10 MB, which is too long to translate', async () => {
    const event = (type: string, rest: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage }
    const saying = (text: string) => [
      event('message_start', { message }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
      event('message_stop', {}),
    ]
    const most = LONG.slice(0, 4_000_000)
    anthropic.behaviour = { pieces: saying(most) }
    const long = await call('claude-x', { stream: true })
    assert.equal(heard(long.text).length, most.length)
    anthropic.behaviour = { pieces: saying(LONG) }
    const longer = await call('claude-x', { stream: true })
    assert.match(longer.text, /"error"/)
    assert.doesNotMatch(longer.text, /\[DONE\]/)
    anthropic.behaviour = {}
    assert.equal((await call('claude-x')).status, 200)
  })

  it('floods with small events, all of which arrive', async () => {
    const pieces = Array.from({ length: 2_000 }, (_, at) => chunk(`${at} `))
    openai.behaviour = { pieces: [...pieces, STOP] }
    const { text } = await call('gpt-x', { stream: true })
    assert.equal(heard(text), pieces.map((_, at) => `${at} `).join(''))
  })

  it('continues to stream over a reload, by the configuration that it started with', async () => {
    const usual = openai.respondWith
    const begun = Promise.withResolvers<() => void>()
    openai.respondWith = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk('before '))
      begun.resolve(() => response.end(chunk('after') + STOP))
    }
    const pending = call('gpt-x', { stream: true })
    const release = await begun.promise
    await gateway.apply(config({ authorization: { rules: [{ deny: 'true' }] } }))
    assert.equal((await call('gpt-x')).status, 403)
    release()
    assert.equal(heard((await pending).text), 'before after')
    openai.respondWith = usual
    await gateway.apply(config())
    assert.equal((await call('gpt-x')).status, 200)
  })

  it('keys are found where the SDKs of any vendor put them, and two different ones are rejected', async () => {
    for (const name of ['x-api-key', 'api-key', 'x-goog-api-key']) {
      assert.equal((await call('gpt-x', {}, { [name]: KEY })).status, 200, name)
      assert.equal((await call('gpt-x', {}, { [name]: 'other' })).status, 401, name)
      for (const [first, second] of [
        [KEY, 'other'],
        ['other', KEY],
      ] as const) {
        const both = { authorization: `Bearer ${first}`, [name]: second }
        assert.equal((await call('gpt-x', {}, both)).status, 401, name)
      }
      const same = { authorization: `Bearer ${KEY}`, [name]: KEY }
      assert.equal((await call('gpt-x', {}, same)).status, 200, name)
    }
  })
})
