import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { deny } from './providers.ts'

/* Endpoints of providers that are forwarded unchanged. */

let openai: ModelProvider
let port = 0
let running: Deciding | undefined

async function serve({ backend = {}, ai = {} }: { backend?: object; ai?: object } = {}) {
  const main = {
    name: 'main',
    provider: { openAI: {} },
    hostOverride: `127.0.0.1:${openai.port}`,
    policies: { backendAuth: { key: 'sk-provider' } },
  }
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [
      { name: 'models', ai: { groups: [{ providers: [main] }], ...ai }, policies: backend },
    ],
    routes: [{ name: 'chat', backends: [{ backend: 'models' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

const CHAT = { model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }

async function call(body: object | string, { path }: { readonly path: string }) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return { status: response.status, text: await response.text() }
}

describe('rules at endpoints that are not translated', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
  })

  beforeEach(() => {
    openai.arrived.length = 0
  })

  it('about models deny endpoints whose model is not read, except for configured ones', async () => {
    const rules = { backend: deny("llm.requestModel == 'gpt-y'") }
    await serve(rules)
    for (const path of ['/v1/batches', '/v1/organization/projects', '/v1/files']) {
      assert.equal((await call(CHAT, { path })).status, 403, path)
    }
    assert.equal(openai.arrived.length, 0)
    await serve({ ...rules, ai: { allowEndpoints: ['/v1/batches'] } })
    await call(CHAT, { path: '/v1/batches' })
    await call(CHAT, { path: '/v1/batches/7' })
    assert.equal((await call(CHAT, { path: '/v1/batches2' })).status, 403)
    assert.equal(openai.arrived.length, 2)
  })

  it('about models decide about other endpoints that name one', async () => {
    const rules = { backend: deny("llm.requestModel == 'gpt-y' || llm.params.n == 9") }
    await serve(rules)
    const text = '{"model":"gpt-x","prompt":"a cat","new":1.0e2 }'
    const paths = ['images/generations', 'audio/speech', 'completions', 'moderations', 'videos']
    for (const end of paths) {
      const path = `/v1/${end}`
      assert.equal((await call({ model: 'gpt-y' }, { path })).status, 403, path)
      assert.equal((await call({ model: 'gpt-x', n: 9 }, { path })).status, 403, path)
      assert.equal((await call({ prompt: 'a cat' }, { path })).status, 400, path)
      assert.equal((await call('{"model":"gpt-x","model":"gpt-y"}', { path })).status, 400, path)
      assert.equal(openai.arrived.length, 0, path)
      await call(text, { path: `${path}?a=1` })
      const [arrived] = openai.arrived.splice(0)
      assert.equal(arrived?.url, `${path}?a=1`)
      assert.equal(arrived?.body, text)
      assert.equal(arrived?.headers.authorization, 'Bearer sk-provider')
    }
    const guards = { guardrails: { request: [{ regex: { rules: [{ builtin: 'email' }] } }] } }
    await serve({ backend: { ...rules.backend, ...guards } })
    assert.equal((await call(text, { path: '/v1/images/generations' })).status, 400)
    assert.equal(openai.arrived.length, 0)
  })

  it('about models read the deployment in a path, as the provider does', async () => {
    await serve({ backend: deny("llm.requestModel == 'gpt-y'") })
    const at = (model: string, end: string) => `/openai/deployments/${model}/${end}`
    for (const end of ['chat/completions', 'images/generations']) {
      const path = at('gpt-x', end)
      assert.equal((await call(CHAT, { path: at('gpt-y', end) })).status, 403)
      await call('{"model":"gpt-y","seed":1.0,"messages":[{}]}', { path })
      await call('{"seed":1.0,"messages":[{}]}', { path })
      await call('{"model":"gpt-x","seed":1.0,"messages":[{}]}', { path })
      const sent = openai.arrived.splice(0).map(({ body }) => body)
      assert.equal(sent.length, 3)
      for (const body of sent) {
        assert.equal((JSON.parse(body) as { readonly model: string }).model, 'gpt-x', body)
        assert.match(body, /"seed":1\.0/)
      }
    }
  })

  it('about anything else do not deny them', async () => {
    await serve({ backend: deny("llm.provider == 'x'") })
    await call(CHAT, { path: '/v1/batches' })
    assert.equal(openai.arrived.length, 1)
  })
})
