import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { reasonOf } from './reasons.ts'
import { REFUSALS, type RefusalWord, refusalOf, refuse } from './rejections.ts'

describe('a refusal', () => {
  it('is a negative number, one for each word, with a status that has a reason', () => {
    const words = Object.keys(REFUSALS) as RefusalWord[]
    const codes = new Set(words.map(refuse))
    assert.equal(codes.size, words.length)
    for (const word of words) {
      assert.ok(refuse(word) < 0)
      const { status } = refusalOf(refuse(word))
      assert.deepEqual(refusalOf(refuse(word)), { word, status: REFUSALS[word] })
      assert.notEqual(reasonOf(status), '')
    }
  })
  it('is no other number', () => {
    for (const code of [0, 1, -1000]) assert.throws(() => refusalOf(code), RangeError)
  })
})
