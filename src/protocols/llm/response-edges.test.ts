import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type EdgeNames, readEdges } from './response-edges.ts'

const NAMES = { id: 'id', model: 'model', usage: 'usage' }

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function edges(text: string, names: EdgeNames = NAMES) {
  return readEdges(bytesOf(text), names)
}

describe('the edges of a response', () => {
  it('contain model and usage without the middle', () => {
    const content = 'word "usage": {"prompt_tokens": 99} \\ \u00e4 '.repeat(500)
    const choices = [{ index: 0, message: { role: 'assistant', content } }]
    const usage = { prompt_tokens: 7, completion_tokens: 3, details: { cached: 2 } }
    const body = { id: 'c-1', object: 'x', created: 1, model: 'm', choices, usage, tier: 'default' }
    const found = edges(JSON.stringify(body, undefined, 2))
    assert.equal(found?.['model'], 'm')
    assert.equal(found?.['id'], 'c-1')
    assert.deepEqual(found?.['usage'], usage)
  })

  it('contain those that vendors put last, and those of embeddings', () => {
    const gemini = '{"candidates":[{}],"usageMetadata":{"a":1},"modelVersion":"g","responseId":"r"}'
    const names = { id: 'responseId', model: 'modelVersion', usage: 'usageMetadata' }
    assert.equal(edges(gemini, names)?.['modelVersion'], 'g')
    const vectors = '{"object":"list","data":[1,2],"model":"e","usage":{"prompt_tokens":4}}'
    const found = edges(vectors, { model: 'model', usage: 'usage' })
    assert.equal(found?.['model'], 'e')
    assert.deepEqual(found?.['usage'], { prompt_tokens: 4 })
  })

  const UNKNOWN = {
    'usage of something inside': '{"id":"i","model":"m","x":{"usage":{"a":1}}}',
    'usage before something that has an inside':
      '{"id":"i","model":"m","usage":{"a":1},"x":{"b":{"c":1}}}',
    'a name that ends like it': String.raw`{"id":"i","model":"m","x\"usage":{"a":1}}`,
    'words in the usage that have escapes': String.raw`{"id":"i","model":"m","usage":{"a":"\"}"}}`,
    'a usage that is null': '{"id":"i","model":"m","usage":null}',
    'no model': '{"id":"i","usage":{"a":1}}',
    'a model with escapes': String.raw`{"id":"i","model":"\u006d","usage":{"a":1}}`,
    'a response that was cut': '{"id":"i","model":"m","usage":{"a":1}',
    'something behind it': '{"id":"i","model":"m","usage":{"a":1}} {}',
    nothing: '',
  }
  for (const [what, text] of Object.entries(UNKNOWN)) {
    it(`do not tell: ${what}`, () => assert.equal(edges(text), undefined))
  }

  it('agree with parsing, or yield nothing', () => {
    const key = fc.constantFrom('id', 'model', 'usage', 'x', 'y"usage', 'usage ', 'z', 'ä', 'n')
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('', 'm', 'usage', '"usage":{"a":1}', '\\', 'ü', '}', ',"model":"n"'),
        fc.constantFrom(0, -1.5e-7, 12, true, null),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    const usual = (value: fc.Arbitrary<unknown>) =>
      fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: tree })
    const members = fc
      .tuple(
        usual(fc.constantFrom('i', 'chat-1')),
        usual(fc.constantFrom('m', 'n/m')),
        usual(fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(fc.nat(), fc.constant({ c: 1 })))),
        fc.dictionary(key, tree, { maxKeys: 3 }),
      )
      .map(([id, model, usage, others]) => Object.entries({ ...others, id, model, usage }))
      .chain((all) => fc.shuffledSubarray(all, { minLength: Math.max(0, all.length - 1) }))
    const indent = fc.constantFrom(undefined, 1, '\t')
    let known = 0
    fc.assert(
      fc.property(members, indent, (entries, space) => {
        const text = JSON.stringify(Object.fromEntries(entries), undefined, space)
        const found = edges(text)
        if (found === undefined) return
        known++
        const parsed = JSON.parse(text)
        for (const name of Object.values(NAMES)) assert.deepEqual(found[name], parsed[name])
      }),
      { numRuns: 5_000 },
    )
    assert.ok(known > 250, `${known} of 5,000 were known`)
  })
})
