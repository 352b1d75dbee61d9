import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ModelCall } from '../program/model-call.ts'
import type { PricedCall } from '../program/model-prices.ts'
import type { Endpoint } from '../protocols/llm/dialect.ts'
import type { Usage } from '../protocols/llm/usage.ts'
import { usageFrom } from '../protocols/llm/usage.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { countCall, modelFields } from './model-record.ts'
import type { RequestState } from './request-state.ts'

interface Ended {
  readonly operation?: Endpoint['operation']
  readonly usage?: Usage | undefined
  readonly firstTokenAt?: number
  readonly status?: number
  readonly reason?: string
  readonly priced?: PricedCall
  readonly sentAt?: number
  readonly hasResponse?: boolean
}

/** A call that is over: sent at 1,000 ms unless said otherwise. */
function stateOf(ended: Ended): RequestState {
  const { operation = 'generate', usage, firstTokenAt = 0, priced } = ended
  const { status = 200, reason = 'upstream', sentAt = 1_000, hasResponse = true } = ended
  const response = { summary: { usage, model: 'gpt-5-2026' }, firstTokenAt, dropped: '' }
  const call: Partial<ModelCall> = {
    endpoint: { operation } as Endpoint,
    response: hasResponse ? (response as unknown as ModelCall['response']) : undefined,
    providerName: 'openai',
    modelLabel: 'gpt',
    model: 'gpt-5',
    priced,
    budgetDecisions: [],
    guardChecks: new Map(),
  }
  const exchange = { status, reason }
  const route = { name: 'talk' }
  const selection = { chosen: { provider: 'first' } }
  return { call, exchange, route, selection, sentAt } as unknown as RequestState
}

/** The series of `countCall` that are not 0, by the labels that differ, when it is 4,000 ms. */
function counted(ended: Ended): Record<string, number> {
  const metrics = createMetrics()
  countCall(metrics, stateOf(ended), 4_000)
  const values: Record<string, number> = {}
  for (const { definition, series } of metrics.read()) {
    const name = definition.name.replace(/^portcullis_llm_|_total$/g, '')
    if (!definition.name.includes('_llm_')) continue
    for (const one of series) {
      const rest = one.labels.filter((label) => !['talk', 'first', 'gpt'].includes(label))
      const value = 'value' in one ? one.value : one.sum
      if (value !== 0) values[[name, ...rest].join(' ')] = value
    }
  }
  return values
}

const USAGE = usageFrom({ input: 100, output: 31, cacheRead: 60, cacheWrite: 10, reasoning: 5 })

describe('metrics of a model call', () => {
  for (const [reason, status, outcome] of [
    ['upstream', 200, 'success'],
    ['upstream', 399, 'success'],
    ['upstream', 400, 'refused'],
    ['upstream', 428, 'refused'],
    ['upstream', 429, 'rate-limited'],
    ['upstream', 430, 'refused'],
    ['upstream', 499, 'refused'],
    ['upstream', 500, 'failed'],
    ['client-gone', 200, 'cancelled'],
    ['upstream-timeout', 504, 'timeout'],
    ['request-timeout', 504, 'timeout'],
    ['upstream-connect', 503, 'unreachable'],
    ['upstream-reset', 200, 'failed'],
    ['upstream-invalid', 502, 'failed'],
    ['authorization', 403, 'failed'],
  ] as const) {
    it(`a call that ended with ${reason} and ${status} counts as ${outcome}`, () => {
      const values = counted({ reason, status })
      assert.deepEqual(values, { [`requests chat ${outcome}`]: 1, request_duration_seconds: 3 })
    })
  }

  for (const [operation, word] of [
    ['embed', 'embeddings'],
    ['rerank', 'rerank'],
    ['countTokens', 'count-tokens'],
    ['state', 'state'],
    ['other', 'other'],
  ] as const) {
    it(`${operation} counts as ${word}`, () => {
      assert.equal(counted({ operation })[`requests ${word} success`], 1)
    })
  }

  it('count each token once, by where it came from', () => {
    const {
      [`requests chat success`]: _,
      request_duration_seconds: __,
      ...tokens
    } = counted({
      usage: USAGE,
    })
    assert.deepEqual(tokens, {
      'tokens input none': 30,
      'tokens input read': 60,
      'tokens input write': 10,
      'tokens output none': 31,
    })
  })

  it('count no negative tokens if the provider reports more cached ones than input', () => {
    const values = counted({ usage: { ...USAGE, cacheRead: 101 } })
    assert.equal(values['tokens input none'], undefined)
    assert.equal(values['tokens input read'], 101)
  })

  for (const [output, each] of [
    [31, 0.05],
    [2, 1.5],
    [1, undefined],
    [0, undefined],
  ] as const) {
    it(`of ${output} tokens, those after the first have a time of their own: ${each}`, () => {
      const values = counted({ usage: { ...USAGE, output }, firstTokenAt: 2_500 })
      assert.equal(values['time_to_first_token_seconds'], 1.5)
      assert.equal(values['time_per_output_token_seconds'], each)
    })
  }

  it('count the cost by direction, with the reasoning as output', () => {
    const cost = {
      total: 10_000_000_000_000n,
      output: 2_000_000_000_000n,
      reasoning: 1_000_000_000_000n,
    }
    const priced = { outcome: 'priced', cost } as unknown as PricedCall
    const values = counted({ usage: USAGE, priced })
    assert.deepEqual([values['cost_usd input'], values['cost_usd output']], [7, 3])
    assert.equal(values['cost_lookups priced'], 1)
  })

  it('do not count a call that reached no provider', () => {
    assert.deepEqual(counted({ sentAt: 0 }), {})
    assert.deepEqual(counted({ hasResponse: false }), {})
  })
})

describe('log fields of a model call', () => {
  /** The defined fields, without those that every call has. */
  function fieldsOf(ended: Ended): Record<string, unknown> {
    const always = ['operation.name', 'provider.name', 'request.model', 'response.model']
    const skipped = new Set(always.map((name) => `gen_ai.${name}`))
    const all = Object.entries(modelFields(stateOf(ended)))
    return Object.fromEntries(
      all
        .filter(([name, value]) => value !== undefined && !skipped.has(name))
        .map(([name, value]) => [name, JSON.parse(JSON.stringify(value))]),
    )
  }

  it('name the operation, the provider and both models', () => {
    const { 'gen_ai.operation.name': operation, ...rest } = modelFields(stateOf({}))
    assert.equal(operation, 'chat')
    assert.equal(rest['gen_ai.provider.name'], 'openai')
    assert.equal(rest['gen_ai.request.model'], 'gpt-5')
    assert.equal(rest['gen_ai.response.model'], 'gpt-5-2026')
  })

  it('have no field for a request that is no call', () => {
    assert.deepEqual(modelFields({ sentAt: 1 } as RequestState), {})
  })

  for (const [usage, expected] of [
    [undefined, {}],
    [usageFrom({}), { input: 0, output: 0 }],
    [
      USAGE,
      {
        input: 100,
        output: 31,
        'cache_read.input': 60,
        'cache_creation.input': 10,
        'reasoning.output': 5,
      },
    ],
    [
      usageFrom({ input: 1, output: 2, reasoning: 2 }),
      { input: 1, output: 2, 'reasoning.output': 2 },
    ],
  ] as const) {
    it(`have the tokens that were counted: ${JSON.stringify(expected)}`, () => {
      const entries = Object.entries(expected)
      const fields = entries.map(([name, value]) => [`gen_ai.usage.${name}_tokens`, value])
      assert.deepEqual(fieldsOf({ usage }), Object.fromEntries(fields))
    })
  }

  it('have the cost, and the time until the first token', () => {
    const cost = { total: 12_300_000_000n, output: 0n, reasoning: 0n }
    const priced = { outcome: 'priced', cost } as unknown as PricedCall
    assert.deepEqual(fieldsOf({ priced, firstTokenAt: 1_001.5 }), {
      'llm.cost': '0.0123',
      'llm.time_to_first_token': 1.5,
    })
  })
})
