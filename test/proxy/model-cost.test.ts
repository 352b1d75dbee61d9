import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { recordsIn, startRunning } from './running.ts'
import { until } from './whole-gateway.ts'

let openai: ModelProvider
let anthropic: ModelProvider
/** Does not wait for connections that clients keep open. */
const QUICK_STOP = '  connectionTerminationDeadline: 1s\n  connectionMinTerminationDeadline: 0s\n'

let port = 0
let running: Deciding | undefined

const priced = (input: string, output: string) => ({
  openai: { models: { 'gpt-x': { rates: { input, output } } } },
  anthropic: {
    models: {
      'claude-x': { rates: { input: '3', output: '15', cacheRead: '0.3' }, maxOutputTokens: 777 },
    },
  },
})

function configOf(providers: object | undefined): string {
  const model = (name: string, kind: string, { port: at }: ModelProvider) => ({
    name,
    provider: kind,
    params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
  })
  return JSON.stringify({
    config: providers === undefined ? {} : { modelCatalog: [{ inline: { providers } }] },
    gateways: { default: { port } },
    frontendPolicies: { accessLog: { add: { spent: 'llm.cost.total', first: 'llm.cost.input' } } },
    llm: { models: [model('gpt-*', 'openAI', openai), model('claude-*', 'anthropic', anthropic)] },
  })
}

async function serve(providers: object | undefined): Promise<Deciding> {
  if (running === undefined) running = await startDeciding(configOf(providers), 'json')
  else await running.apply(configOf(providers))
  return running
}

/** A call as the admin API returns it. */
interface Rated {
  readonly model: string
  readonly rates: { readonly input: string }
  readonly from: object
}

interface Logged {
  readonly 'gen_ai.request.model'?: string
  readonly 'llm.cost'?: string
  readonly spent?: number
  readonly first?: number
}

/** Makes a call, and returns its access log line. */
async function call(model: string, more: object = {}): Promise<Logged> {
  const lines = (running as Deciding).lines
  const seen = lines.length
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
  })
  assert.equal(response.status, 200, await response.text())
  const own = () => lines.slice(seen).find((line) => line.includes('gen_ai.request.model'))
  await until('the log', async () => own() !== undefined)
  return JSON.parse(own() as string)
}

describe('cost of calls to models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
    await anthropic.close()
  })

  beforeEach(() => {
    openai.arrived.length = 0
    anthropic.arrived.length = 0
  })

  it('is in the log, in expressions and in metrics, for streams too', async () => {
    const { metric } = await serve(priced('2.5', '10'))
    // 9 tokens in and 3 out, in millionths: 22.5 + 30.
    const whole = await call('gpt-x')
    assert.equal(whole['llm.cost'], '0.0000525')
    assert.equal(whole.spent, 0.0000525)
    assert.equal(whole.first, 0.0000225)
    assert.equal((await call('gpt-x', { stream: true }))['llm.cost'], '0.0000525')
    const series = (name: string, labels: string) => metric(`${name}{${labels}}`)
    const labels = 'route="llm",provider="gpt-*",model="gpt-x",direction='
    assert.equal(series('portcullis_llm_cost_usd_total', `${labels}"input"`), 0.000045)
    assert.equal(series('portcullis_llm_cost_usd_total', `${labels}"output"`), 0.00006)
    const lookups = 'provider="gpt-*",model="gpt-x",outcome="priced"'
    assert.equal(series('portcullis_llm_cost_lookups_total', lookups), 2)
  })

  it('counts cached tokens once, at their own rate, through a translation', async () => {
    await serve(priced('2.5', '10'))
    // 7 tokens plus 2 from the cache, 3 out: 7 × 3 + 2 × 0.3 + 3 × 15.
    assert.equal((await call('claude-x'))['llm.cost'], '0.0000666')
    assert.equal((await call('claude-x-2026-08-01', { stream: true }))['llm.cost'], '0.0000666')
  })

  it('has the limit of the model for providers that require one', async () => {
    await serve(priced('2.5', '10'))
    await call('claude-x')
    assert.equal(anthropic.bodies().at(-1)?.max_tokens, 777)
  })

  it('follows the catalog when it changes, and is unknown without a rate', async () => {
    await serve(priced('1', '1'))
    assert.equal((await call('gpt-x'))['llm.cost'], '0.000012')
    const { metric } = await serve(priced('2', '2'))
    assert.equal((await call('gpt-x'))['llm.cost'], '0.000024')
    assert.equal((await call('gpt-y'))['llm.cost'], undefined)
    const unknown = 'provider="gpt-*",model="other",outcome="unknown-model"'
    assert.equal(metric(`portcullis_llm_cost_lookups_total{${unknown}}`), 1)
    await serve(undefined)
    assert.equal((await call('gpt-x'))['llm.cost'], undefined)
    const none = 'provider="gpt-*",model="other",outcome="no-catalog"'
    assert.equal(metric(`portcullis_llm_cost_lookups_total{${none}}`), 1)
  })

  it('follows the file of the catalog, in every worker', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
    const file = join(folder, 'catalog.json')
    const write = (rate: string) =>
      writeFileSync(file, JSON.stringify({ providers: priced(rate, '0') }))
    write('1')
    const at = await freePort()
    const model = {
      name: 'gpt-x',
      provider: 'openAI',
      params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${openai.port}` },
    }
    const rest = { gateways: { default: { port: at } }, llm: { models: [model] } }
    const gateway = await startRunning(
      Object.entries(rest)
        .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
        .join(''),
      { workers: 2, config: `  modelCatalog: [{ file: ${file} }]\n${QUICK_STOP}` },
    )
    const ask = async () => {
      const response = await fetch(`http://127.0.0.1:${at}/v1/chat/completions`, {
        method: 'POST',
        headers: { connection: 'close' },
        body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }),
      })
      assert.equal(response.status, 200, await response.text())
    }
    const costs = () => recordsIn(gateway.out()).flatMap((record) => record['llm.cost'] ?? [])
    const shownRate = async () => {
      const reply = await fetch(`http://127.0.0.1:${gateway.ports.admin}/api/llm/costs`)
      const { models } = (await reply.json()) as { models: readonly Rated[] }
      const found = models.find((one) => one.model === 'gpt-x')
      assert.deepEqual(found?.from, { catalog: 0, file })
      return found?.rates.input
    }
    try {
      assert.equal(await shownRate(), '1')
      for (let i = 0; i < 8; i++) await ask()
      await until('the log', () => costs().length === 8)
      assert.deepEqual(new Set(costs()), new Set(['0.000009']))
      const applied = 'portcullis_config_reloads_total{outcome="applied"}'
      write('2')
      await until('the reload', async () => (await gateway.metric(applied)) > 0)
      assert.equal(await shownRate(), '2')
      for (let i = 0; i < 16; i++) await ask()
      await until('the log', () => costs().length === 24)
      assert.deepEqual(new Set(costs().slice(8)), new Set(['0.000018']))
    } finally {
      await gateway.stop()
      rmSync(folder, { recursive: true })
    }
  })

  for (const [what, catalog] of [
    ['a rate that is no decimal string', { providers: { p: { models: { m: { rates: 1 } } } } }],
    ['an unknown key', { provider: {} }],
    ['text that is no JSON', '{"providers": '],
  ] as const) {
    it(`is rejected with its configuration: ${what}`, () => {
      const text = JSON.stringify({ config: { modelCatalog: [{ inline: catalog }] }, gateways: {} })
      const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
      assert.ok(
        diagnostics.some(({ severity }) => severity === 'error'),
        JSON.stringify(diagnostics),
      )
    })
  }
})
