import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, it } from 'node:test'
import { freePort } from '../free-port.ts'
import { type ModelProvider, startModelProvider } from '../proxy/model-provider.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

describe('budgets in PostgreSQL', { skip: SKIPPED }, () => {
  let server: TestServer
  let url = ''
  let provider: ModelProvider
  const ports: number[] = []
  const gateways: (Running | undefined)[] = []

  const start = async (at: number) => {
    const model = {
      name: 'gpt-x',
      provider: 'openAI',
      params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${provider.port}` },
    }
    const key = "request.headers['x-user']"
    const budgets = [
      { requests: 20, per: 'Month', key },
      { tokens: 100_000, per: 'Month', key },
    ]
    const llm = { models: [model], policies: { budgets } }
    const text = `gateways: { default: { port: ${ports[at]} } }\nllm: ${JSON.stringify(llm)}\n`
    const config = `  database: { url: '${url}' }\n`
    gateways[at] = await startRunning(text, { workers: 2 - at, config })
  }

  const call = async (at: number, user: string, max_tokens = 3): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${ports[at]}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-user': user },
      body: JSON.stringify({
        ...{ model: 'gpt-x', max_tokens, messages: [{ role: 'user', content: 'hi' }] },
      }),
    })
    await response.text()
    return response.status
  }

  const count = (all: readonly number[], status: number) =>
    all.filter((one) => one === status).length

  /** The used amounts, the highest first. */
  const used = async () => {
    const rows = await server.query('select used from portcullis_budgets order by 1 desc', [], url)
    return (rows as readonly { readonly used: string }[]).map((row) => Number(row.used))
  }

  before(async () => {
    server = await sharedServer()
    url = await server.database()
    provider = await startModelProvider('openai')
    ports.push(await freePort(), await freePort())
    await start(0)
    await start(1)
  })

  after(async () => {
    for (const gateway of gateways) await gateway?.stop()
    await provider?.close()
  })

  beforeEach(() => {
    provider.behaviour = {}
  })

  it('apply to replicas together, however many requests arrive at once', async () => {
    const all = await Promise.all(Array.from({ length: 60 }, (_, at) => call(at % 2, 'ann')))
    assert.equal(count(all, 200), 20)
    assert.equal(count(all, 429), 40)
    // Each call uses 12 tokens by the provider's count.
    await until('what was settled', async () => (await used()).join() === '240,20')
  })

  it('are exact after a replica was killed; a call in progress counts as its estimate', async () => {
    await call(0, 'ben')
    provider.behaviour = { hangs: true }
    const before = provider.arrived.length
    const pending = call(0, 'ben', 50_000).catch(() => 0)
    await until('the call', () => provider.arrived.length > before)
    const { child } = gateways[0] ?? assert.fail()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    assert.equal(await pending, 0)
    provider.behaviour = {}
    assert.equal(await call(1, 'ben', 60_000), 429)
    assert.equal(await call(1, 'ben', 40_000), 200)
    await start(0)
    assert.equal(await call(0, 'ben', 60_000), 429)
    const all: number[] = []
    for (let i = 0; i < 20; i++) all.push(await call(i % 2, 'ben'))
    assert.equal(count(all, 200), 20 - 3)
  })

  it('deny while the database is unavailable, and recover when it is back', async () => {
    assert.equal(await call(0, 'eve'), 200)
    await server.stop()
    for (const at of [0, 1]) assert.equal(await call(at, 'eve'), 503)
    await server.start()
    for (const at of [0, 1]) {
      await until('the database', async () => (await call(at, 'eve')) === 200)
    }
  })

  it('store the usage that was settled while it was unavailable', async () => {
    let release = () => {}
    provider.behaviour = { waits: new Promise<void>((done) => (release = done)) }
    const before = provider.arrived.length
    const pending = call(1, 'dan', 70_000)
    await until('the call', () => provider.arrived.length > before)
    await server.stop()
    release()
    assert.equal(await pending, 200)
    provider.behaviour = {}
    await server.start()
    await until('room', async () => (await call(1, 'dan', 90_000)) === 200)
  })
})
