import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalExactJson, exactJson } from './json-exact.ts'
import { readJson } from './json-read.ts'

const EXACT = [
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775808',
  '18446744073709551615',
  '{"n":[9007199254740993,{"m":-9223372036854775808}]}',
  '[0,-1,0.5,1e+300,"x",null,true]',
]

describe('exact JSON', () => {
  for (const text of EXACT) {
    it(`writes ${text} as it was read`, () => {
      assert.equal(exactJson(readJson(text)), text)
    })
  }

  it('keeps a large double apart from the integer with the same digits', () => {
    const [double, integer] = [readJson('1e17'), readJson('100000000000000000')]
    assert.equal(exactJson(double), '100000000000000000.0')
    assert.equal(exactJson(integer), '100000000000000000')
  })

  it('has one canonical text for members in any order and numbers of any size', () => {
    const text = canonicalExactJson(
      readJson('{"b":18446744073709551615,"a":{"d":9007199254740993,"c":"\\u0078"}}'),
    )
    assert.equal(text, '{"a":{"c":"x","d":9007199254740993},"b":18446744073709551615}')
    const reordered = readJson('{"a":{"c":"x","d":9007199254740993},"b":18446744073709551615}')
    assert.equal(canonicalExactJson(reordered), text)
  })

  it('keeps a member with the name __proto__', () => {
    assert.equal(canonicalExactJson(readJson('{"b":1,"__proto__":2}')), '{"__proto__":2,"b":1}')
  })
})
