import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../values/duration.ts'
import { failure } from '../values/failure.ts'
import { fuel, MAX_LIST, MAX_STRING } from '../values/fuel.ts'
import { parseIp } from '../values/ip.ts'
import { LiteralMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { show } from '../values/show.ts'
import { parseTimestamp } from '../values/timestamp.ts'
import type { Value } from '../values/value.ts'
import { ARITHMETIC } from './arithmetic.ts'
import { dispatch } from './dispatch.ts'
import {
  add,
  divide,
  greaterOrEqual,
  index,
  isIn,
  less,
  modulo,
  multiply,
  negate,
  sizeOf,
  subtract,
} from './operators.ts'
import { ORDERING } from './ordering.ts'

const u = (value: bigint) => new Uint(value)
const d = (value: number) => new Double(value)
const span = (text: string) => parseDuration(text) as Value
const time = (text: string) => parseTimestamp(text) as Value
const address = (text: string) => parseIp(text) as Value
const bytes = (text: string) => new TextEncoder().encode(text)

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

type Operator = (a: Value, b: Value) => Value | undefined

const SYMBOL: ReadonlyMap<Operator, string> = new Map<Operator, string>([
  [add, '_+_'],
  [subtract, '_-_'],
  [multiply, '_*_'],
  [divide, '_/_'],
  [modulo, '_%_'],
  [less, '_<_'],
  [greaterOrEqual, '_>=_'],
])

const CASES: readonly (readonly [Operator, Value, Value, Value | undefined])[] = [
  [add, 'from ', address('10.0.0.7'), 'from 10.0.0.7'],
  [add, address('10.0.0.7'), ' is', undefined],
  [add, 40, 2, 42],
  [add, MAX, 1, undefined],
  [add, MIN, -1, undefined],
  [add, 2 ** 52, 2 ** 52, 2n ** 53n],
  [add, 2n ** 53n, -1, 2 ** 53 - 1],
  [add, u(42n), u(2n), u(44n)],
  [add, u(2n ** 64n - 1n), u(1n), undefined],
  [add, 0.5, 0.5, d(1)],
  [add, d(1), 0.5, 1.5],
  [add, 1, 0.5, undefined],
  [add, 2 ** 52 + 1, 0.25, undefined],
  [add, 1, d(1), undefined],
  [add, 1, u(1n), undefined],
  [add, 1, '1', undefined],
  [add, 'a', 1, undefined],
  [add, 'r', 'ôle', 'rôle'],
  [add, bytes('abc'), bytes('def'), bytes('abcdef')],
  [add, 'a', bytes('b'), undefined],
  [add, [0], ['a'], [0, 'a']],
  [add, [0], 1, undefined],
  [add, {}, {}, undefined],
  [add, null, null, undefined],
  [add, true, true, undefined],
  [add, time('2009-02-13T23:00:00Z'), span('240s'), time('2009-02-13T23:04:00Z')],
  [add, span('120s'), time('2009-02-13T23:01:00Z'), time('2009-02-13T23:03:00Z')],
  [add, span('600s'), span('50s'), span('650s')],
  [add, span('200000000000ms'), span('9223372036s'), undefined],
  [add, time('9999-12-31T23:59:59.999999999Z'), span('1ns'), undefined],
  [add, time('0001-01-01T00:00:00Z'), span('-1ns'), undefined],
  [add, time('2009-02-13T23:00:00Z'), time('2009-02-13T23:00:00Z'), undefined],
  [add, time('2009-02-13T23:00:00Z'), 1, undefined],
  [add, span('1s'), 1, undefined],
  [subtract, 42, 12, 30],
  [subtract, MIN, 1, undefined],
  [subtract, u(0n), u(1n), undefined],
  [subtract, d(42), d(12), d(30)],
  [subtract, 'a', 'a', undefined],
  [subtract, time('2009-02-13T23:31:00Z'), time('2009-02-13T23:29:00Z'), span('120s')],
  [subtract, time('9999-12-31T23:59:59Z'), time('0001-01-01T00:00:00Z'), undefined],
  [subtract, time('2009-02-13T23:10:00Z'), span('600s'), time('2009-02-13T23:00:00Z')],
  [subtract, span('900s'), span('42s'), span('858s')],
  [subtract, span('1s'), time('2009-02-13T23:00:00Z'), undefined],
  [multiply, 5000000000, 5000000000, undefined],
  [multiply, MIN, -1, undefined],
  [multiply, 0, -5, 0],
  [multiply, d(0), d(-5), d(-0)],
  [multiply, u(40n), u(2n), u(80n)],
  [multiply, 'a', 2, undefined],
  [divide, -7, 2, -3],
  [divide, -1, 5, 0],
  [divide, MIN, -1, undefined],
  [divide, 15, 0, undefined],
  [divide, u(15n), u(0n), undefined],
  [divide, 15.75, d(0), Number.POSITIVE_INFINITY],
  [modulo, -3, 5, -3],
  [modulo, -4, 2, 0],
  [modulo, 43, -5, 3],
  [modulo, 34, 0, undefined],
  [modulo, MIN, -1, undefined],
  [modulo, 47.5, 5.5, undefined],
  [modulo, u(42n), u(5n), u(2n)],
  [less, 1, 2, true],
  [less, 1, 1.5, true],
  [less, Number.NaN, 1, false],
  [less, 'foo', 1024, undefined],
  [less, '\uff5e', '😀', true],
  [less, null, null, undefined],
  [less, [0], [1], undefined],
  [greaterOrEqual, Number.NaN, Number.NaN, false],
  [greaterOrEqual, u(1n), -1, true],
  [greaterOrEqual, MAX, 2 ** 63, true],
  [greaterOrEqual, 'b', 'a', true],
]

describe('operators return the same result with and without static types', () => {
  for (const [operator, a, b, expected] of CASES) {
    const said = expected === undefined ? 'an error' : show(expected)
    it(`${show(a)} ${SYMBOL.get(operator)} ${show(b)} is ${said}`, () => {
      assert.deepEqual(operator(a, b), expected)
      const declared = [...ARITHMETIC, ...ORDERING].find((f) => f.name === SYMBOL.get(operator))
      assert.deepEqual(dispatch(declared?.overloads ?? [], [a, b]), expected)
    })
  }

  it('for any two values', () => {
    const values = fc.oneof(
      fc.constantFrom<Value>(0, 1, -5, 2 ** 53 - 1, MAX, MIN, 0.5, d(3), d(-0), Number.NaN),
      fc.constantFrom<Value>(u(0n), u(7n), true, null, 'a', '', '😀', bytes('a'), bytes('')),
      fc.constantFrom<Value>([], [1], {}, { a: 1 }, span('1s'), span('-5h')),
      fc.constantFrom<Value>(time('2009-02-13T23:00:00Z'), parseIp('::1') as Value),
    )
    fc.assert(
      fc.property(values, values, fc.constantFrom(...SYMBOL.keys()), (a, b, operator) => {
        const declared = [...ARITHMETIC, ...ORDERING].find((f) => f.name === SYMBOL.get(operator))
        assert.deepEqual(operator(a, b), dispatch(declared?.overloads ?? [], [a, b]))
      }),
      { numRuns: 150 },
    )
  })

  for (const [value, expected] of [
    [42, -42],
    [0, 0],
    [MIN, undefined],
    [d(0), d(-0)],
    [-1.25, 1.25],
    [u(5n), undefined],
    [false, undefined],
    ['a', undefined],
    [span('1s'), undefined],
  ] as [Value, Value | undefined][]) {
    it(`-_ of ${show(value)} is ${expected === undefined ? 'an error' : show(expected)}`, () =>
      assert.deepEqual(negate(value), expected))
  }
})

describe('growing values have a limit and a cost', () => {
  const half = 'a'.repeat(MAX_STRING / 2)
  const list = new Array<Value>(MAX_LIST / 2).fill(1)
  const block = new Uint8Array(MAX_STRING / 2)
  for (const [name, value, one] of [
    ['strings', half, 'a'],
    ['bytes', block, bytes('a')],
    ['lists', list, [1]],
  ] as [string, Value, Value][]) {
    it(`${name} up to the limit, an error beyond`, () => {
      fuel.left = 0
      const largest = add(value, value) as Value
      assert.equal(sizeOf(largest), 2 * (sizeOf(value) as number))
      assert.ok(fuel.left < -1000)
      assert.equal(add(largest, one), undefined)
      assert.match(failure.reason, /too long/)
    })
  }

  it('charges for searching a list', () => {
    fuel.left = 0
    isIn('x', list)
    assert.ok(fuel.left < -1000)
  })
})

describe('a map literal', () => {
  it('finds a number by value', () => {
    const map = LiteralMap.of([
      [1, 'one'],
      [u(2n), 'two'],
    ]) as Value
    for (const key of [1, u(1n), d(1)]) assert.equal(index(map, key), 'one')
    for (const key of [2, u(2n), d(2)]) assert.equal(isIn(key, map), true)
    for (const key of [3, 1.5, '1', true, null, bytes('1')]) {
      assert.equal(index(map, key), undefined)
      assert.equal(isIn(key, map), false)
    }
  })
})
