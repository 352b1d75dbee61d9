import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { counted, fuel } from './fuel.ts'
import {
  beginsWith,
  findLastText,
  findText,
  finishesWith,
  holdsText,
  splitText,
} from './text-search.ts'

describe('string search', () => {
  it('finds what JavaScript finds, also on the slow path', () => {
    const few = fc.constantFrom('a', 'b', 'ab')
    const long = fc.array(few, { minLength: 20, maxLength: 60 }).map((parts) => parts.join(''))
    const property = fc.property(long, long, fc.nat(20), (end, part, from) => {
      // The part twice within many characters: longer than what the short path searches.
      const text = `${'ab'.repeat(9_000)}${part}${end}${part}${'b'.repeat(12_000)}`
      const search = `${'ab'.repeat(9)}${part}`
      assert.equal(findText(text, search, from), text.indexOf(search, from))
      assert.equal(findLastText(text, search, from * 1_000), text.lastIndexOf(search, from * 1_000))
      assert.equal(findLastText(text, part, text.length), text.lastIndexOf(part))
      assert.deepEqual(splitText(text, part, 3), text.split(part, 3))
      assert.deepEqual(splitText(text, search, 99), text.split(search, 99))
      assert.equal(holdsText(text, `${search}c`), false)
    })
    fc.assert(property, { numRuns: 30 })
  })

  it('does not search once the budget is spent', () => {
    const text = `${'forbidde'.repeat(10_000)}n`
    const found = (budget: number) => {
      const holds = counted({}, budget, () => holdsText(text, 'forbidden'))
      return [holds, fuel.left < 0]
    }
    assert.deepEqual(found(10_000), [true, false])
    assert.deepEqual(found(4_000), [false, true], 'an expression that is over its bound')
  })

  it('compares long prefixes and suffixes', () => {
    const long = 'x'.repeat(1_000)
    assert.deepEqual([beginsWith(`${long}y`, long), finishesWith(`y${long}`, long)], [true, true])
    assert.deepEqual([beginsWith(`y${long}`, long), finishesWith(`${long}y`, long)], [false, false])
    assert.deepEqual([beginsWith('x', long), finishesWith('x', long)], [false, false])
  })
})
