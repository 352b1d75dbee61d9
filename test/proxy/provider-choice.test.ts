import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { NOBODY } from './providers.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

let first: ModelProvider
let second: ModelProvider
let gateway: WholeGateway
let port = 0

const provider = (name: string, at: number) => ({
  name,
  provider: { openAI: {} },
  hostOverride: `127.0.0.1:${at}`,
  policies: { backendAuth: { key: 'sk-provider' } },
})

/** `groups`: the ports of each group. */
const config = (groups: readonly (readonly number[])[], name = 'models') =>
  JSON.stringify({
    gateways: { default: { port } },
    backends: [
      {
        name,
        ai: {
          groups: groups.map((ports) => ({
            providers: ports.map((at) => provider(`p${at}`, at)),
          })),
        },
      },
    ],
    routes: [{ name: 'chat', backends: [{ backend: name }] }],
  })

async function call(path = '/v1/chat/completions', model = 'gpt-x') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('the provider that serves a call', () => {
  before(async () => {
    ;[first, second] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('openai'),
    ])
    port = await freePort()
    gateway = await startWhole(config([[first.port]]))
  })

  after(async () => {
    await gateway?.stop()
    for (const one of [first, second]) await one?.close()
  })

  beforeEach(() => {
    for (const one of [first, second]) {
      one.behaviour = {}
      one.arrived.length = 0
    }
  })

  it('is the one of a group that responds faster, once both are known', async () => {
    await gateway.apply(config([[first.port, second.port]]))
    const slow = first.respondWith as Exclude<ModelProvider['respondWith'], number>
    first.respondWith = (...args) => void wait(300).then(() => slow(...args))
    for (let count = 0; count < 12; count++) assert.equal((await call()).status, 200)
    first.respondWith = slow
    // It was tried once to measure it, and perhaps again as the measurement ages.
    assert.ok(first.arrived.length <= 3, `${first.arrived.length} of 12 went to the slow one`)
  })

  it('is not one that fails immediately, however fast it fails', async () => {
    // Two are compared at a time: of three, the two broken ones could be compared with each other.
    await gateway.apply(config([[first.port, second.port]]))
    first.behaviour = { status: 500 }
    for (let count = 0; count < 12; count++) assert.equal((await call()).status, 200)
    // It is retried each time its failure is forgotten, which takes some seconds.
    assert.ok(first.arrived.length <= 6, `${first.arrived.length} of 12 went to the broken one`)
    await gateway.apply(config([[NOBODY.port, second.port]]))
    for (let count = 0; count < 12; count++) assert.equal((await call()).status, 200)
  })

  it('is not one that requested a pause, also in fractions of seconds', async () => {
    for (const headers of [{ 'retry-after': '59.5' }, { 'retry-after-ms': '59000.5' }]) {
      // A pause is kept for a name and an address, so each needs another name.
      const [name = ''] = Object.keys(headers)
      await gateway.apply(config([[first.port], [second.port]], name))
      first.arrived.length = 0
      first.behaviour = { status: 429, headers }
      for (let count = 0; count < 3; count++) assert.equal((await call()).status, 200)
      assert.equal(first.arrived.length, 1, JSON.stringify(headers))
    }
  })

  it('is none if all are unreachable, and x-should-retry is false', async () => {
    const nobody = await freePort()
    await gateway.apply(config([[NOBODY.port], [nobody]]))
    const { status, headers, text } = await call()
    assert.deepEqual([status, headers.get('x-should-retry')], [503, 'false'])
    assert.equal(typeof JSON.parse(text).error.message, 'string')
    await gateway.apply(config([[NOBODY.port]]))
    const single = await call()
    assert.deepEqual([single.status, single.headers.get('x-should-retry')], [503, null])
  })

  it('gets no credentials of the client, wherever they are in the query', async () => {
    await gateway.apply(config([[first.port]]))
    const names = ['key', 'access_token', 'oauth_token', 'api_key', 'api-key', '%6bey', 'apikey']
    const query = names.map((name) => `${name}=sk-client`).join('&')
    assert.equal((await call(`/v1/chat/completions?a=1&${query}&b=2`)).status, 200)
    assert.match(first.arrived[0]?.url ?? '', /\?a=1&b=2$/)
  })

  it('is none if no condition of a virtual model is met, and the model is listed', async () => {
    const model = {
      ...{ name: 'plain', provider: 'openAI' },
      params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${first.port}` },
    }
    const targets = [{ model: 'plain', when: 'llm.inputTokens > 100000' }]
    const virtualModels = [{ name: 'auto', routing: { conditional: { targets } } }]
    const llm = { models: [model], virtualModels }
    await gateway.apply(JSON.stringify({ gateways: { default: { port } }, llm }))
    const { status, text } = await call('/v1/chat/completions', 'auto')
    assert.equal(status, 404)
    assert.equal(JSON.parse(text).error.code, 'model_not_found')
    const listed = await fetch(`http://127.0.0.1:${port}/v1/models`)
    const { data } = (await listed.json()) as { readonly data: readonly { readonly id: string }[] }
    assert.deepEqual(
      data.map(({ id }) => id),
      ['plain', 'auto'],
    )
  })
})
