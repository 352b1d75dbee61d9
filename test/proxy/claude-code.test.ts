import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

/* The configuration of the page, with the calls that Claude Code makes. */

const PAGE = join(import.meta.dirname, '../../docs/tasks/use-claude-code.md')

let provider: ModelProvider
let running: Deciding
let port = 0

const claude = (authToken: string) =>
  new Anthropic({ authToken, apiKey: null, baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 })

const CALL = {
  model: 'claude-opus-5',
  max_tokens: 9,
  messages: [{ role: 'user' as const, content: 'hello' }],
}

describe('Claude Code', () => {
  before(async () => {
    provider = await startModelProvider('anthropic')
    port = await freePort()
    const [, written = ''] = /```yaml\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? []
    const text = written
      .replace('port: 4000', `port: ${port}`)
      .replace(
        /apiKey: '\$\{.*?\}'/,
        `apiKey: sk-provider, hostOverride: 127.0.0.1:${provider.port}`,
      )
      .replace('requests: 5000', 'requests: 3')
    assert.ok(text.includes(`127.0.0.1:${provider.port}`))
    running = await startDeciding(text, 'json')
  })

  after(async () => {
    await running.stop()
    await provider.close()
  })

  it('streams with its own key, and with the fields and headers that it sends', async () => {
    const stream = claude('sk-ann').messages.stream({ ...CALL, unheard_of: 1 } as typeof CALL, {
      headers: { 'anthropic-beta': 'tools-2026-01-01' },
    })
    assert.equal((await stream.finalMessage()).stop_reason, 'end_turn')
    const [arrived] = provider.arrived
    assert.equal(arrived?.headers['anthropic-beta'], 'tools-2026-01-01')
    assert.equal(provider.bodies()[0]?.unheard_of, 1)
    assert.equal(provider.bodies()[0]?.model, CALL.model)
  })

  it('gets invalid keys, unknown models and exhausted budgets as errors that it understands', async () => {
    const messages = (key: string) => claude(key).messages
    await assert.rejects(messages('wrong').create(CALL), Anthropic.AuthenticationError)
    await assert.rejects(
      messages('sk-ann').create({ ...CALL, model: 'gpt-x' }),
      Anthropic.NotFoundError,
    )
    await assert.rejects(async () => {
      for (let i = 0; i < 4; i++) await messages('sk-ann').create(CALL)
    }, Anthropic.RateLimitError)
  })
})
