import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { headersOf } from '../../../test/program/models.ts'
import { ScriptedServices } from '../../../test/program/scripted-services.ts'
import { decodeEnvoy, encodeEnvoy } from '../../../test/proxy/envoy-messages.ts'
import { Double, Uint } from '../../cel/values/number.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { Attachments, CompileContext } from '../define.ts'
import { policySchema } from '../schema.ts'
import { compileRemoteRateLimit } from './compile.ts'
import type { RemoteRateLimit } from './schema.ts'

const [OK, OVER] = [1, 2]

describe('remoteRateLimit', () => {
  const services = new ScriptedServices()
  /** The values of expressions, by their text. */
  let values: Readonly<Record<string, unknown>> = {}
  const context = {
    ...services.context,
    compile: (text: string) => ({ evaluate: () => () => values[text] }),
  } as unknown as CompileContext

  beforeEach(() => {
    services.arrived.length = 0
    values = { user: 'ann' }
    says({ overallCode: OK })
  })

  function says(
    message: object,
    trailers: Readonly<Record<string, string>> = { 'grpc-status': '0' },
  ) {
    const content = encodeEnvoy('RateLimitResponse', message)
    const body = Buffer.alloc(5 + content.length)
    body.writeUInt32BE(content.length, 1)
    body.set(content, 5)
    services.respondWith = () => ({ body, trailers })
  }

  const USER = { entries: [{ key: 'user', value: 'user' }] }
  function open(descriptors: readonly object[] = [USER], more: object = {}) {
    const written = { host: 'limits:1', domain: 'd', descriptors, ...more }
    const value = policySchema('remoteRateLimit').parse(written)
    const policies = [{ value } as ValidPolicy] as unknown as Attachments<RemoteRateLimit>
    return compileRemoteRateLimit(policies, context)
  }

  async function run(part = open()) {
    const exchange = exchangeOf()
    return { reply: await part.step?.(exchange), exchange }
  }

  interface Asked {
    readonly domain: string
    readonly hitsAddend?: number
    readonly descriptors: readonly {
      readonly entries: readonly { readonly key: string; readonly value: string }[]
      readonly hitsAddend?: { readonly value: unknown }
    }[]
  }
  const asked = (at = 0) => {
    const { bytes } = services.arrived[at] ?? assert.fail('no request')
    const {
      domain,
      hitsAddend = 0,
      descriptors,
    } = decodeEnvoy('RateLimitRequest', Buffer.from(bytes).subarray(5)) as unknown as Asked
    return {
      domain,
      hits: hitsAddend,
      entries: descriptors.map(({ entries }) =>
        entries.map((one) => `${one.key}=${one.value ?? ''}`),
      ),
      own: descriptors.map((one) =>
        one.hitsAddend === undefined ? undefined : Number(one.hitsAddend.value ?? 0),
      ),
    }
  }

  it('sends the descriptors of a request; entries without a value are empty', async () => {
    values = { user: 'ann', number: 7n }
    const entries = ['user', 'number', 'absent'].map((value) => ({ key: `k-${value}`, value }))
    const { reply } = await run(open([{ entries }, USER]))
    assert.equal(reply, undefined)
    assert.deepEqual(asked(), {
      domain: 'd',
      hits: 1,
      entries: [['k-user=ann', 'k-number=7', 'k-absent='], ['user=ann']],
      own: [undefined, undefined],
    })
    assert.equal(
      services.arrived[0]?.path,
      '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    )
  })

  for (const [cost, hits] of [
    [3, 3],
    [3n, 3],
    [new Uint(3n), 3],
    [new Double(3), 3],
    [2.1, 3],
    [0, 0],
    [2 ** 40, 0xffff_ffff],
    [-1, 1],
    [Number.NaN, 1],
    ['3', 1],
    [undefined, 1],
  ] as const) {
    it(`a cost of ${typeof cost} ${typeof cost === 'object' ? cost.value : cost} counts as ${hits}`, async () => {
      values = { cost }
      await run(open([{ ...USER, cost: 'cost' }]))
      // 0 for all descriptors would count as 1.
      assert.deepEqual([asked().hits, asked().own], hits === 0 ? [0, [0]] : [hits, [undefined]])
    })
  }

  it('descriptors with different costs have their own', async () => {
    values = { cost: 3 }
    await run(open([USER, { ...USER, cost: 'cost' }]))
    assert.deepEqual([asked().hits, asked().own], [0, [1, 3]])
  })

  it('applies the headers of the service to an admitted request and to its response', async () => {
    const header = (key: string, value: string) => ({ key, value })
    says({
      overallCode: OK,
      requestHeadersToAdd: [header('x-tier', 'gold')],
      responseHeadersToAdd: [header('x-left', '9')],
    })
    const { exchange } = await run()
    assert.deepEqual(exchange.requestEdit.added, [['x-tier', 'gold']])
    assert.deepEqual(exchange.responseEdit.added, [['x-left', '9']])
  })

  for (const [what, more, headers, body] of [
    ['nothing else', {}, {}, ''],
    [
      'a limit and the time of its reset',
      {
        statuses: [
          {
            code: OVER,
            currentLimit: { requestsPerUnit: 5 },
            durationUntilReset: { seconds: 7, nanos: 1 },
          },
        ],
      },
      {
        'retry-after': '8',
        'ratelimit-limit': '5',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '8',
      },
      '',
    ],
    [
      'several limits: that which takes longest, of those that are exceeded',
      {
        statuses: [
          { code: OVER, currentLimit: { requestsPerUnit: 5 }, durationUntilReset: { seconds: 7 } },
          { code: OVER, currentLimit: { requestsPerUnit: 6 }, durationUntilReset: { seconds: 9 } },
          { code: OVER, currentLimit: { requestsPerUnit: 7 }, durationUntilReset: { seconds: 9 } },
          { code: OK, currentLimit: { requestsPerUnit: 8 }, durationUntilReset: { seconds: 99 } },
        ],
      },
      {
        'retry-after': '9',
        'ratelimit-limit': '6',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '9',
      },
      '',
    ],
    [
      'a body and headers',
      {
        rawBody: Buffer.from('{}'),
        responseHeadersToAdd: [
          { key: 'Content-Type', value: 'application/json' },
          { key: 'x-why', value: 'because' },
        ],
      },
      { 'x-why': 'because' },
      '{} application/json',
    ],
    ['a body without a type', { rawBody: Buffer.from('no') }, {}, 'no text/plain; charset=utf-8'],
  ] as const) {
    it(`a request over the limit with ${what}: 429`, async () => {
      says({ overallCode: OVER, ...more })
      const { reply } = await run()
      assert.deepEqual([reply?.status, reply?.reason], [429, 'rate-limit'])
      assert.deepEqual(headersOf(reply), headers)
      if (body === '') assert.equal(reply?.contentType, '')
      else assert.equal(`${Buffer.from(reply?.body as Uint8Array)} ${reply?.contentType}`, body)
    })
  }

  const bad = { overallCode: OK, requestHeadersToAdd: [{ key: 'x-user', value: 'a\nb' }] }
  for (const [what, act, detail] of [
    ['does not respond', () => (services.respondWith = () => ({ failure: 'timeout' })), 'timeout'],
    ['has a status', () => (services.respondWith = () => ({ status: 503 })), 'status 503'],
    [
      'has a gRPC status',
      () => says({ overallCode: OK }, { 'grpc-status': '14' }),
      'gRPC status 14',
    ],
    ['has no gRPC status', () => says({ overallCode: OK }, {}), 'gRPC status missing'],
    ['has no verdict', () => says({}), 'code 0'],
    ['has an unknown verdict', () => says({ overallCode: 3 }), 'code 3'],
    ['sends headers that cannot be forwarded', () => says(bad), 'header x-user cannot be sent'],
  ] as const) {
    it(`a service that ${what}: 503, or admitted if so configured`, async () => {
      act()
      const { reply } = await run(open([USER], { failureMode: 'Deny' }))
      assert.deepEqual([reply?.status, headersOf(reply)], [503, { 'retry-after': '1' }])
      assert.equal(reply?.detail, `unavailable: ${detail}`)
      const { reply: none, exchange } = await run(open([USER], { failureMode: 'Allow' }))
      assert.deepEqual([none, exchange.requestEdit.added], [undefined, []])
    })
  }

  describe('of tokens', () => {
    const TOKENS = { ...USER, type: 'tokens' }
    const limitOf = async (part = open([TOKENS])) => {
      const { exchange } = await run(part)
      const [limit = assert.fail()] = exchange.usageLimits
      return limit
    }

    it('asks without taking any first, and reports what was used', async () => {
      const limit = await limitOf()
      assert.equal(services.arrived.length, 0)
      assert.equal(await limit.take(500), undefined)
      assert.deepEqual([asked().hits, asked().own], [0, [0]])
      says({ overallCode: OVER })
      assert.equal((await limit.take(500))?.status, 429)
      services.arrived.length = 0
      limit.settle(0)
      limit.settle(12.5)
      await new Promise(setImmediate)
      assert.equal(services.arrived.length, 1)
      assert.equal(asked().hits, 13)
    })

    it('reports the computed cost in place of the tokens', async () => {
      const limit = await limitOf(open([{ ...TOKENS, cost: 'cost' }, TOKENS]))
      values = { user: 'ann', cost: new Uint(3n) }
      limit.settle(12)
      await new Promise(setImmediate)
      assert.deepEqual(asked().own, [3, 12])
    })

    it('are asked beside requests', async () => {
      const limit = await limitOf(open([USER, TOKENS]))
      assert.equal(asked().entries.length, 1)
      await limit.take(1)
      assert.equal(asked(1).entries.length, 1)
    })
  })
})
