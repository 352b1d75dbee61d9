import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { usageFrom } from '../usage.ts'
import { compileCatalog, formatCost, namesOf } from './catalog.ts'
import { modelCatalog } from './schema.ts'

const CATALOG = modelCatalog.parse({
  providers: {
    openai: {
      models: {
        'gpt-4o': {
          rates: { input: '2.5', output: '10', cacheRead: '1.25' },
          maxOutputTokens: 16384,
        },
        'gpt-4o-mini': { rates: { input: '0.15', output: '0.6' } },
        unpriced: {},
        'only-input': { rates: { input: '1' } },
      },
    },
    gemini: {
      models: {
        'gemini-2.5-pro': {
          rates: { input: '1.25', output: '10', cacheRead: '0.31' },
          tiers: [
            { contextOver: 200000, rates: { input: '2.5', output: '15' } },
            { contextOver: 500000, rates: { input: '5' } },
          ],
        },
      },
    },
    bedrock: {
      models: {
        'claude-sonnet-4-5': {
          rates: { input: '3', output: '15', cacheWrite: '3.75', reasoning: '20' },
        },
      },
    },
  },
})
const catalog = compileCatalog([CATALOG])

function cost(provider: string, model: string, usage: Parameters<typeof usageFrom>[0]) {
  const found = catalog.find(provider, model)?.costOf(usageFrom(usage))
  return found === undefined ? undefined : formatCost(found.total)
}

describe('cost', () => {
  it('counts each token once, at its own rate', () => {
    assert.equal(cost('openai', 'gpt-4o', { input: 1000, cacheRead: 400, output: 100 }), '0.003')
    assert.equal(cost('openai', 'gpt-4o-mini', { input: 1, output: 1 }), '0.00000075')
    const usage = { input: 100, cacheWrite: 50, output: 30, reasoning: 10 }
    assert.equal(cost('bedrock', 'claude-sonnet-4-5', usage), '0.0008375')
  })

  it('uses the rates of the tier that the prompt exceeds', () => {
    assert.equal(cost('gemini', 'gemini-2.5-pro', { input: 200000, output: 0 }), '0.25')
    assert.equal(cost('gemini', 'gemini-2.5-pro', { input: 200001, output: 0 }), '0.5000025')
    assert.equal(cost('gemini', 'gemini-2.5-pro', { input: 600000, output: 1 }), '3.000015')
    assert.equal(
      cost('gemini', 'gemini-2.5-pro', { input: 600000, cacheRead: 600000, output: 0 }),
      '0.186',
    )
  })

  it('is unknown if a part has no price', () => {
    assert.equal(cost('openai', 'unpriced', { input: 1 }), undefined)
    assert.equal(cost('openai', 'only-input', { input: 1, output: 1 }), undefined)
    assert.equal(cost('openai', 'only-input', { input: 1 }), '0.000001')
    assert.equal(cost('nobody', 'gpt-4o', { input: 1 }), undefined)
  })

  it('is exact, as with integer arithmetic', () => {
    const rate = fc.tuple(fc.nat(999), fc.nat(999_999))
    fc.assert(
      fc.property(rate, rate, fc.nat(1e9), fc.nat(1e9), ([a, b], [c, d], input, output) => {
        const text = (whole: number, part: number) => `${whole}.${String(part).padStart(6, '0')}`
        const models = { m: { rates: { input: text(a, b), output: text(c, d) } } }
        const found = compileCatalog([{ providers: { p: { models } } }]).find('p', 'm')
        const total =
          BigInt(a * 1_000_000 + b) * BigInt(input) + BigInt(c * 1_000_000 + d) * BigInt(output)
        assert.equal(found?.costOf(usageFrom({ input, output }))?.total, total)
        const [whole = '', fraction = ''] = formatCost(total).split('.')
        assert.equal(BigInt(whole + fraction.padEnd(12, '0')), total)
      }),
    )
  })

  it('prefers later catalogs, model by model', () => {
    const later = modelCatalog.parse({
      providers: { openai: { models: { 'gpt-4o': { rates: { input: '1', output: '1' } } } } },
    })
    const both = compileCatalog([CATALOG, later])
    const usage = usageFrom({ input: 1_000_000 })
    assert.equal(formatCost(both.find('openai', 'gpt-4o')?.costOf(usage)?.total ?? 0n), '1')
    assert.ok(both.find('openai', 'gpt-4o-mini') !== undefined)
  })
})

describe('model names', () => {
  for (const [provider, model, name] of [
    ['openai', 'gpt-4o', 'gpt-4o'],
    ['openai', 'gpt-4o-2024-08-06', 'gpt-4o'],
    ['openai', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini'],
    ['openai', 'gpt-4o-audio', undefined],
    ['openai', 'gpt-4', undefined],
    ['openai', 'gpt-4o-min', undefined],
    ['gemini', 'models/gemini-2.5-pro-preview-06-05', 'gemini-2.5-pro'],
    ['gemini', 'gemini-2.5-pro-001', 'gemini-2.5-pro'],
    ['gemini', 'gemini-2.5-pro-latest', 'gemini-2.5-pro'],
    ['gemini', 'gemini-2.5', undefined],
    ['bedrock', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
    [
      'bedrock',
      'arn:aws:bedrock:eu:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      'claude-sonnet-4-5',
    ],
    ['bedrock', 'claude-sonnet-4-5@20250929', 'claude-sonnet-4-5'],
    ['bedrock', 'claude-sonnet-4', undefined],
  ] as const) {
    it(`${model} is ${name ?? 'not known'}`, () => {
      const found = catalog.find(provider, model)
      assert.equal(found?.name, name)
      if (found !== undefined) assert.equal(found.isExact, model === name)
    })
  }

  it('yield few candidates, whatever a client sends', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (name) => namesOf(name).length <= 24))
  })
})

describe('the catalog', () => {
  for (const rate of ['1e3', '-1', '1.', '.5', '01', '1.1234567', ' 1', '1 ', '', 'NaN', '1,5']) {
    it(`rejects the rate ${JSON.stringify(rate)}`, () => {
      const models = { m: { rates: { input: rate } } }
      assert.equal(modelCatalog.safeParse({ providers: { p: { models } } }).success, false)
    })
  }

  it('rejects unknown keys', () => {
    assert.equal(
      modelCatalog.safeParse({ providers: { p: { models: { m: { rate: {} } } } } }).success,
      false,
    )
  })
})
