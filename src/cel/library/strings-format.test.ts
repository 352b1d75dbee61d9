import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../values/duration.ts'
import { failure } from '../values/failure.ts'
import { LiteralMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { utf8Encode } from '../values/text.ts'
import { parseTimestamp } from '../values/timestamp.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { fixed, plain, scientific } from './decimal.ts'
import { STRINGS } from './strings.ts'
import { FORMAT } from './strings-format.ts'
import { caller } from './test-call.ts'

const call = caller(STRINGS)
const mixed = LiteralMap.of([
  ['strKey', 'x'],
  [6, parseDuration('422s') as Value],
  [true, 42],
  [new Uint(7n), []],
]) as Value

describe('format', () => {
  for (const [template, values, expected] of [
    ['no substitution', [], 'no substitution'],
    ['%% and %s%%', ['%d'], '% and %d%'],
    ['%d %s %d', [1, 'A', -2], '1 A -2'],
    ['%.3f', [1.2345], '1.234'],
    ['%f', [2.71825], '2.718250'],
    ['%.0f %.0f %.0f', [1.5, 2.5, 3.5001], '2 2 4'],
    ['%.5f', [-1.2], '-1.20000'],
    ['%f', [3], '3.000000'],
    ['%.6e', [1052.032911275], '1.052033e+03'],
    ['%e', [2.71825], '2.718250e+00'],
    ['%.0e', [new Double(0)], '0e+00'],
    ['%e %f %d', [Number.NaN, Infinity, -Infinity], 'NaN Infinity -Infinity'],
    ['%d', [0.5], '0.5'],
    ['%b %b %b', [5, new Uint(64n), true], '101 1000000 1'],
    ['%b', [-(2n ** 63n)], `-1${'0'.repeat(63)}`],
    ['%o %o', [11, new Uint(65535n)], '13 177777'],
    ['%x %X %x', [30, new Uint(6000n), -30], '1e 1770 -1e'],
    ['%x %X', ['Hello world!', utf8Encode('byte')], '48656c6c6f20776f726c6421 62797465'],
    ['%s %s', [null, 999999999999], 'null 999999999999'],
    ['%s %s', [utf8Encode('xyz'), new TypeValue('string')], 'xyz string'],
    ['%s', [parseTimestamp('2023-02-03T23:31:20+00:00') as Value], '2023-02-03T23:31:20Z'],
    ['%s', [[6, 4.2, 'a string', [true]]], '[6, 4.2, a string, [true]]'],
    ['%s', [mixed], '{6: 422s, 7: [], strKey: x, true: 42}'],
    ['%s', [{ b: 1, a: { c: null } }], '{a: {c: null}, b: 1}'],
    ['%s', [1e21], '1000000000000000000000'],
    ['%s', [1e-7], '0.0000001'],
    ['%s', [new Double(-0)], '-0'],
    ['%.2s', ['whole'], 'whole'],
    ['%s', ['a', 'more than asked'], 'a'],
  ] as [string, Value[], string][]) {
    it(`'${template}' with ${values.length} values: ${expected}`, () => {
      assert.equal(call('format', template, values), expected)
      const prepared = FORMAT.overloads[0]?.prepare?.([template, undefined])
      assert.equal(prepared?.(template, values), expected)
    })
  }

  for (const [template, values] of [
    ['%a', [1]],
    ['%E', [0.5]],
    ['%', [1]],
    ['%.', [1]],
    ['%.f', [1]],
    ['%.101f', [1]],
    ['%-5d', [1]],
    ['%d %d', [0]],
    ['%b', ['abc']],
    ['%o', [0.5]],
    ['%x', [0.5]],
    ['%x', [true]],
    ['%d', ['1']],
    ['%d', [null]],
    ['%f', [null]],
    ['%e', ['1']],
    ['%s', [Optional.none]],
    ['%s', [[1, Optional.none]]],
    ['%s', [{ a: Optional.none }]],
    ['%s', [Uint8Array.of(0xff)]],
  ] as [string, Value[]][]) {
    it(`'${template}' is an error for such values`, () => {
      failure.reason = ''
      assert.equal(call('format', template, values), undefined)
      assert.notEqual(failure.reason, '')
    })
  }

  it('rejects a value that is nested too deeply', () => {
    let deep: Value = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.equal(call('format', '%s', [deep]), undefined)
    assert.equal(failure.reason, 'value is nested too deeply')
  })

  it('reports an invalid constant template before it runs, and leaves others to the call', () => {
    const { prepare } = FORMAT.overloads[0] ?? assert.fail()
    failure.reason = ''
    assert.equal(prepare?.([undefined, []]), undefined)
    assert.equal(failure.reason, '')
    assert.equal(prepare?.(['%y', undefined]), undefined)
    assert.equal(failure.reason, 'invalid format')
  })
})

describe('decimals', () => {
  const doubles = fc.double({ noNaN: true, noDefaultInfinity: true })

  it('in plain notation denote the same double', () => {
    fc.assert(
      fc.property(doubles, (value) => {
        assert.match(plain(value), /^-?[0-9]+(\.[0-9]+)?$/)
        assert.ok(Object.is(Number(plain(value)), value))
      }),
    )
  })

  it('are within half a unit of the last digit', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -1e6, max: 1e6, noNaN: true }),
        fc.nat(9),
        (value, precision) => {
          const shown = fixed(value, precision)
          assert.ok(Math.abs(Number(shown) - value) <= 0.5000001 * 10 ** -precision)
          assert.equal(shown.split('.')[1]?.length ?? 0, precision)
        },
      ),
    )
  })

  it('round as the platform does, except for ties', () => {
    fc.assert(
      fc.property(doubles, fc.integer({ min: 0, max: 20 }), (value, precision) => {
        const tie = /5$/.test(scientific(value, 60).replace(/0*e.*/, ''))
        const [digits, exponent] = value.toExponential(precision).split('e') as [string, string]
        const sign = exponent.startsWith('-') ? '-' : '+'
        const expected = `${digits}e${sign}${exponent.slice(1).padStart(2, '0')}`
        const zero = Object.is(value, -0) ? `-${expected}` : expected
        if (!tie) assert.equal(scientific(value, precision), zero)
      }),
    )
  })
})
