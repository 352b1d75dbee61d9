import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { fuzz } from '../../test/fuzz/runs.ts'
import { parseIp } from '../cel/values/ip.ts'
import { readJson } from '../cel/values/json-read.ts'
import { Double } from '../cel/values/number.ts'
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
      const { value: own, isCut: isOwnCut } = showValue(value as Value)
      assert.deepEqual({ value: own, isCut: isOwnCut }, { value: shown, isCut })
    })
  }

  for (const value of [2n ** 63n, new Double(1), -0, 1e17, Number.NaN, parseIp('::1') as Value]) {
    it(`says that JSON gives back another value than ${String(value)}`, () => {
      assert.equal(showValue(value).inexact, true)
      assert.equal(showValue({ a: [value] }).inexact, true)
    })
  }

  it('is read back unchanged unless marked as inexact', () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(1e17, 1e21, 1e300, 0.5))
    const property = fc.property(fc.oneof(fc.jsonValue(), number), (json) => {
      const { value, isCut, inexact } = showValue(json as Value)
      if (!isCut && !inexact) assert.deepEqual(readJson(JSON.stringify(value)), json)
    })
    fc.assert(property, fuzz(0.5))
  })

  it('has a bounded length and is well-formed', () => {
    const property = fc.property(fc.jsonValue(), anyText({ maxLength: 600 }), (json, text) => {
      const shown = JSON.stringify(showValue([json, text] as Value).value)
      assert.ok(shown.isWellFormed())
      assert.ok(shown.length < 20 ** 4 * 600)
    })
    fc.assert(property, fuzz(0.2))
  })
})
