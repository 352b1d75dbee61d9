import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

let openai: ModelProvider
let port = 0
let running: Deciding | undefined

/** `policies`: of the provider. */
async function serve(policies: object = { backendAuth: { key: 'sk-provider' } }, route = {}) {
  const provider = {
    name: 'main',
    provider: { openAI: {} },
    hostOverride: `127.0.0.1:${openai.port}`,
    policies,
  }
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: { groups: [{ providers: [provider] }] } }],
    routes: [{ name: 'chat', policies: route, backends: [{ backend: 'models' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(headers: Readonly<Record<string, string>>) {
  await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }),
    headers: { 'content-type': 'application/json', ...headers },
  })
  return openai.arrived[0]?.headers ?? {}
}

describe('headers of clients of models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    port = await freePort()
  })
  beforeEach(() => {
    openai.arrived.length = 0
  })
  after(async () => {
    await running?.stop()
    await openai.close()
  })

  const named = {
    'cf-access-jwt-assertion': 'session',
    'x-forwarded-access-token': 'session',
    'x-auth-token': 'client',
    'x-amz-security-token': 'client',
    'anthropic-auth-token': 'client',
    'openai-organization': 'org-client',
    'openai-project': 'proj-client',
    baggage: 'user=alice',
  }
  const useful = {
    'user-agent': 'sdk/1',
    'openai-beta': 'assistants=v2',
    'idempotency-key': 'k1',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }

  it('reach a provider only if it needs them, whatever the others are called', async () => {
    await serve()
    const headers = await call({ ...named, ...useful })
    for (const name of Object.keys(named)) assert.equal(headers[name], undefined, name)
    for (const [name, value] of Object.entries(useful)) assert.equal(headers[name], value, name)
  })

  it('reach a provider under any name if a policy sets them', async () => {
    const set = { 'x-auth-token': 'request.headers["x-auth-token"]' }
    await serve(undefined, { transformations: { request: { set } } })
    const headers = await call(named)
    assert.equal(headers['x-auth-token'], 'client')
    assert.equal(headers['anthropic-auth-token'], undefined)
  })

  it('with passthrough include credentials for providers, and no sessions', async () => {
    await serve({ backendAuth: { passthrough: {} } })
    const headers = await call({ authorization: 'Bearer client', cookie: 'a=b', ...named })
    const names = ['authorization', 'openai-organization', 'openai-project']
    const passed = names.map((name) => headers[name])
    assert.deepEqual(passed, ['Bearer client', 'org-client', 'proj-client'])
    assert.equal(headers.cookie, undefined)
    assert.equal(headers['cf-access-jwt-assertion'], undefined)
  })
})
