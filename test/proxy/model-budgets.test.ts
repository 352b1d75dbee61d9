import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { startRunning } from './running.ts'
import { until } from './whole-gateway.ts'

let one: ModelProvider
let two: ModelProvider
let anthropic: ModelProvider
/** Does not wait for connections that clients keep open. */
const QUICK_STOP = '  connectionTerminationDeadline: 1s\n  connectionMinTerminationDeadline: 0s\n'

let port = 0
let running: Deciding | undefined

const rates = (input: string, output: string) => ({ rates: { input, output } })
/** Each call is 9 tokens in and 3 out. */
const CATALOG = {
  providers: {
    openai: {
      models: { 'gpt-x': rates('10', '10'), 'gpt-cheap': rates('1', '1'), free: {} },
    },
    anthropic: { models: { 'claude-x': rates('10', '10') } },
  },
}

const model = (name: string, provider: string, { port: at }: ModelProvider, more = {}) => ({
  name,
  provider,
  params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}`, ...more },
})

const llmOf = (policies: object) => ({
  models: [
    model('gpt-x', 'openAI', one),
    model('gpt-cheap', 'openAI', two),
    model('free', 'openAI', one),
    model('claude-x', 'anthropic', anthropic),
  ],
  virtualModels: [
    {
      name: 'auto',
      routing: {
        failover: {
          targets: [
            { model: 'gpt-x', priority: 0 },
            { model: 'gpt-cheap', priority: 1 },
          ],
        },
      },
    },
  ],
  policies,
})

const configOf = (policies: object) =>
  JSON.stringify({
    config: { modelCatalog: [{ inline: CATALOG }] },
    gateways: { default: { port } },
    llm: llmOf(policies),
  })

async function serve(budgets: object | readonly object[]): Promise<Deciding> {
  // A different key each time, so that one test does not use up the budget of the next.
  const text = configOf({ budgets: [budgets].flat() })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  return running
}

const KEY = { key: "request.headers['x-user']" }

interface Sent {
  readonly user?: string
  readonly model?: string
  readonly path?: string
  readonly more?: object
  readonly signal?: AbortSignal
}

async function call({ user = 'a', model: name = 'gpt-x', path, more = {}, signal }: Sent = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path ?? '/v1/chat/completions'}`, {
    method: 'POST',
    headers: { 'x-user': user },
    body: JSON.stringify({
      model: name,
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 3,
      ...more,
    }),
    ...(signal === undefined ? {} : { signal }),
  })
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

async function statuses(count: number, sent: Sent = {}): Promise<readonly number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i++) all.push((await call(sent)).status)
  return all
}

/** Concurrent calls: none finishes before all have been decided. */
async function atOnce(count: number, ask: () => ReturnType<typeof call>) {
  let release = () => {}
  one.behaviour = { waits: new Promise<void>((done) => (release = done)) }
  const before = one.arrived.length
  const all = Array.from({ length: count }, ask)
  let rejected = 0
  for (const response of all) {
    void response.then(({ status }) => {
      if (status !== 200) rejected++
    })
  }
  await until('all decisions', () => one.arrived.length - before + rejected === count)
  release()
  one.behaviour = {}
  return (await Promise.all(all)).map(({ status }) => status)
}

const seen = (all: readonly number[], status: number) => all.filter((one) => one === status).length

describe('budgets of calls to models', () => {
  before(async () => {
    ;[one, two, anthropic] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('openai'),
      startModelProvider('anthropic'),
    ])
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    for (const provider of [one, two, anthropic]) await provider.close()
  })

  beforeEach(() => {
    for (const provider of [one, two, anthropic]) provider.behaviour = {}
  })

  it('in dollars count the cost of calls, for each key', async () => {
    // A call costs 120 millionths, and about 230 are reserved for it.
    await serve({ usd: '0.0006', per: 'Month', ...KEY })
    assert.deepEqual(await statuses(6), [200, 200, 200, 200, 429, 429])
    assert.equal((await call({ user: 'b' })).status, 200)
    assert.equal((await call({ user: 'b', model: 'gpt-cheap' })).status, 200)
  })

  it('in tokens and requests count what was served, and nothing else', async () => {
    await serve([
      { tokens: 100, per: 'Week', ...KEY },
      { requests: 3, per: 'Week', ...KEY },
    ])
    one.behaviour = { status: 400 }
    assert.deepEqual(await statuses(5, { user: 'c' }), [400, 400, 400, 400, 400])
    one.behaviour = {}
    assert.deepEqual(await statuses(4, { user: 'c' }), [200, 200, 200, 429])
  })

  it('that are exhausted are reported in the format of each vendor, with the time of the reset', async () => {
    const { metric } = await serve({ requests: 1, per: 'Month', ...KEY })
    const labels = 'policy="route:llm",measure="requests",outcome='
    const count = (outcome: string) =>
      metric(`portcullis_llm_budget_decisions_total{${labels}"${outcome}"}`) ?? 0
    const before = count('exhausted')
    await call({ user: 'd' })
    const openai = await call({ user: 'd' })
    assert.equal(openai.status, 429)
    assert.equal(JSON.parse(openai.text).error.code, 'budget_exhausted')
    assert.ok(Number(openai.headers.get('retry-after')) > 0)
    const vendor = await call({ user: 'd', model: 'claude-x', path: '/v1/messages' })
    assert.equal(vendor.status, 429)
    const { type, error } = JSON.parse(vendor.text)
    assert.deepEqual([type, error.type], ['error', 'rate_limit_error'])
    assert.equal(vendor.headers.get('x-should-retry'), 'false')
    await until('the metric', () => count('exhausted') === before + 2)
    assert.ok(count('allowed') >= 1)
  })

  it('are not exceeded by concurrent calls', async () => {
    await serve({ usd: '0.001', per: 'Day', ...KEY })
    // About 500 millionths are reserved for each.
    const ask = () => call({ user: 'e', more: { max_tokens: 30 } })
    assert.equal(seen(await atOnce(12, ask), 200), 2)
    // Unused reservations are returned, once: 240 of 1,000 are used.
    assert.equal(seen(await atOnce(12, ask), 200), 1)
  })

  it('assume the max output of a model if the request sets no lower limit', async () => {
    await serve({ tokens: 5_000, per: 'Day', ...KEY })
    const ask = () => call({ user: 'f', more: { max_tokens: undefined } })
    assert.equal(seen(await atOnce(3, ask), 200), 1)
    await until('the rest', async () => (await ask()).status === 200)
  })

  it('charge the provider that served, after another failed', async () => {
    await serve({ usd: '0.0006', per: 'Month', ...KEY })
    one.behaviour = { status: 500 }
    // 12 millionths each, but there must be room for the reservation of 230.
    assert.equal(seen(await statuses(20, { user: 'g', model: 'auto' }), 200), 20)
    one.behaviour = {}
    // 240 of 600 millionths are used.
    assert.deepEqual(await statuses(3, { user: 'g', model: 'auto' }), [200, 200, 429])
  })

  it('keep the reservation for a stream that its client aborts', async () => {
    await serve({ tokens: 1_000, per: 'Day', ...KEY })
    const pieces = Array.from({ length: 4_000 }, () => ': still there\n\n')
    one.behaviour = { pieces }
    const abort = new AbortController()
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-user': 'h' },
      body: JSON.stringify({
        ...{ model: 'gpt-x', stream: true, max_tokens: 900 },
        messages: [{ role: 'user', content: 'hi' }],
      }),
      signal: abort.signal,
    })
    await response.body?.getReader().read()
    abort.abort()
    one.behaviour = {}
    await until('the end of the stream', () =>
      (running?.lines ?? []).some((line) => line.includes('client-gone')),
    )
    assert.equal((await call({ user: 'h', more: { max_tokens: 300 } })).status, 429)
  })

  it('keep the reservation for a call that its client aborts before the response', async () => {
    await serve({ tokens: 1_000, per: 'Day', ...KEY })
    one.behaviour = { hangs: true }
    const before = one.arrived.length
    const abort = new AbortController()
    const sent = call({ user: 'gone', more: { max_tokens: 900 }, signal: abort.signal })
    await until('the call at the provider', () => one.arrived.length > before)
    abort.abort()
    await assert.rejects(sent)
    one.behaviour = {}
    const isGone = (line: string) =>
      line.includes('client-gone') && line.includes('"http.status":0')
    await until('the end of the call', () => (running?.lines ?? []).some(isGone))
    assert.equal((await call({ user: 'gone', more: { max_tokens: 300 } })).status, 429)
  })

  it('apply only to the configured models', async () => {
    await serve({ requests: 1, per: 'Day', models: ['gpt-c*'], ...KEY })
    const user = 'i'
    assert.deepEqual(await statuses(2, { user, model: 'gpt-cheap' }), [200, 429])
    assert.deepEqual(await statuses(2, { user, model: 'gpt-x' }), [200, 200])
  })

  it('in dollars deny models without a price', async () => {
    await serve({ usd: '100', per: 'Day', ...KEY })
    const { status, text } = await call({ model: 'free' })
    assert.equal(status, 403)
    assert.equal(JSON.parse(text).error.code, 'model_not_priced')
  })

  it('keep their usage when the file changes', async () => {
    await serve([{ requests: 2, per: 'Month', ...KEY }])
    assert.deepEqual(await statuses(2, { user: 'j' }), [200, 200])
    await running?.apply(
      JSON.stringify({
        ...JSON.parse(configOf({ budgets: [{ requests: 2, per: 'Month', ...KEY }] })),
        routes: [],
      }),
    )
    assert.equal((await call({ user: 'j' })).status, 429)
  })

  it('apply to all workers together, exactly', async () => {
    const at = await freePort()
    const rest = {
      gateways: { default: { port: at } },
      llm: llmOf({
        budgets: [
          { requests: 10, per: 'Month' },
          { usd: '1', per: 'Month' },
        ],
      }),
    }
    const gateway = await startRunning(
      Object.entries(rest)
        .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
        .join(''),
      {
        workers: 2,
        config: `  modelCatalog: [{ inline: ${JSON.stringify(CATALOG)} }]\n${QUICK_STOP}`,
      },
    )
    try {
      const body = { model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }], max_tokens: 3 }
      const all = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const response = await fetch(`http://127.0.0.1:${at}/v1/chat/completions`, {
            method: 'POST',
            headers: { connection: 'close' },
            body: JSON.stringify(body),
          })
          await response.text()
          return response.status
        }),
      )
      assert.deepEqual([seen(all, 200), seen(all, 429)], [10, 30])
    } finally {
      await gateway.stop()
    }
  })
})
