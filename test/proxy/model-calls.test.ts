import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import {
  anthropicEvents,
  type ModelProvider,
  openAiEvents,
  startModelProvider,
} from './model-provider.ts'
import { deny, NOBODY } from './providers.ts'
import { until } from './whole-gateway.ts'

let openai: ModelProvider
let other: ModelProvider
let anthropic: ModelProvider
let port = 0
let running: Deciding | undefined

interface Written {
  readonly name: string
  readonly kind: 'openAI' | 'anthropic'
  readonly port: number
  readonly policies?: object
  readonly options?: object
}

const KEY = { backendAuth: { key: 'sk-provider' } }

function written({ name, kind, port, policies = {}, options = {} }: Written) {
  return {
    name,
    provider: { [kind]: options },
    hostOverride: `127.0.0.1:${port}`,
    policies: { ...KEY, ...policies },
  }
}

/** One route for each vendor, and one for all. */
function configOf(
  groups: readonly (readonly Written[])[],
  { backend = {}, route = {}, ai = {} }: { backend?: object; route?: object; ai?: object } = {},
): string {
  const all = groups.map((providers) => ({ providers: providers.map(written) }))
  return JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: { groups: all, ...ai }, policies: backend }],
    routes: [{ name: 'chat', policies: route, backends: [{ backend: 'models' }] }],
  })
}

async function serve(text: string): Promise<Deciding> {
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  return running
}

const CHAT = { model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }
const MESSAGE = { ...CHAT, model: 'claude-x', max_tokens: 9 }
const VERSION = { 'anthropic-version': '2023-06-01' }

interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function call(body: object | string, { path, headers = {} }: Sent = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`http://127.0.0.1:${port}${path ?? '/v1/chat/completions'}`, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const message = (body: object | string, headers = {}) =>
  call(body, { path: '/v1/messages', headers: { ...VERSION, ...headers } })

const openAiOnly = () => [[{ name: 'main', kind: 'openAI', port: openai.port } as const]]
const anthropicOnly = () => [[{ name: 'main', kind: 'anthropic', port: anthropic.port } as const]]

describe('calls to models', () => {
  before(async () => {
    ;[openai, other, anthropic] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('openai'),
      startModelProvider('anthropic'),
    ])
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    for (const provider of [openai, other, anthropic]) await provider.close()
  })

  beforeEach(() => {
    for (const provider of [openai, other, anthropic]) {
      provider.arrived.length = 0
      provider.behaviour = {}
    }
  })

  describe('in the API format of the provider', () => {
    it('pass unchanged: unknown fields and the spelling of numbers survive', async () => {
      await serve(configOf(openAiOnly()))
      const text = '{"model":"gpt-x","messages":[{"role":"user","content":"Grüße"}],"new":1.0e2 }'
      const { status, text: said, headers } = await call(text)
      assert.equal(status, 200)
      assert.equal(Buffer.from(openai.arrived[0]?.body ?? '', 'latin1').toString('utf8'), text)
      assert.ok(said.includes('"x-unknown":100'), said)
      assert.equal(headers.get('content-length'), String(Buffer.byteLength(said)))
    })

    it('pass regardless of their field names, in responses too', async () => {
      await serve(configOf(openAiOnly()))
      const forged = { status: 418, reason: 'authorization', body: 'forged', headers: {} }
      const { status, text } = await call({ ...CHAT, ...forged })
      assert.equal(status, 200, text)
      assert.deepEqual(openai.bodies(), [{ ...CHAT, ...forged }])
    })

    it('stream as they arrive, and nothing is added', async () => {
      await serve(configOf(openAiOnly()))
      const { text } = await call({ ...CHAT, stream: true })
      assert.equal(text, openAiEvents(CHAT))
      await serve(configOf(anthropicOnly()))
      const { text: said } = await message({ ...MESSAGE, stream: true })
      assert.equal(said, anthropicEvents(MESSAGE))
    })

    it('never delay received data of a stream', async () => {
      await serve(configOf(openAiOnly()))
      const first = ': a comment\n\ndata: {"id":"1","choices":[{"delta":{"content":"a"}}]}\n\n'
      const serveAll = openai.respondWith
      let finish = () => {}
      openai.respondWith = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(first)
        finish = () => response.end('data: [DONE]\n\n')
      }
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ ...CHAT, stream: true }),
      })
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      let seen = ''
      while (seen.length < first.length) {
        const { value } = await reader.read()
        seen += Buffer.from(value ?? []).toString()
      }
      assert.equal(seen, first)
      finish()
      openai.respondWith = serveAll
      await reader.cancel()
    })

    it('end as a broken stream if the provider dies in the middle', async () => {
      await serve(configOf(openAiOnly()))
      openai.behaviour = { dies: 'in-stream' }
      await assert.rejects(call({ ...CHAT, stream: true }))
    })
  })

  describe('credentials', () => {
    it('of clients never reach a provider, wherever they are', async () => {
      await serve(configOf(anthropicOnly()))
      const headers = {
        authorization: 'Bearer client',
        'x-api-key': 'client',
        'x-goog-api-key': 'client',
        'api-key': 'client',
        cookie: 'a=b',
        ...VERSION,
      }
      const { status, text } = await call(MESSAGE, { path: '/v1/messages?key=client', headers })
      assert.equal(status, 200, text)
      assert.equal(anthropic.arrived[0]?.headers['x-api-key'], 'sk-provider')
      assert.equal(anthropic.arrived[0]?.headers.authorization, undefined)
    })

    it('of clients are forwarded if passthrough is configured', async () => {
      const policies = { backendAuth: { passthrough: {} } }
      const provider = { name: 'main', kind: 'openAI', port: openai.port, policies } as const
      await serve(configOf([[provider]]))
      await call(CHAT, { headers: { authorization: 'Bearer client' } })
      assert.equal(openai.arrived[0]?.headers.authorization, 'Bearer client')
    })

    it('that a policy of the route sets are not those of a client', async () => {
      const set = [{ name: 'authorization', value: 'Bearer sk-provider' }]
      const policies = { backendAuth: undefined }
      const provider = { name: 'main', kind: 'openAI', port: openai.port, policies } as const
      await serve(configOf([[provider]], { route: { requestHeaders: { set } } }))
      const { status, text } = await call(CHAT, { headers: { authorization: 'Bearer client' } })
      assert.equal(status, 200, text)
    })
  })

  describe('rules', () => {
    const cases: readonly (readonly [string, boolean, object])[] = [
      ["llm.requestModel == 'gpt-x'", true, {}],
      ["llm.requestModel == 'gpt-y'", false, {}],
      ['llm.streaming', false, {}],
      ['llm.params.temperature > 0.5', true, { temperature: 0.7 }],
      ["llm.prompt.exists(m, m.content.contains('hi'))", true, {}],
      [
        "llm.tools.exists(t, t.function.name == 'rm')",
        true,
        { tools: [{ function: { name: 'rm' } }] },
      ],
      ['llm.inputTokens < 100', true, {}],
      ['llm.inputTokens < 100', false, { padding: 'x'.repeat(1000) }],
    ]
    for (const [expression, isDenied, more] of cases) {
      it(`read ${expression} (${isDenied ? 'true' : 'false'})`, async () => {
        await serve(configOf(openAiOnly(), { backend: deny(expression) }))
        const { status } = await call({ ...CHAT, ...more })
        assert.equal(status, isDenied ? 403 : 200)
        assert.equal(openai.arrived.length, isDenied ? 0 : 1)
      })
    }

    it('deny a body that names its model twice, or that cannot be read', async () => {
      await serve(configOf(openAiOnly(), { backend: deny("llm.requestModel == 'gpt-x'") }))
      const twice = '{"model":"gpt-x","model":"gpt-y","messages":[{"role":"user","content":"a"}]}'
      assert.equal((await call(twice)).status, 400)
      assert.equal((await call('no JSON')).status, 400)
      assert.equal((await call('[]')).status, 400)
      assert.equal((await call({ ...CHAT, model: 7 })).status, 400)
      assert.equal(openai.arrived.length, 0)
    })

    it('reject a body that was crafted to be slow to read', async () => {
      await serve(configOf(openAiOnly()))
      const many = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, 1]))
      const { status, text } = await call({ ...CHAT, metadata: many(100_000) })
      assert.equal(status, 413)
      assert.match(text, /too_many_fields/)
      assert.equal(openai.arrived.length, 0)
      const long = Array.from({ length: 2_000 }, () => CHAT.messages).flat()
      assert.equal((await call({ ...CHAT, messages: long })).status, 200)
    })
  })

  describe('errors of the gateway', () => {
    it('have the format of OpenAI for its clients', async () => {
      await serve(configOf(openAiOnly(), { backend: deny('true') }))
      const { status, text, headers } = await call(CHAT)
      assert.equal(status, 403)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      const { error } = JSON.parse(text)
      assert.equal(typeof error.message, 'string')
      assert.ok(error.message.includes(headers.get('x-request-id')))
      assert.equal(error.type, 'permission_error')
    })

    it('have that of Anthropic for its clients, from rules of the route too', async () => {
      await serve(configOf(anthropicOnly(), { route: deny('true') }))
      const { status, text, headers } = await message(MESSAGE)
      assert.equal(status, 403)
      const said = JSON.parse(text)
      assert.deepEqual([said.type, said.error.type], ['error', 'permission_error'])
      assert.equal(said.request_id, headers.get('x-request-id'))
    })

    it('report the problem of a request, and keep Retry-After', async () => {
      const limit = { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' }] }
      await serve(configOf(openAiOnly(), { route: limit }))
      await call(CHAT)
      const { status, text, headers } = await call(CHAT)
      assert.equal(status, 429)
      assert.equal(JSON.parse(text).error.type, 'rate_limit_error')
      assert.ok(Number(headers.get('retry-after')) > 0)
    })
  })

  describe('fail over before the first byte', () => {
    const both = () => [
      [{ name: 'a', kind: 'openAI', port: openai.port } as const],
      [{ name: 'b', kind: 'openAI', port: other.port } as const],
    ]
    for (const status of [429, 500, 502, 503, 529]) {
      it(`after ${status}, with the same body`, async () => {
        await serve(configOf(both()))
        openai.behaviour = { status }
        assert.equal((await call(CHAT)).status, 200)
        assert.deepEqual(other.bodies(), [CHAT])
      })
    }

    it('after a broken connection, and after a rejected one', async () => {
      await serve(configOf(both()))
      openai.behaviour = { dies: 'at-once' }
      assert.equal((await call({ ...CHAT, stream: true })).status, 200)
      await serve(configOf([[{ ...NOBODY, name: 'a', kind: 'openAI' }], ...both().slice(1)]))
      assert.equal((await call(CHAT)).status, 200)
    })

    it('after a timeout', async () => {
      const policies = { http: { requestTimeout: '200ms' } }
      const [[first] = [], second = []] = both()
      await serve(configOf([[{ ...(first as Written), policies }], second]))
      openai.behaviour = { hangs: true }
      assert.equal((await call(CHAT)).status, 200)
    })

    it('but not after 400 or 401', async () => {
      await serve(configOf(both()))
      for (const status of [400, 401]) {
        openai.behaviour = { status }
        assert.equal((await call(CHAT)).status, status)
      }
      assert.equal(other.arrived.length, 0)
    })

    it('and never to a provider that a rule denies', async () => {
      const [first = [], [second] = []] = both()
      const denied = { ...(second as Written), policies: deny("llm.requestModel == 'gpt-x'") }
      await serve(configOf([first, [denied]]))
      openai.behaviour = { status: 500 }
      const { status } = await call(CHAT)
      assert.equal(status, 500)
      assert.equal(other.arrived.length, 0)
    })

    it('and tell clients not to retry once all providers were called', async () => {
      await serve(configOf(both()))
      openai.behaviour = { status: 500 }
      other.behaviour = { status: 503 }
      const { status, headers } = await call(CHAT)
      assert.deepEqual([status, headers.get('x-should-retry')], [503, 'false'])
    })

    it('and avoid a provider for as long as it requests', async () => {
      await serve(configOf(both()))
      openai.behaviour = { status: 429, headers: { 'retry-after-ms': '60000' } }
      await call(CHAT)
      await call(CHAT)
      assert.equal(openai.arrived.length, 1)
    })
  })

  for (const [what, body] of [
    ['a response', MESSAGE],
    ['a stream', { ...MESSAGE, stream: true }],
  ] as const) {
    it(`tell clients of another API what a provider said with 200 in place of ${what}`, async () => {
      await serve(configOf(openAiOnly()))
      openai.behaviour = { status: 200 }
      const { status, headers, text } = await message(body)
      assert.equal(status, 502)
      assert.equal(headers.get('content-type'), 'application/json')
      const { type, error } = JSON.parse(text)
      assert.equal(type, 'error')
      assert.match(error.message, /^as told/)
    })
  }

  it('are counted and logged with their usage', async () => {
    const provider = { name: 'counted', kind: 'anthropic', port: anthropic.port } as const
    const { metric, lines } = await serve(configOf([[provider]]))
    await message(MESSAGE)
    await message({ ...MESSAGE, stream: true })
    const labels = 'route="chat",provider="counted",model="other"'
    const tokens = (rest: string) => metric(`portcullis_llm_tokens_total{${labels},${rest}}`)
    await until('the second call', () => tokens('direction="output",cache="none"') === 6)
    assert.equal(tokens('direction="input",cache="none"'), 14)
    assert.equal(tokens('direction="input",cache="read"'), 4)
    const first = `portcullis_llm_time_to_first_token_seconds_count{${labels}}`
    assert.equal(metric(first), 1)
    const record = JSON.parse(lines.at(-1) ?? '{}')
    assert.equal(record['gen_ai.provider.name'], 'anthropic')
    assert.equal(record['gen_ai.request.model'], 'claude-x')
    assert.equal(record['gen_ai.usage.input_tokens'], 9)
    assert.equal(record['gen_ai.usage.output_tokens'], 3)
    assert.ok(record['llm.time_to_first_token'] >= 0)
  })

  it('are read with any framing, and a body that is too long is rejected', async () => {
    await serve(configOf(openAiOnly(), { backend: deny("llm.requestModel == 'gpt-x'") }))
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const path = '/v1/chat/completions'
      const sending = httpRequest({ port, path, method: 'POST' }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sending.on('error', reject)
      for (const piece of JSON.stringify(CHAT)) sending.write(piece)
      sending.end()
    })
    assert.equal(status, 403)
    const long = await call({ ...CHAT, padding: 'x'.repeat(34_000_000) })
    assert.equal(long.status, 413)
    assert.equal(JSON.parse(long.text).error.type, 'invalid_request_error')
  })
})
