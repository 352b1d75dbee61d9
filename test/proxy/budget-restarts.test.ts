import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { freePort } from '../free-port.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { type Running, startRunning } from './running.ts'
import { until } from './whole-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-restarts-'))
let provider: ModelProvider
let port = 0
let running: Running | undefined

async function start(file: string, budget: object, workers = 2): Promise<void> {
  const own = {
    gateways: { default: { port } },
    llm: {
      models: [
        {
          name: 'gpt-x',
          provider: 'openAI',
          params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${provider.port}` },
        },
      ],
      policies: { budgets: [budget] },
    },
  }
  const text = Object.entries(own).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
  running = await startRunning(text.join(''), {
    workers,
    config: `  budgets: { file: ${join(folder, file)} }\n`,
  })
}

/** Kills the gateway as a crash or the kernel would. */
async function kill(): Promise<void> {
  const { child } = running ?? assert.fail()
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  running = undefined
}

async function call(more: object = {}, signal?: AbortSignal): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'gpt-x',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 3,
      ...more,
    }),
    ...(signal === undefined ? {} : { signal }),
  })
  await response.text()
  return response.status
}

async function calls(count: number): Promise<readonly number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i++) all.push(await call())
  return all
}

describe('budgets across restarts', () => {
  before(async () => {
    provider = await startModelProvider('openai')
    port = await freePort()
  })

  beforeEach(() => {
    provider.behaviour = {}
  })

  after(async () => {
    await running?.stop()
    await provider?.close()
    rmSync(folder, { recursive: true })
  })

  it('a killed gateway remembers the usage, and applies a raised budget', async () => {
    await start('requests', { requests: 5, per: 'Month' })
    assert.deepEqual(await calls(3), [200, 200, 200])
    await kill()
    await start('requests', { requests: 5, per: 'Month' }, 1)
    assert.deepEqual(await calls(3), [200, 200, 429])
    await kill()
    await start('requests', { requests: 6, per: 'Month' })
    assert.deepEqual(await calls(2), [200, 429])
    await running?.stop()
    running = undefined
  })

  it('a call that was in flight counts as what was reserved for it', async () => {
    // Each call is 12 tokens by the provider's count, and up to 1,000 until that count is known.
    await start('tokens', { tokens: 1500, per: 'Month' })
    assert.equal(await call({ max_tokens: 1000 }), 200)
    provider.behaviour = { hangs: true }
    const before = provider.arrived.length
    const pending = call({ max_tokens: 1000 }).catch(() => 0)
    await until('the call', () => provider.arrived.length > before)
    await kill()
    assert.equal(await pending, 0)
    provider.behaviour = {}
    await start('tokens', { tokens: 1500, per: 'Month' })
    assert.equal(await call({ max_tokens: 1000 }), 429)
    assert.equal(await call({ max_tokens: 100 }), 200)
    await running?.stop()
    running = undefined
  })

  it('a file that is not a budget file is rejected at startup', async () => {
    const file = join(import.meta.dirname, 'running.ts')
    await assert.rejects(
      startRunning(`gateways: { default: { port: ${port} } }\n`, {
        config: `  budgets: { file: ${file} }\n`,
      }),
      /PC0418/,
    )
  })
})
