import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { deny } from './providers.ts'
import { until } from './whole-gateway.ts'

let openai: ModelProvider
let port = 0
let running: Deciding | undefined

async function serve({ backend = {}, route = {} }: { backend?: object; route?: object }) {
  const provider = {
    ...{ name: 'main', provider: { openAI: {} }, hostOverride: `127.0.0.1:${openai.port}` },
    policies: { backendAuth: { key: 'sk-provider' } },
  }
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: provider, policies: backend }],
    routes: [{ name: 'chat', policies: route, backends: [{ backend: 'models' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

const CHAT = { model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }

interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function call(body: object, { path = '/v1/chat/completions', headers = {} }: Sent = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('token limits of models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
  })

  beforeEach(() => {
    openai.behaviour = {}
  })

  const limit = (tokens: number) => ({
    localRateLimit: { tokens, unit: 'Days', key: "request.headers['x-user']" },
  })
  const ask = (user: string, more: object = {}) =>
    call({ ...CHAT, ...more }, { headers: { 'x-user': user } })

  it('count what providers report, for each key, and set the time to retry', async () => {
    await serve({ route: limit(39) })
    // Each call costs 12, and 16 are reserved before it.
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await ask('a')).status)
    assert.deepEqual(statuses, [200, 200, 429, 429])
    assert.equal((await ask('b')).status, 200)
    const { headers, text } = await ask('a')
    assert.ok(Number(headers.get('retry-after')) > 60)
    assert.equal(JSON.parse(text).error.type, 'rate_limit_error')
  })

  it('reserve the max cost of a call before it is made', async () => {
    await serve({ route: limit(1000) })
    const all = await Promise.all(
      Array.from({ length: 5 }, () => ask('c', { max_tokens: 400 }).then(({ status }) => status)),
    )
    assert.equal(all.filter((status) => status === 200).length, 2)
    // The unused part is available again.
    await until('the rest', async () => (await ask('c', { max_tokens: 400 })).status === 200)
  })

  it('return the reservation of a call that no provider served', async () => {
    await serve({ route: limit(30), backend: deny('llm.params.n == 2') })
    for (let i = 0; i < 5; i++) assert.equal((await ask('d', { n: 2 })).status, 403)
    openai.behaviour = { status: 400 }
    for (let i = 0; i < 5; i++) assert.equal((await ask('d')).status, 400)
    openai.behaviour = {}
    assert.equal((await ask('d')).status, 200)
  })

  it('apply to streams, and deny endpoints without a token count', async () => {
    await serve({ route: limit(30) })
    assert.equal((await ask('e', { stream: true })).status, 200)
    assert.equal((await ask('e', { stream: true })).status, 429)
    assert.equal((await call(CHAT, { path: '/v1/batches' })).status, 403)
  })
})
