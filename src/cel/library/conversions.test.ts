import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../values/duration.ts'
import { Double, double, doubleValue, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { show } from '../values/show.ts'
import { parseTimestamp } from '../values/timestamp.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { CONVERSIONS } from './conversions.ts'
import { dispatch } from './dispatch.ts'
import { printDouble, readDouble } from './number-text.ts'

const u = (value: bigint) => new Uint(value)
const d = (value: number) => new Double(value)
const span = (text: string) => parseDuration(text) as Value
const time = (text: string) => parseTimestamp(text) as Value
const bytes = (...values: number[]) => new Uint8Array(values)

const CASES: Record<string, readonly (readonly [Value, Value | undefined])[]> = {
  int: [
    [1, 1],
    [u(42n), 42],
    [u(2n ** 63n - 1n), 2n ** 63n - 1n],
    [u(2n ** 63n), undefined],
    [-123.456, -123],
    [1.9, 1],
    [-0.5, 0],
    [d(-0), 0],
    [2 ** 55, 2n ** 55n],
    [2 ** 63 - 1024, 2n ** 63n - 1024n],
    [2 ** 63, undefined],
    [-(2 ** 63), undefined],
    [1e99, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ['987', 987],
    ['-0', 0],
    ['+5', 5],
    ['00012', 12],
    ['9007199254740993', 9007199254740993n],
    ['+9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775808', undefined],
    ['', undefined],
    ['-', undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['1_000', undefined],
    [' 1', undefined],
    ['1\n', undefined],
    ['١', undefined],
    ['1'.repeat(1_000_000), undefined],
    [time('2009-02-13T23:31:30Z'), 1234567890],
    [time('1969-12-31T23:59:59.9Z'), -1],
    [span('1.5s'), 1_500_000_000],
    [span('-9223372036854775808ns'), -(2n ** 63n)],
    [true, undefined],
    [null, undefined],
    [bytes(49), undefined],
  ],
  uint: [
    [u(1n), u(1n)],
    [1729, u(1729n)],
    [2n ** 63n - 1n, u(2n ** 63n - 1n)],
    [-1, undefined],
    [3.9, u(3n)],
    [d(0), u(0n)],
    [d(-0), u(0n)],
    [-0.5, undefined],
    [2 ** 63, u(2n ** 63n)],
    [2 ** 64, undefined],
    [Number.NaN, undefined],
    ['300', u(300n)],
    ['18446744073709551615', u(2n ** 64n - 1n)],
    ['18446744073709551616', undefined],
    ['+1', undefined],
    ['-0', undefined],
    ['1u', undefined],
    ['', undefined],
  ],
  double: [
    [5.5, 5.5],
    [1000000000000, d(1000000000000)],
    [0, d(0)],
    [-0, d(0)],
    [2n ** 63n - 1n, 2 ** 63],
    [u(2n ** 64n - 1n), 2 ** 64],
    ['123', d(123)],
    ['-0.0', d(-0)],
    ['1.', d(1)],
    ['.5', 0.5],
    ['+6.02214e23', 6.02214e23],
    ['1e-999', d(0)],
    ['1e999', undefined],
    ['NaN', Number.NaN],
    ['nan', Number.NaN],
    ['+NaN', undefined],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['+inf', Number.POSITIVE_INFINITY],
    ['-INF', Number.NEGATIVE_INFINITY],
    ['', undefined],
    ['.', undefined],
    ['1e', undefined],
    ['0x10', undefined],
    ['1_0', undefined],
    [' 1', undefined],
    ['1 ', undefined],
    [true, undefined],
  ],
  string: [
    ['hello', 'hello'],
    [true, 'true'],
    [-456, '-456'],
    [-(2n ** 63n), '-9223372036854775808'],
    [u(9876n), '9876'],
    [123.456, '123.456'],
    [-4.5e-3, '-0.0045'],
    [d(1), '1'],
    [d(-0), '-0'],
    [d(100000), '100000'],
    [d(1000000), '1e+06'],
    [1e21, '1e+21'],
    [0.00001, '1e-05'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
    [bytes(0xc3, 0xbf), 'ÿ'],
    [bytes(), ''],
    [bytes(0, 0xff), undefined],
    [bytes(0xed, 0xa0, 0x80), undefined],
    [bytes(0xef, 0xbb, 0xbf, 97), '\ufeffa'],
    [time('2009-02-14T01:31:30.120+02:00'), '2009-02-13T23:31:30.12Z'],
    [span('1h'), '3600s'],
    [null, undefined],
    [[], undefined],
    [{}, undefined],
  ],
  bytes: [
    [bytes(1), bytes(1)],
    ['ÿ', bytes(0xc3, 0xbf)],
    ['😀', bytes(0xf0, 0x9f, 0x98, 0x80)],
    [1, undefined],
  ],
  bool: [
    [true, true],
    ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
    ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
    ...['TrUe', 'FaLsE', '', 'yes', ' true', 'constructor'].map((t) => [t, undefined] as const),
    [1, undefined],
    [null, undefined],
  ],
  timestamp: [
    [time('2009-02-13T23:31:30Z'), time('2009-02-13T23:31:30Z')],
    [1234567890, time('2009-02-13T23:31:30Z')],
    [-62135596801, undefined],
    [253402300800, undefined],
    [2n ** 63n - 1n, undefined],
    ['2009-02-13T23:31:30Z', time('2009-02-13T23:31:30Z')],
    ['yesterday', undefined],
    [0.5, undefined],
  ],
  duration: [
    [span('1s'), span('1s')],
    ['1h', span('3600s')],
    ['soon', undefined],
    [1, undefined],
  ],
  dyn: [
    [1, 1],
    [null, null],
  ],
  type: [
    [1, new TypeValue('int')],
    [null, new TypeValue('null_type')],
    [Optional.none, new TypeValue('optional_type')],
    [new TypeValue('int'), new TypeValue('type')],
  ],
}

for (const [name, cases] of Object.entries(CASES)) {
  const declared = CONVERSIONS.find((declaration) => declaration.name === name)
  describe(`${name}()`, () => {
    for (const [value, expected] of cases) {
      it(`of ${show(value)} is ${expected === undefined ? 'an error' : show(expected)}`, () =>
        assert.deepEqual(dispatch(declared?.overloads ?? [], [value]), expected))
    }
  })
}

describe('doubles as strings', () => {
  it('are parsed back to the same value', () => {
    fc.assert(
      fc.property(fc.double(), (value) => {
        const read = readDouble(printDouble(value))
        assert.ok(read !== undefined && Object.is(doubleValue(read), value))
        assert.deepEqual(read, double(value))
      }),
      { numRuns: 150 },
    )
  })

  it('take time linear in their length', () => {
    const long = '1'.repeat(1_000_000)
    for (const text of [`${long}x`, `.${long}`, `1e${long}`, `${long}.${long}`]) {
      assert.equal(readDouble(text), undefined)
    }
  })
})
