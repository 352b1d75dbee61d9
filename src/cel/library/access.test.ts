import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { failure } from '../values/failure.ts'
import { parseIp } from '../values/ip.ts'
import { LiteralMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { show } from '../values/show.ts'
import { Struct } from '../values/struct.ts'
import type { Value } from '../values/value.ts'
import {
  hasField,
  index,
  isIn,
  optionalIndex,
  optionalSelect,
  select,
  sizeOf,
} from './operators.ts'

class Peer extends Struct {
  readonly structName = 'peer'
  readonly fieldNames = new Set(['address', 'hostname'])
  readonly hostname: Value | undefined = undefined
  readonly secret = 'not declared'
  get address(): Value {
    return parseIp('10.0.0.7') as Value
  }
}

const peer = new Peer()
const claims: Value = { sub: 'alice', none: null, n: 0 }
const literal = LiteralMap.of([['sub', 'alice']]) as Value
const own = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as Value

describe('select and has', () => {
  for (const [value, field, expected] of [
    [claims, 'sub', 'alice'],
    [claims, 'none', null],
    [literal, 'sub', 'alice'],
    [peer, 'address', parseIp('10.0.0.7') as Value],
    [own, '__proto__', 1],
    [own, 'constructor', 2],
    [own, 'toString', 3],
  ] as [Value, string, Value][]) {
    it(`${show(value)}.${field} is there`, () => {
      assert.deepEqual(select(value, field), expected)
      assert.equal(hasField(value, field), true)
      assert.deepEqual(optionalSelect(value, field), new Optional(expected))
    })
  }

  for (const [value, field, reason] of [
    [claims, 'group', 'no such key'],
    [claims, 'constructor', 'no such key'],
    [claims, '__proto__', 'no such key'],
    [claims, 'toString', 'no such key'],
    [claims, 'hasOwnProperty', 'no such key'],
    [Object.create({ inherited: 1 }, {}), 'inherited', 'no such overload'],
    [Object.create(null), 'constructor', 'no such key'],
    [literal, 'size', 'no such key'],
    [literal, 'get', 'no such key'],
    [peer, 'hostname', 'not set'],
    [peer, 'secret', 'no such field'],
    [peer, 'structName', 'no such field'],
    [peer, 'constructor', 'no such field'],
    ['abc', 'length', 'no such overload'],
    [[1], 'length', 'no such overload'],
    [[1], '0', 'no such overload'],
    [new Uint8Array(1), 'length', 'no such overload'],
    [new Uint(1n), 'value', 'no such overload'],
    [parseIp('::1') as Value, 'text', 'no such overload'],
    [1, 'a', 'no such overload'],
    [null, 'a', 'no such overload'],
    [true, 'a', 'no such overload'],
  ] as [Value, string, string][]) {
    it(`${show(value)}.${field}: ${reason}`, () => {
      assert.equal(select(value, field), undefined)
      assert.equal(failure.reason, reason)
      const absent = reason === 'no such key' || reason === 'not set'
      assert.equal(hasField(value, field), absent ? false : undefined)
      assert.equal(optionalSelect(value, field), absent ? Optional.none : undefined)
    })
  }
})

describe('selecting from an optional', () => {
  for (const [value, field, expected] of [
    [Optional.none, 'a', Optional.none],
    [new Optional({ a: 1 }), 'a', new Optional(1)],
    [new Optional({}), 'a', Optional.none],
    [new Optional(null), 'a', undefined],
    [new Optional(0), 'a', undefined],
  ] as [Value, string, Value | undefined][]) {
    it(`${show(value)}.${field} is ${expected ? show(expected) : 'an error'}`, () => {
      assert.deepEqual(select(value, field), expected)
      assert.deepEqual(optionalSelect(value, field), expected)
    })
  }

  it('has() looks inside the optional', () => {
    assert.equal(hasField(Optional.none, 'a'), false)
    assert.equal(hasField(new Optional({ a: 1 }), 'a'), true)
    assert.equal(hasField(new Optional({}), 'a'), false)
    assert.equal(hasField(new Optional(1), 'a'), undefined)
  })
})

describe('index', () => {
  const list: Value = [7, null]
  for (const [value, key, expected] of [
    [list, 0, 7],
    [list, new Uint(0n), 7],
    [list, new Double(0), 7],
    [list, new Double(-0), 7],
    [list, 1, null],
    [claims, 'sub', 'alice'],
    [literal, 'sub', 'alice'],
    [new Optional(list), 0, new Optional(7)],
    [new Optional(list), 5, Optional.none],
    [Optional.none, 0, Optional.none],
  ] as [Value, Value, Value][]) {
    it(`${show(value)}[${show(key)}] is ${show(expected)}`, () => {
      assert.deepEqual(index(value, key), expected)
      const optional = expected instanceof Optional ? expected : new Optional(expected)
      assert.deepEqual(optionalIndex(value, key), optional)
    })
  }

  for (const [value, key, reason] of [
    [list, 2, 'index out of range'],
    [list, -1, 'index out of range'],
    [list, 2n ** 60n, 'index out of range'],
    [list, new Uint(2n ** 64n - 1n), 'index out of range'],
    [list, 0.5, 'invalid index'],
    [list, Number.NaN, 'invalid index'],
    [list, '0', 'invalid index'],
    [list, 'length', 'invalid index'],
    [list, true, 'invalid index'],
    [claims, 'group', 'no such key'],
    [claims, 'constructor', 'no such key'],
    [claims, '__proto__', 'no such key'],
    [claims, 0, 'no such key'],
    [claims, new Uint8Array(0), 'no such key'],
    [literal, 0, 'no such key'],
    ['abc', 0, 'no such overload'],
    [new Uint8Array(1), 0, 'no such overload'],
    [null, 0, 'no such overload'],
    [peer, 'address', 'no such overload'],
    [1, 0, 'no such overload'],
  ] as [Value, Value, string][]) {
    it(`${show(value)}[${show(key)}]: ${reason}`, () => {
      assert.equal(index(value, key), undefined)
      assert.equal(failure.reason, reason)
      const absent = reason === 'index out of range' || reason === 'no such key'
      assert.equal(optionalIndex(value, key), absent ? Optional.none : undefined)
    })
  }
})

describe('in', () => {
  for (const [value, container, expected] of [
    ['b', ['a', 'b'], true],
    ['c', ['a', 'b'], false],
    [3, [5, new Double(3)], true],
    [new Uint(3n), [1, 3], true],
    [Number.NaN, [Number.NaN], false],
    [null, [null], true],
    [[1], [[new Uint(1n)]], true],
    [parseIp('10.0.0.7') as Value, ['10.0.0.7'], true],
    [parseIp('10.0.0.7') as Value, ['10.0.0.0/8'], false],
    ['sub', claims, true],
    ['none', claims, true],
    ['constructor', claims, false],
    ['__proto__', claims, false],
    [1, claims, false],
    ['sub', literal, true],
    ['size', literal, false],
    ['a', 'abc', undefined],
    [97, new Uint8Array([97]), undefined],
    ['address', peer, undefined],
    [1, null, undefined],
  ] as [Value, Value, boolean | undefined][]) {
    it(`${show(value)} in ${show(container)} is ${expected ?? 'an error'}`, () =>
      assert.equal(isIn(value, container), expected))
  }
})

describe('size', () => {
  for (const [value, expected] of [
    ['', 0],
    ['πέντε', 5],
    ['😀', 1],
    [new Uint8Array(3), 3],
    [[1, [2, 3]], 2],
    [claims, 3],
    [literal, 1],
    [1, undefined],
    [null, undefined],
    [peer, undefined],
    [Optional.none, undefined],
  ] as [Value, number | undefined][]) {
    it(`of ${show(value)} is ${expected ?? 'an error'}`, () =>
      assert.equal(sizeOf(value), expected))
  }
})
