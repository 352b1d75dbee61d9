import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { pass } from '../passing-time.ts'
import { type Provider, startProvider } from './providers.ts'
import { until } from './whole-gateway.ts'

/* Providers that respond with a success status, and report an error in the body. */

let one: Provider
let two: Provider
let anthropic: Provider
let running: Deciding
let port = 0

const OPENAI = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const EVENTS = `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
const LIMITED = '{"error":{"message":"slow down","type":"rate_limit_error","code":null}}'
const OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}'

interface Says {
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes of each chunk; 0: all at once. */
  readonly size?: number
  /** Closes the connection instead of ending the response. */
  readonly dies?: boolean
}

function say(provider: Provider, body: string, { type, headers, size = 0, dies }: Says = {}) {
  provider.respondWith = async (_, response) => {
    response.writeHead(200, { 'content-type': type ?? 'application/json', ...headers })
    response.flushHeaders()
    await new Promise((done) => setTimeout(done, 5))
    for (let at = 0; at < body.length; at += size || body.length) {
      response.write(body.slice(at, at + (size || body.length)))
      if (size > 0) await new Promise((done) => setTimeout(done, 1))
    }
    if (dies) response.destroy()
    else response.end()
  }
}

async function call(model: string, more: object = {}, path = '/v1/chat/completions') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
    headers: { 'content-type': 'application/json' },
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const STREAM = { stream: true, stream_options: { include_usage: true } }

describe('an error of a provider with status 200', () => {
  before(async () => {
    ;[one, two, anthropic] = (await Promise.all(
      ['one', 'two', 'anthropic'].map(startProvider),
    )) as [Provider, Provider, Provider]
    port = await freePort()
    const params = ({ port: at }: Provider) => ({ apiKey: 'sk', hostOverride: `127.0.0.1:${at}` })
    const first = (...models: readonly string[]) => ({
      failover: { targets: models.map((model, priority) => ({ model, priority })) },
    })
    running = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        llm: {
          models: [
            { name: 'one', provider: 'openAI', params: params(one) },
            { name: 'two', provider: 'openAI', params: params(two) },
            { name: 'claude', provider: 'anthropic', params: params(anthropic) },
          ],
          virtualModels: [
            { name: 'any', routing: first('one', 'two') },
            { name: 'claude-first', routing: first('claude', 'two') },
          ],
        },
      }),
      'json',
    )
  })

  after(async () => {
    await running.stop()
    await Promise.all([one.close(), two.close(), anthropic.close()])
  })

  beforeEach(() => {
    for (const provider of [one, two, anthropic]) provider.arrived.length = 0
    say(two, JSON.stringify(OPENAI))
  })

  for (const size of [0, 1, 7]) {
    it(`is one to fail over after, in pieces of ${size}`, async () => {
      say(one, LIMITED, { size })
      say(anthropic, OVERLOADED, { size })
      for (const model of ['any', 'claude-first']) {
        const { status, text } = await call(model)
        assert.equal(status, 200)
        assert.deepEqual(JSON.parse(text), OPENAI)
      }
      assert.equal(two.arrived.length, 2)
    })

    it(`is one to fail over after as the first event of a stream, in pieces of ${size}`, async () => {
      const type = 'text/event-stream'
      say(one, `data: ${LIMITED}\n\n`, { type, size })
      say(anthropic, `event: error\ndata: ${OVERLOADED}\n\n`, { type, size })
      say(two, EVENTS, { type, size })
      for (const model of ['any', 'claude-first']) {
        const { status, text } = await call(model, STREAM)
        assert.equal(status, 200)
        assert.equal(text, EVENTS)
      }
    })

    it(`has the status that it says if there is nobody else, in pieces of ${size}`, async () => {
      say(one, LIMITED, { size, headers: { 'retry-after-ms': '1' } })
      const { status, text, headers } = await call('one')
      assert.equal(status, 429)
      assert.equal(text, LIMITED)
      assert.equal(headers.get('retry-after-ms'), '1')
      say(anthropic, OVERLOADED, { size })
      const translated = await call('claude')
      assert.equal(translated.status, 503)
      assert.equal(JSON.parse(translated.text).error.message, 'too busy')
      const own = await call('claude', { max_tokens: 9 }, '/v1/messages')
      assert.equal(own.status, 503)
      assert.equal(own.text, OVERLOADED)
      assert.equal((await call('claude', { stream: true })).status, 503)
    })
  }

  for (const padding of [1, 40, 47, 48, 60, 230, 255, 256, 257, 5_000]) {
    for (const size of [0, 37, 300]) {
      it(`is one after ${padding} characters of white space, in pieces of ${size}`, async () => {
        say(one, `${'\n '.repeat(padding).slice(0, padding)}${LIMITED}`, { size })
        assert.equal((await call('one')).status, 429)
        const type = 'text/event-stream'
        say(one, `${'\n'.repeat(padding)}data: ${LIMITED}\n\n`, { type, size })
        say(two, EVENTS, { type })
        assert.equal((await call('any', STREAM)).text, EVENTS)
      })
    }
  }

  it('is one after comments of a stream that arrive with it', async () => {
    const type = 'text/event-stream'
    say(one, `: one\n\n: two\n\ndata: ${LIMITED}\n\n`, { type })
    say(two, EVENTS, { type })
    assert.equal((await call('any', STREAM)).text, EVENTS)
  })

  it('white space is not held for long', async () => {
    let open = () => {}
    one.respondWith = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(' '.repeat(100))
      open = () => response.write(' ')
    }
    const pending = fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'one', messages: [] }),
      headers: { 'content-type': 'application/json' },
    })
    await until('the call', () => one.arrived.length > 0)
    await new Promise((done) => setTimeout(done, 100))
    pass(6_000)
    open()
    const response = await pending
    assert.equal(response.status, 200)
    await response.body?.cancel()
  })

  it('has a status by its code or its type, and no other', async () => {
    const cases: readonly (readonly [error: object | string, status: number])[] = [
      [{ code: 429, message: 'm' }, 429],
      [{ code: '503', message: 'm' }, 503],
      [{ code: 200, type: 'server_error', message: 'rate_limit' }, 502],
      [{ status: 'RESOURCE_EXHAUSTED' }, 429],
      [{ type: 'invalid_request_error' }, 400],
      [{ type: 'authentication_error' }, 401],
      ['model is loading', 502],
    ]
    for (const [error, status] of cases) {
      say(one, JSON.stringify({ error }))
      assert.equal((await call('one')).status, status, JSON.stringify(error))
    }
  })

  it('that the client caused is not retried', async () => {
    say(one, '{"error":{"type":"invalid_request_error","message":"no"}}')
    assert.equal((await call('any')).status, 400)
    assert.equal(two.arrived.length, 0)
  })

  it('is not confused with bodies that only look like one', async () => {
    const bodies = [
      '{"error":null,"id":"c"}',
      '{"errors":{}}',
      '{"type":"errors"}',
      `{"error":{"message":"${'x'.repeat(70_000)}"}}`,
      '{"error":{',
      ' ',
      '[]',
    ]
    for (const body of bodies) {
      for (const size of [0, 5_000, ...(body.length < 100 ? [1] : [])]) {
        say(one, body, { size })
        const { status, text } = await call('one')
        assert.equal(status, 200, body.slice(0, 30))
        assert.equal(text, body)
      }
    }
    const later = `: ping\n\n${EVENTS}data: ${LIMITED}\n\n`
    say(one, later, { type: 'text/event-stream', size: 3 })
    const { status, text } = await call('any', STREAM)
    assert.equal(status, 200)
    assert.equal(text, later)
  })

  it('delays no comment and no event', async () => {
    for (const begun of [
      ': ping\n\n',
      'data: {}\n\n',
      'data: {"id":"c","object":"chat.completion.chunk"',
    ]) {
      let open: (() => void) | undefined
      one.respondWith = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(begun)
        open = () => response.end()
      }
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'one', messages: [{}], ...STREAM }),
      })
      const { value } = (await response.body?.getReader().read()) ?? {}
      assert.equal(Buffer.from(value ?? []).toString(), begun)
      open?.()
    }
  })

  it('is also a connection that ends before any of the body arrived', async () => {
    say(one, '', { dies: true })
    assert.equal((await call('any')).status, 200)
    assert.equal(one.arrived.length, 1)
    say(one, '{"err', { dies: true })
    assert.equal((await call('one')).status, 502)
  })

  it('is counted as a failure of its provider', async () => {
    say(one, LIMITED, { headers: { 'retry-after': '60' } })
    await call('any')
    await call('any')
    // The provider gets no request for as long as it requested.
    assert.equal(one.arrived.length, 1)
  })
})
