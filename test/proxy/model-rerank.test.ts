import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

/* Requests and responses follow Cohere's reference, `POST /v2/rerank`. */

let vendor: Provider
let port = 0
let running: Deciding | undefined

const BODY = { model: 'rerank-v3.5', query: 'who?', documents: ['a secret', 'b'], top_n: 1 }
const COHERE = {
  id: '07734bd2-2473-4f07-94e1-0d9f0e6843cf',
  results: [{ index: 1, relevance_score: 0.99 }],
  meta: { api_version: { version: '2' }, tokens: { input_tokens: 42, output_tokens: 1 } },
}

async function serve(model: object, policies: object = {}): Promise<void> {
  const params = { apiKey: 'sk-vendor', hostOverride: `127.0.0.1:${vendor.port}` }
  const own = { name: '*', provider: 'cohere', params, ...model }
  const text = JSON.stringify({
    gateways: { default: { port } },
    llm: { models: [own], policies },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function rerank(path: string, body: object = BODY) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method: 'POST', body: JSON.stringify(body) },
  })
  return { status: response.status, text: await response.text() }
}

describe('calls that rerank documents', () => {
  before(async () => {
    vendor = await startProvider('vendor')
    vendor.respondWith = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(COHERE))
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

  it('reach Cohere unchanged, with its key, and their tokens are counted', async () => {
    await serve({})
    for (const path of ['/v2/rerank', '/v1/rerank']) {
      const { status, text } = await rerank(path)
      assert.equal(status, 200)
      assert.deepEqual(JSON.parse(text), COHERE)
      const { url, headers, body = '' } = vendor.arrived.at(-1) ?? {}
      assert.equal(url, '/v2/rerank')
      assert.equal(headers?.authorization, 'Bearer sk-vendor')
      assert.equal(body, JSON.stringify(BODY))
    }
    for (let i = 0; i < 200 && (running?.lines.length ?? 0) < 2; i++) await wait(5)
    const line = JSON.parse(running?.lines.at(-1) ?? '{}')
    assert.equal(line['gen_ai.operation.name'], 'rerank')
    assert.equal(line['gen_ai.request.model'], 'rerank-v3.5')
    assert.equal(line['gen_ai.usage.input_tokens'], 42)
  })

  it('go to the path of a format, and otherwise to that of its version', async () => {
    for (const [format, url] of [
      [{ type: 'rerank' }, '/v2/rerank'],
      [{ type: 'rerank', path: '/api/order' }, '/api/order'],
    ] as const) {
      await serve({ provider: { custom: { formats: [format] } } })
      assert.equal((await rerank('/v2/rerank')).status, 200)
      assert.equal(vendor.arrived.at(-1)?.url, url)
    }
  })

  it('are subject to rules of models and to guards', async () => {
    const rules = [{ deny: `llm.requestModel == 'rerank-v3.5'` }]
    await serve({ authorization: { rules } })
    assert.equal((await rerank('/v2/rerank')).status, 403)
    assert.equal((await rerank('/v2/rerank', { ...BODY, model: 'other' })).status, 200)
    const request = [{ regex: { action: 'reject', rules: [{ pattern: 'secret' }] } }]
    await serve({ guardrails: { request } })
    assert.equal((await rerank('/v2/rerank')).status, 403)
    assert.equal(
      (await rerank('/v2/rerank', { ...BODY, query: 'secret', documents: [] })).status,
      403,
    )
    assert.equal((await rerank('/v2/rerank', { ...BODY, documents: ['b'] })).status, 200)
  })

  it('are rejected for providers without reranking', async () => {
    await serve({ provider: 'openAI' })
    const { status, text } = await rerank('/v2/rerank')
    assert.equal(status, 400)
    assert.match(text, /unsupported_endpoint/)
    assert.equal(vendor.arrived.length, 0)
  })
})
