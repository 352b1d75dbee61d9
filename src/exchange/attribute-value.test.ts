import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { fuzz } from '../../test/fuzz/runs.ts'
import { parseIp } from '../cel/values/ip.ts'
import type { Value } from '../cel/values/value.ts'
import { showValue } from './attribute-value.ts'

describe('a value in a record', () => {
  for (const [what, value, shown, isCut] of [
    ['text', 'alice', 'alice', false],
    ['a number', 7, 7, false],
    ['a large number', 2n ** 63n - 1n, '9223372036854775807', false],
    ['an address', parseIp('10.0.0.7') as Value, '10.0.0.7', false],
    ['a list', ['a', 'b'], ['a', 'b'], false],
    ['an object', { roles: ['a'] }, { roles: ['a'] }, false],
    ['long text', 'a'.repeat(300), `${'a'.repeat(256)}…`, true],
    [
      'a long list',
      Array.from({ length: 30 }, (_, i) => i),
      Array.from({ length: 20 }, (_, i) => i),
      true,
    ],
    ['what is deep', { a: { b: { c: { d: { e: 1 } } } } }, { a: { b: { c: { d: null } } } }, true],
  ] as const) {
    it(`is ${what}, ${isCut ? 'cut' : 'whole'}`, () => {
      assert.deepEqual(showValue(value as Value), { value: shown, isCut })
    })
  }

  it('is never long, and always well-formed', () => {
    const property = fc.property(fc.jsonValue(), anyText({ maxLength: 600 }), (json, text) => {
      const shown = JSON.stringify(showValue([json, text] as Value).value)
      assert.ok(shown.isWellFormed())
      assert.ok(shown.length < 20 ** 4 * 600)
    })
    fc.assert(property, fuzz(0.2))
  })
})
