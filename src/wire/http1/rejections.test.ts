import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { reasonOf } from './reasons.ts'
import { REJECTIONS, type RejectionWord, reject, rejectionOf } from './rejections.ts'

describe('a rejection', () => {
  it('is a negative number, unique for each word, with a valid status', () => {
    const words = Object.keys(REJECTIONS) as RejectionWord[]
    const codes = new Set(words.map(reject))
    assert.equal(codes.size, words.length)
    for (const word of words) {
      assert.ok(reject(word) < 0)
      const { status } = rejectionOf(reject(word))
      assert.deepEqual(rejectionOf(reject(word)), { word, status: REJECTIONS[word] })
      assert.notEqual(reasonOf(status), '')
    }
  })
  it('is no other number', () => {
    for (const code of [0, 1, -1000]) assert.throws(() => rejectionOf(code), RangeError)
  })
})
