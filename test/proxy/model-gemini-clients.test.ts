import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

let openai: ModelProvider
let anthropic: ModelProvider
let running: Deciding
let port = 0

const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]

async function call(path: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    body: body === undefined ? null : JSON.stringify(body),
    headers: { 'x-goog-api-key': 'of-the-client' },
  })
  const { status, headers } = response
  return { status, type: headers.get('content-type') ?? '', text: await response.text() }
}

describe("clients of Gemini's API", () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
    const model = (name: string, provider: string, { port: at }: ModelProvider) => ({
      ...{ name, provider },
      params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
    })
    const models = [model('gpt-x', 'openAI', openai), model('claude-x', 'anthropic', anthropic)]
    const config = { gateways: { default: { port } }, llm: { gateways: 'default', models } }
    running = await startDeciding(JSON.stringify(config), 'json')
  })

  after(async () => {
    await running.stop()
    await openai.close()
    await anthropic.close()
  })

  beforeEach(() => {
    for (const provider of [openai, anthropic]) {
      provider.arrived.length = 0
      provider.behaviour = {}
    }
  })

  for (const [name, provider] of [
    ['gpt-x', () => openai],
    ['claude-x', () => anthropic],
  ] as const) {
    it(`reach ${name}, whole and in a stream`, async () => {
      const whole = await call(`/v1beta/models/${name}:generateContent`, { contents })
      assert.equal(whole.status, 200, whole.text)
      const { candidates, usageMetadata, modelVersion } = JSON.parse(whole.text)
      assert.equal(candidates[0].content.parts.at(-1).text, 'Grüße')
      assert.equal(candidates[0].finishReason, 'STOP')
      assert.ok(usageMetadata.promptTokenCount > 0)
      assert.equal(modelVersion, name)
      const [sent] = provider().bodies()
      assert.equal(sent?.model, name)
      const path = `/v1beta/models/${name}:streamGenerateContent?alt=sse`
      const stream = await call(path, { contents })
      assert.match(stream.type, /^text\/event-stream/)
      const events = stream.text.split('\n\n').filter((one) => one !== '')
      const parts = events.flatMap((one) => {
        const [first] = JSON.parse(one.replace(/^data: /, '')).candidates
        return first.content.parts
      })
      assert.equal(parts.map(({ text }) => text).join(''), 'Grüße')
      assert.match(events.at(-1) ?? '', /"finishReason":"STOP"/)
      assert.equal(provider().bodies()[1]?.stream, true)
    })
  }

  it('get errors in their format', async () => {
    openai.behaviour = { status: 429 }
    const failed = await call('/v1beta/models/gpt-x:generateContent', { contents })
    assert.deepEqual(
      [failed.status, JSON.parse(failed.text).error.status],
      [429, 'RESOURCE_EXHAUSTED'],
    )
    const wrong = await call('/v1beta/models/gpt-x:generateContent', {})
    assert.deepEqual([wrong.status, JSON.parse(wrong.text).error.code], [400, 400])
    const stored = { contents, cachedContent: 'cachedContents/a' }
    assert.equal((await call('/v1beta/models/gpt-x:generateContent', stored)).status, 400)
  })

  it('can list the models, in their format', async () => {
    const { status, text } = await call('/v1beta/models')
    assert.equal(status, 200)
    const { models } = JSON.parse(text)
    assert.deepEqual(
      models.map(({ name }: { name: string }) => name),
      ['models/gpt-x', 'models/claude-x'],
    )
    assert.ok(models[0].supportedGenerationMethods.includes('generateContent'))
    assert.equal(JSON.parse((await call('/v1/models')).text).object, 'list')
  })
})
