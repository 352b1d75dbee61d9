import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '../cli/running.ts'
import { type ModelProvider, startModelProvider } from '../proxy/model-provider.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { type HeldProxy, startProxy } from './held-proxy.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

interface Point {
  readonly time: string
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
}

const rates = { input: '1000000', output: '2000000' }
const CATALOG = { providers: { openai: { models: { small: { rates }, large: { rates } } } } }

describe('usage in a database', { skip: SKIPPED }, () => {
  let server: TestServer
  let proxy: HeldProxy
  let url: string
  let provider: ModelProvider
  let gateways: readonly [StoredGateway, StoredGateway]

  const llm = (more: object = {}) => {
    const params = { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${provider.port}` }
    const models = ['small', 'large'].map((name) => ({ name, provider: 'openAI', params }))
    return `  []\nllm: ${JSON.stringify({ models, ...more })}\n`
  }

  before(async () => {
    server = await sharedServer()
    url = await server.database()
    proxy = await startProxy(server)
    provider = await startModelProvider('openai')
    const at = proxy.urlOf(url)
    const config = { modelCatalog: [{ inline: CATALOG }] }
    gateways = await Promise.all([
      startGateway(at, { routes: llm(), workers: 2, config }),
      startGateway(at, { routes: llm(), config }),
    ])
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await provider?.close()
    await proxy?.close()
  })

  const call = async ({ port }: StoredGateway, model: string, headers: object = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers },
      body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await response.text()
    return response.status
  }
  const usageAt = async (gateway: StoredGateway, query = '') => {
    const { status, json } = await gateway.api('GET', `/llm/usage${query}`)
    assert.equal(status, 200)
    return json as unknown as { readonly from: string; readonly points: readonly Point[] }
  }
  const callsAt = async (gateway: StoredGateway, query = '') => {
    const counts: Record<string, number> = {}
    for (const { model, requests } of (await usageAt(gateway, query)).points) {
      counts[model] = (counts[model] ?? 0) + requests
    }
    return Object.fromEntries(Object.entries(counts).toSorted())
  }
  const says = (gateway: StoredGateway, wanted: object) => async () =>
    JSON.stringify(await callsAt(gateway)) === JSON.stringify(wanted)

  it('covers all replicas and workers, with its cost', async () => {
    const [a, b] = gateways
    for (let count = 0; count < 6; count++) assert.equal(await call(a, 'small'), 200)
    for (let count = 0; count < 3; count++) assert.equal(await call(b, 'large'), 200)
    for (const gateway of gateways) {
      await until('it knows', says(gateway, { large: 3, small: 6 }))
      const { from, points } = await usageAt(gateway, '?step=86400')
      assert.equal(from, 'database')
      for (const { provider: name, inputTokens, outputTokens, cost } of points) {
        assert.ok(name !== '' && inputTokens > 0 && outputTokens > 0)
        assert.equal(cost, inputTokens + 2 * outputTokens)
      }
    }
    const later = new Date(Date.now() + 3_600_000).toISOString()
    assert.deepEqual(await callsAt(b, `?since=${later}`), {})
    assert.equal((await b.api('GET', '/llm/usage?since=yesterday')).status, 400)
    assert.equal((await b.api('GET', '/llm/usage?step=1')).status, 400)
  })

  it('outlives the processes that counted it', async () => {
    const [, b] = gateways
    await b.restart()
    await until('it is ready', async () => (await b.ready()).startsWith('200'))
    await until('it knows', says(b, { large: 3, small: 6 }))
  })

  it('a database that does not respond delays neither calls nor the API', async () => {
    const [a, b] = gateways
    proxy.hold()
    for (let count = 0; count < 5; count++) assert.equal(await call(b, 'large'), 200)
    const { from, points } = await usageAt(b)
    assert.deepEqual([from, points.map(({ requests }) => requests)], ['memory', [5]])
    proxy.release()
    await until('all is stored', says(a, { large: 8, small: 6 }))
    await until('it knows', says(b, { large: 8, small: 6 }))
  })

  it('is stored in daily partitions, and old ones are dropped', async () => {
    const old = new Date(Date.now() - 100 * 86_400_000)
    old.setUTCHours(0, 0, 0, 0)
    const name = `portcullis_usage_${old.toISOString().replace(/\D/g, '').slice(0, 8)}`
    const to = new Date(old.getTime() + 86_400_000).toISOString()
    await server.query(
      `create table ${name} partition of portcullis_usage
       for values from ('${old.toISOString()}') to ('${to}')`,
      [],
      url,
    )
    const [, b] = gateways
    await b.restart()
    await until('it is ready', async () => (await b.ready()).startsWith('200'))
    assert.equal(await call(b, 'small'), 200)
    await until('it is stored', says(b, { large: 8, small: 7 }))
    const rows = await server.query(`select to_regclass('${name}') as found`, [], url)
    assert.equal((rows[0] as { readonly found: unknown } | undefined)?.found, null)
  })

  it('budgets show how much of them all replicas used, and never by whom', async () => {
    const key = "request.headers['x-user']"
    const budgets = [
      { requests: 20, per: 'Month', key },
      { usd: '500', per: 'Month' },
    ]
    const at = await server.database()
    const config = { modelCatalog: [{ inline: CATALOG }] }
    const routes = llm({ policies: { budgets } })
    const both = await Promise.all([1, 2].map(() => startGateway(at, { routes, config })))
    try {
      const [a, b] = both as [StoredGateway, StoredGateway]
      const calls = [a, a, b, b, b].map((gateway, index) =>
        call(gateway, 'small', { 'x-user': index === 0 ? 'secret-ann' : 'secret-bob' }),
      )
      assert.deepEqual(await Promise.all(calls), [200, 200, 200, 200, 200])
      const { points } = await usageAt(a)
      assert.ok(points.length > 0)
      for (const gateway of both) {
        let said = ''
        await until('it is settled', async () => {
          const { json, text } = await gateway.api('GET', '/llm/keys')
          said = text
          const [requests, dollars] = json['budgets'] as [Used, Used]
          const { total } = { total: (await costAt(a)) as number }
          return (
            JSON.stringify([requests.use.callers, requests.use.used, requests.use.maxUsed]) ===
              '[2,5,4]' &&
            dollars.use.callers === 1 &&
            Math.abs(dollars.use.used - total) < 1e-6
          )
        })
        assert.doesNotMatch(said, /secret/)
        assert.match(said, /"ends": "20\d\d-\d\d-01T00:00:00\.000Z"/)
      }
    } finally {
      await Promise.all(both.map((one) => one.remove()))
    }
  })

  const costAt = async (gateway: StoredGateway) =>
    (await usageAt(gateway)).points.reduce((sum, { cost }) => sum + cost, 0)
})

interface Used {
  readonly use: { readonly callers: number; readonly used: number; readonly maxUsed: number }
}
