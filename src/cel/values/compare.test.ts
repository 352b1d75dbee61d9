import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compare } from './compare.ts'
import { parseDuration } from './duration.ts'
import { parseIp } from './ip.ts'
import { Double, Uint } from './number.ts'
import { show } from './show.ts'
import { parseTimestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import type { Value } from './value.ts'

const LESS: readonly (readonly [Value, Value])[] = [
  [-1, 0],
  [1, 1.5],
  [1, new Double(2)],
  [-1, new Uint(0n)],
  [1, new Uint(2n ** 63n)],
  [-(2n ** 63n), new Uint(1n)],
  [new Uint(1n), 2n ** 60n],
  [new Uint(2n ** 64n - 1n), 18446744073709590000],
  [-(2n ** 63n), -(2n ** 63n) + 1n],
  [9007199254740991, 9007199254740993n],
  [9007199254740992n, 9007199254740993n],
  [2n ** 63n - 1n, 2 ** 63 + 2048],
  [Number.NEGATIVE_INFINITY, -(2n ** 63n)],
  [2n ** 63n - 1n, Number.POSITIVE_INFINITY],
  [false, true],
  ['', 'a'],
  ['Abc', 'aBC'],
  ['abc', 'abcd'],
  ['f', '\u1ebf'],
  // By code point, not by UTF-16 unit: U+FF5E is before U+1F600.
  ['\uff5e', '😀'],
  [new Uint8Array([97]), new Uint8Array([98])],
  [new Uint8Array([97]), new Uint8Array([97, 0])],
  [new Uint8Array([98]), new Uint8Array([0xc3, 0xa1])],
  [parseDuration('200s') as Value, parseDuration('300s') as Value],
  [parseDuration('-1ns') as Value, parseDuration('0') as Value],
  [
    parseTimestamp('2009-02-13T23:00:00Z') as Value,
    parseTimestamp('2009-02-13T23:00:00.000000001Z') as Value,
  ],
]

// Ints and doubles are compared as doubles, as cel-spec's tests require.
const SAME: readonly (readonly [Value, Value])[] = [
  [1, new Uint(1n)],
  [1, new Double(1)],
  [new Double(0), new Double(-0)],
  [2n ** 63n - 1n, 2 ** 63],
  [-(2n ** 63n), -(2 ** 63)],
  [9007199254740993n, 9007199254740992],
]

const UNORDERED: readonly (readonly [Value, Value])[] = [
  [1, '1'],
  ['foo', 1024],
  [1, true],
  [null, null],
  [1, null],
  [[0], [1]],
  [{ a: 1 }, { a: 2 }],
  ['a', new Uint8Array([97])],
  [parseDuration('1s') as Value, 1],
  [parseDuration('1s') as Value, parseTimestamp('2009-02-13T23:00:00Z') as Value],
  [new TypeValue('int'), new TypeValue('int')],
  [parseIp('10.0.0.1') as Value, parseIp('10.0.0.2') as Value],
  ['10.0.0.1', parseIp('10.0.0.2') as Value],
]

describe('compare', () => {
  for (const [a, b] of LESS) {
    it(`${show(a)} < ${show(b)}`, () => {
      assert.ok((compare(a, b) as number) < 0)
      assert.ok((compare(b, a) as number) > 0)
      assert.equal(compare(a, a), 0)
    })
  }
  for (const [a, b] of SAME) {
    it(`${show(a)} is neither less nor greater than ${show(b)}`, () =>
      assert.deepEqual([compare(a, b), compare(b, a)], [0, 0]))
  }
  for (const [a, b] of UNORDERED) {
    it(`${show(a)} and ${show(b)} have no order`, () =>
      assert.deepEqual([compare(a, b), compare(b, a)], [undefined, undefined]))
  }

  for (const value of [1, 0.5, new Uint(1n), new Double(1), Number.NaN, 2n ** 60n]) {
    it(`NaN is neither less nor greater than ${show(value)}`, () => {
      assert.ok(Number.isNaN(compare(Number.NaN, value)))
      assert.ok(Number.isNaN(compare(value, Number.NaN)))
    })
  }

  it('orders ints and uints as BigInt does', () => {
    const integers = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
      fc.bigInt({ min: -3n, max: 3n }),
    )
    fc.assert(
      fc.property(integers, integers, (a, b) => {
        const expected = a < b ? -1 : a > b ? 1 : 0
        for (const x of forms(a)) for (const y of forms(b)) assert.equal(compare(x, y), expected)
      }),
    )
  })
})

function forms(integer: bigint): readonly Value[] {
  const all: Value[] = []
  if (BigInt.asIntN(64, integer) === integer) {
    all.push(Number.isSafeInteger(Number(integer)) ? Number(integer) : integer)
  }
  if (integer >= 0n) all.push(new Uint(integer))
  return all
}
