import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDuration } from '../values/duration.ts'
import { failure } from '../values/failure.ts'
import { LiteralMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { OPTIONAL } from './optional.ts'
import { caller } from './test-call.ts'

const call = caller(OPTIONAL)
const one = new Optional(1)
const nothing = new Optional(null)

describe('optional values', () => {
  for (const [name, args, expected] of [
    ['optional.of', [null], nothing],
    ['optional.none', [], Optional.none],
    ['hasValue', [one], true],
    ['hasValue', [nothing], true],
    ['hasValue', [Optional.none], false],
    ['hasValue', [1], undefined],
    ['value', [one], 1],
    ['value', [nothing], null],
    ['value', [Optional.none], undefined],
    ['or', [Optional.none, one], one],
    ['or', [nothing, one], nothing],
    ['or', [Optional.none, Optional.none], Optional.none],
    ['or', [one, 2], undefined],
    ['orValue', [Optional.none, 42], 42],
    ['orValue', [nothing, 42], null],
    ['optional.unwrap', [[one, Optional.none, nothing]], [1, null]],
    ['unwrapOpt', [[Optional.none]], []],
    ['unwrapOpt', [[1]], undefined],
  ] as [string, Value[], Value | undefined][]) {
    const shown = `${name}(${args.map(show).join(', ')})`
    it(`${shown}: ${expected === undefined ? 'an error' : show(expected)}`, () => {
      failure.reason = ''
      assert.deepEqual(call(name, ...args), expected)
      assert.equal(failure.reason !== '', expected === undefined)
    })
  }

  for (const [value, zero] of [
    [null, true],
    [false, true],
    [0, true],
    [new Uint(0n), true],
    [new Double(0), true],
    [new Double(-0), true],
    ['', true],
    [new Uint8Array(), true],
    [[], true],
    [{}, true],
    [LiteralMap.of([]) as Value, true],
    [parseDuration('0s') as Value, true],
    [true, false],
    [1, false],
    [0.5, false],
    [Number.NaN, false],
    ['0', false],
    [[0], false],
    [{ a: 0 }, false],
    [Optional.none, false],
  ] as [Value, boolean][]) {
    it(`${show(value)} is ${zero ? 'a' : 'no'} zero value`, () => {
      const made = call('optional.ofNonZeroValue', value) as Optional
      assert.equal(made.value === undefined, zero)
    })
  }
})
