import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UsageLimit } from '../exchange/usage-limit.ts'
import { estimateOf } from './call-estimate.ts'
import { attributesOf, readObject } from './model-attributes.ts'
import type { CallTarget } from './model-call.ts'

const TARGET = { name: 'p', options: {}, catalogNames: [], computed: [] } as unknown as CallTarget

/** Tokens that are reserved for the output of a call, in addition to its prompt. */
function outputOf(text: string, budget: string | undefined): number {
  const read = readObject(Buffer.from(text))
  assert.ok('object' in read)
  const summary = { model: 'm', stream: false, body: {} }
  const attributes = attributesOf(summary, read.object, 0)
  const limit = { measure: 'tokens', budget } as unknown as UsageLimit
  const call = { model: 'm', operation: 'generate', attributes, computed: () => ({}) } as const
  return estimateOf(limit, call, [TARGET])
}

describe('the output tokens a call may use', () => {
  for (const [text, tokens] of [
    ['{"max_tokens":100}', 100],
    ['{"max_tokens":100.0}', 100],
    ['{"max_tokens":1e3}', 1_000],
    ['{"max_completion_tokens":1,"max_tokens":5000}', 5_000],
    ['{"max_completion_tokens":5000,"max_tokens":1}', 5_000],
    ['{"max_output_tokens":7,"max_tokens":1}', 7],
    ['{"max_tokens":1,"generationConfig":{"maxOutputTokens":70}}', 70],
    ['{"generationConfig":{"maxOutputTokens":1},"generation_config":{"max_output_tokens":9}}', 9],
    ['{"max_tokens":9007199254740993}', 2 ** 53],
    ['{"max_tokens":10,"n":3}', 30],
    ['{"max_tokens":10,"n":3.0}', 30],
    ['{"generationConfig":{"maxOutputTokens":10,"candidateCount":4}}', 40],
    ['{"generation_config":{"max_output_tokens":10,"candidate_count":4}}', 40],
    ['{"max_tokens":0}', 4_096],
    ['{"max_tokens":-1}', 4_096],
    ['{"max_tokens":"5"}', 4_096],
    ['{}', 4_096],
  ] as const) {
    it(`${text}: ${tokens}`, () => assert.equal(outputOf(text, 'team'), tokens))
  }

  it('are those that the client requests if limits refill soon', () => {
    assert.equal(outputOf('{"max_tokens":1e3}', undefined), 1_000)
    assert.equal(outputOf('{}', undefined), 0)
  })
})
