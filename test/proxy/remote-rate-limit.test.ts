import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { decodeEnvoy, encodeEnvoy } from './envoy-messages.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { until } from './whole-gateway.ts'

/* A rate limit service with independent gRPC and protobuf libraries, and counters. */

interface Asked {
  readonly domain: string
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value?: string }[]
    readonly hitsAddend?: { readonly value?: string }
  }[]
  readonly hitsAddend?: number
}

const OK = 1
const OVER_LIMIT = 2

let service: GrpcServer
let servicePort = 0
let asked: Asked[] = []
const counters = new Map<string, number>()
/** By `key=value` of all entries. */
let limits: Readonly<Record<string, number>> = {}
let more: object = {}
let hangs = false

function decide(request: Asked): object {
  asked.push(request)
  const statuses = request.descriptors.map(({ entries, hitsAddend }) => {
    const name = entries.map(({ key, value = '' }) => `${key}=${value}`).join(' ')
    const cost = hitsAddend === undefined ? request.hitsAddend || 1 : Number(hitsAddend.value ?? 0)
    const limit = limits[name] ?? Number.POSITIVE_INFINITY
    const used = (counters.get(name) ?? 0) + cost
    counters.set(name, used)
    const isOver = cost === 0 ? used >= limit : used > limit
    return {
      code: isOver ? OVER_LIMIT : OK,
      currentLimit: { requestsPerUnit: Number.isFinite(limit) ? limit : 0, unit: 2 },
      durationUntilReset: { seconds: 41, nanos: 5 },
    }
  })
  const isOver = statuses.some(({ code }) => code === OVER_LIMIT)
  return { overallCode: isOver ? OVER_LIMIT : OK, statuses, ...more }
}

let backend: Server
let backendHeaders: IncomingHttpHeaders = {}
let models: ModelProvider
let port = 0
let running: Deciding | undefined

const USER = { entries: [{ key: 'user', value: "request.headers['x-user']" }] }
const limiting = (descriptors: readonly object[], rest: object = {}) => ({
  remoteRateLimit: { host: `127.0.0.1:${servicePort}`, domain: 'shop', descriptors, ...rest },
})

async function serve(policies: object, isForModels = false): Promise<void> {
  const { port: own } = backend.address() as AddressInfo
  const ai = {
    ...{ name: 'main', provider: { openAI: {} }, hostOverride: `127.0.0.1:${models.port}` },
    policies: { backendAuth: { key: 'sk-provider' } },
  }
  const text = JSON.stringify({
    gateways: { default: { port } },
    backends: [
      { name: 'shop', host: `127.0.0.1:${own}` },
      { name: 'models', ai },
    ],
    routes: [{ name: 'all', policies, backends: [{ backend: isForModels ? 'models' : 'shop' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function get(headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a remote rate limit', () => {
  before(async () => {
    backend = createServer((request, response) => {
      backendHeaders = request.headers
      response.end('hello')
    })
    await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done))
    models = await startModelProvider('openai')
    service = new GrpcServer()
    service.addService(
      {
        shouldRateLimit: {
          path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: object) => encodeEnvoy('RateLimitRequest', value),
          requestDeserialize: (bytes: Buffer) =>
            decodeEnvoy('RateLimitRequest', bytes) as unknown as Asked,
          responseSerialize: (value: object) => encodeEnvoy('RateLimitResponse', value),
          responseDeserialize: (bytes: Buffer) => decodeEnvoy('RateLimitResponse', bytes),
        },
      },
      {
        shouldRateLimit: (
          call: { readonly request: Asked },
          done: (error: null, value: object) => void,
        ) => {
          if (!hangs) done(null, decide(call.request))
        },
      },
    )
    servicePort = await new Promise<number>((resolve, reject) =>
      service.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, own) =>
        error === null ? resolve(own) : reject(error),
      ),
    )
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await models.close()
    backend.close()
    backend.closeAllConnections()
    service.forceShutdown()
  })

  beforeEach(() => {
    asked = []
    counters.clear()
    limits = {}
    more = {}
    hangs = false
    models.behaviour = {}
  })

  it('counts by the values of expressions, and sets the time to retry', async () => {
    await serve(limiting([USER]))
    limits = { 'user=ann': 2 }
    const seen = [await get({ 'x-user': 'ann' }), await get({ 'x-user': 'ann' })]
    assert.deepEqual(
      seen.map(({ status }) => status),
      [200, 200],
    )
    const { status, headers, text } = await get({ 'x-user': 'ann' })
    assert.equal(status, 429, text)
    assert.deepEqual(
      ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((name) =>
        headers.get(name),
      ),
      ['42', '2', '0', '42'],
    )
    assert.equal((await get({ 'x-user': 'bob' })).status, 200)
    assert.equal(asked[0]?.domain, 'shop')
    const series = 'portcullis_rate_limit_decisions_total{policy="route:all",outcome="limited"}'
    assert.equal(running?.metric(series), 1)
  })

  it('counts requests without a value as one', async () => {
    await serve(limiting([USER]))
    limits = { 'user=': 1 }
    assert.deepEqual([(await get()).status, (await get()).status], [200, 429])
  })

  it('sends several descriptors, with a cost for each', async () => {
    const path = { entries: [{ key: 'path', value: 'request.path' }], cost: '5' }
    await serve(limiting([USER, path]))
    limits = { 'path=/': 9 }
    assert.equal((await get({ 'x-user': 'ann' })).status, 200)
    assert.equal((await get({ 'x-user': 'ann' })).status, 429)
    assert.deepEqual([counters.get('user=ann'), counters.get('path=/')], [2, 10])
  })

  it('counts a cost that is not an integer as one', async () => {
    await serve(limiting([{ ...USER, cost: "request.headers['x-cost']" }]))
    for (const cost of ['7', '-1', '']) await get({ 'x-user': 'ann', 'x-cost': cost })
    assert.equal(counters.get('user=ann'), 3)
  })

  it('applies headers that the service adds, in place of those of the client', async () => {
    await serve(limiting([USER]))
    more = {
      requestHeadersToAdd: [{ key: 'x-quota', value: 'gold' }],
      responseHeadersToAdd: [{ key: 'x-left', value: '3' }],
    }
    const { headers } = await get({ 'x-user': 'ann', 'x-quota': 'forged' })
    assert.equal(headers.get('x-left'), '3')
    assert.equal(backendHeaders['x-quota'], 'gold')
    more = { requestHeadersToAdd: [{ key: 'x-quota', rawValue: Buffer.from('a\r\nx: y') }] }
    assert.equal((await get({ 'x-user': 'ann' })).status, 503)
  })

  it('sends the body of the service with 429', async () => {
    await serve(limiting([USER]))
    limits = { 'user=ann': 0 }
    more = {
      rawBody: Buffer.from('slow down, Ann'),
      responseHeadersToAdd: [{ key: 'x-a', value: 'b' }],
    }
    const { status, headers, text } = await get({ 'x-user': 'ann' })
    assert.deepEqual([status, headers.get('x-a'), text], [429, 'b', 'slow down, Ann'])
  })

  it('rejects with 503 if the service cannot be called, by default', async () => {
    const nowhere = { host: `127.0.0.1:${await freePort()}` }
    await serve(limiting([USER], nowhere))
    const { status, headers } = await get()
    assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
    await serve(limiting([USER], { ...nowhere, failureMode: 'failOpen' }))
    assert.equal((await get()).status, 200)
    hangs = true
    await serve(limiting([USER], { timeout: '100ms' }))
    assert.equal((await get()).status, 503)
    hangs = false
    await serve(limiting([USER]))
    more = { overallCode: 0 }
    assert.equal((await get()).status, 503)
  })

  it('is conditional if configured', async () => {
    const { remoteRateLimit } = limiting([USER])
    const condition = "request.path == '/other'"
    await serve({ remoteRateLimit: { conditional: [{ condition, ...remoteRateLimit }] } })
    await get()
    assert.equal(asked.length, 0)
  })

  for (const [cost, counted] of [
    ['uint(llm.totalTokens * 3)', 36],
    ['llm.totalTokens * 2', 24],
    ['double(llm.totalTokens) + 0.5', 13],
    // Without a price there is no cost.
    ['uint(llm.cost.total * 1000000.0)', 12],
  ] as const) {
    it(`reports ${cost} after a call`, async () => {
      await serve(limiting([{ ...USER, type: 'tokens', cost }]), true)
      counters.clear()
      limits = { 'user=ann': 1_000 }
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-user': 'ann' },
        body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }),
      })
      await response.text()
      assert.equal(response.status, 200)
      await until('the report', () => (counters.get('user=ann') ?? 0) > 0)
      assert.equal(counters.get('user=ann'), counted)
    })
  }

  it('reports the tokens of a call after it, and checks before it without taking any', async () => {
    await serve(limiting([{ ...USER, type: 'tokens' }]), true)
    models.arrived.length = 0
    limits = { 'user=ann': 12 }
    const call = () =>
      fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-user': 'ann' },
        body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }),
      }).then(async (response) => [response.status, await response.text()] as const)
    const [status, text] = await call()
    assert.equal(status, 200, text)
    await until('the report', () => counters.get('user=ann') === 12)
    assert.equal((await call())[0], 429)
    assert.equal(models.arrived.length, 1)
  })
})
