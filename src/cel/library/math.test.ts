import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Double, double, int, Uint } from '../values/number.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { MATH } from './math.ts'
import { caller } from './test-call.ts'

const call = caller(MATH)
const u = (value: bigint | number) => new Uint(BigInt(value))
const d = (value: number) => double(value)
const INT_MAX = 2n ** 63n - 1n
const INT_MIN = -(2n ** 63n)
const UINT_MAX = 2n ** 64n - 1n

describe('math', () => {
  for (const [name, args, expected] of [
    ['greatest', [-5], -5],
    ['greatest', [-7, 5], 5],
    ['greatest', [INT_MAX, 1], INT_MAX],
    ['greatest', [1, d(1)], 1],
    ['greatest', [d(1), 1], d(1)],
    ['greatest', [u(5), -7], u(5)],
    ['greatest', [5.4, 10, u(3), d(-5), u(UINT_MAX)], u(UINT_MAX)],
    ['greatest', [[5.4, 10, u(3), d(-5), 3.5]], 10],
    ['greatest', [1, 1.797693e308], 1.797693e308],
    ['greatest', [[]], undefined],
    ['greatest', ['a'], undefined],
    ['greatest', [1, 'a'], undefined],
    ['greatest', [1, 2, 'a'], undefined],
    ['greatest', [[1, 'a']], undefined],
    ['greatest', [[[1]]], undefined],
    ['greatest', [null], undefined],
    ['least', [5, -7], -7],
    ['least', [1, INT_MIN], INT_MIN],
    ['least', [5.4, 10, u(3), d(-5), INT_MAX], d(-5)],
    ['least', [[u(3), 2, 3]], 2],
    ['least', [], undefined],
    ['ceil', [-1.2], d(-1)],
    ['ceil', [1.2], d(2)],
    ['ceil', [1], undefined],
    ['floor', [-1.2], d(-2)],
    ['round', [-1.6], d(-2)],
    ['round', [-1.5], d(-2)],
    ['round', [-1.4], d(-1)],
    ['round', [1.5], d(2)],
    ['round', [0.49999999999999994], d(0)],
    ['round', [2 ** 60], 2 ** 60],
    ['round', [Number.NaN], Number.NaN],
    ['trunc', [-1.2], d(-1)],
    ['trunc', [Infinity], Infinity],
    ['abs', [u(1)], u(1)],
    ['abs', [-11], 11],
    ['abs', [-(2n ** 60n)], 2n ** 60n],
    ['abs', [-11.5], 11.5],
    ['abs', [INT_MIN], undefined],
    ['sign', [u(100)], u(1)],
    ['sign', [u(0)], u(0)],
    ['sign', [-11], -1],
    ['sign', [INT_MIN], -1],
    ['sign', [d(-32)], d(-1)],
    ['sign', [new Double(-0)], d(0)],
    ['sign', [true], undefined],
    ['isNaN', [Number.NaN], true],
    ['isNaN', [Infinity], false],
    ['isNaN', [true], undefined],
    ['isInf', [-Infinity], true],
    ['isInf', [Number.NaN], false],
    ['isFinite', [1 / 1.5], true],
    ['isFinite', [Number.NaN], false],
    ['isFinite', [d(1)], true],
    ['isFinite', [1], undefined],
    ['sqrt', [81], d(9)],
    ['sqrt', [u(81)], d(9)],
    ['sqrt', [-15.34], Number.NaN],
    ['bitAnd', [1, 3], 1],
    ['bitAnd', [1, -1], 1],
    ['bitAnd', [u(1), u(3)], u(1)],
    ['bitAnd', [1, u(2)], undefined],
    ['bitOr', [4, -2], -2],
    ['bitOr', [1.2, 1], undefined],
    ['bitXor', [4, -2], -6],
    ['bitXor', [[], [1]], undefined],
    ['bitNot', [1], -2],
    ['bitNot', [INT_MAX], INT_MIN],
    ['bitNot', [u(1)], u(18446744073709551614n)],
    ['bitShiftLeft', [1, 2], 4],
    ['bitShiftLeft', [1, 63], INT_MIN],
    ['bitShiftLeft', [-1, 200], 0],
    ['bitShiftLeft', [1, INT_MAX], 0],
    ['bitShiftLeft', [u(1), 200], u(0)],
    ['bitShiftLeft', [u(1), -1], undefined],
    ['bitShiftLeft', [4.3, 1], undefined],
    ['bitShiftRight', [1024, 2], 256],
    ['bitShiftRight', [-1024, 3], 2305843009213693824n],
    ['bitShiftRight', [-1024, 64], 0],
    ['bitShiftRight', [u(1024), 200], u(0)],
    ['bitShiftRight', [1, -1], undefined],
  ] as [string, Value[], Value | undefined][]) {
    it(`${name}(${args.map(show).join(', ')}): ${expected === undefined ? 'an error' : show(expected)}`, () => {
      assert.deepEqual(call(`math.${name}`, ...args), expected)
    })
  }

  it('treats bits as 64-bit machines do', () => {
    const words = fc.bigInt({ min: 0n, max: UINT_MAX })
    fc.assert(
      fc.property(words, words, fc.nat(70), (a, b, by) => {
        const signed = (bits: bigint) => int(BigInt.asIntN(64, bits)) as Value
        for (const [name, compute] of [
          ['bitAnd', (x: bigint, y: bigint) => x & y],
          ['bitOr', (x: bigint, y: bigint) => x | y],
          ['bitXor', (x: bigint, y: bigint) => x ^ y],
        ] as const) {
          assert.deepEqual(call(`math.${name}`, u(a), u(b)), u(compute(a, b)))
          assert.deepEqual(call(`math.${name}`, signed(a), signed(b)), signed(compute(a, b)))
        }
        const left = BigInt.asUintN(64, a << BigInt(by))
        const right = a >> BigInt(by)
        assert.deepEqual(call('math.bitShiftLeft', signed(a), by), signed(left))
        assert.deepEqual(call('math.bitShiftLeft', u(a), by), u(left))
        assert.deepEqual(call('math.bitShiftRight', signed(a), by), signed(right))
        assert.deepEqual(call('math.bitShiftRight', u(a), by), u(right))
      }),
    )
  })
})
