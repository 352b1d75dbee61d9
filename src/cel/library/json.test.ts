import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../values/duration.ts'
import { failure } from '../values/failure.ts'
import { MAX_STRING } from '../values/fuel.ts'
import { parseIp } from '../values/ip.ts'
import { LiteralMap } from '../values/map.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { Struct } from '../values/struct.ts'
import { utf8Encode } from '../values/text.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { JSON_LIBRARY } from './json.ts'
import { caller } from './test-call.ts'

const call = caller(JSON_LIBRARY)

class Peer extends Struct {
  readonly structName = 'peer'
  readonly fieldNames = new Set(['port', 'name'])
  readonly port = 443
  readonly secret = 'not declared'
}

describe('json', () => {
  for (const [text, expected] of [
    ['{"hi": 1}', { hi: 1 }],
    ['[1.5, true, null, "a"]', [1.5, true, null, 'a']],
    ['9007199254740993', 9007199254740993n],
    ['18446744073709551615', new Uint(2n ** 64n - 1n)],
    ['', undefined],
    ['{', undefined],
    ["{'a': 1}", undefined],
    ['NaN', undefined],
    ['[1] x', undefined],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, undefined],
  ] as [string, Value | undefined][]) {
    it(`${text.slice(0, 30)} is ${expected === undefined ? 'an error' : 'read'}`, () => {
      assert.deepEqual(call('json', text), expected)
      assert.deepEqual(call('json', utf8Encode(text)), expected)
    })
  }

  it('rejects bytes that are not UTF-8', () => {
    assert.equal(call('json', Uint8Array.of(0x22, 0xff, 0x22)), undefined)
  })

  it('keeps names that are special in JavaScript', () => {
    const value = call('json', '{"__proto__": {"admin": true}}')
    assert.equal(Object.hasOwn(value as object, '__proto__'), true)
    assert.equal((value as { admin?: boolean }).admin, undefined)
  })
})

describe('toJson', () => {
  for (const [value, expected] of [
    [{ a: [1, 2.5, 'x"y', null, true] }, '{"a":[1,2.5,"x\\"y",null,true]}'],
    [9007199254740993n, '9007199254740993'],
    [new Uint(2n ** 64n - 1n), '18446744073709551615'],
    [new Double(1), '1'],
    [1e300, '1e+300'],
    [Number.NaN, '"NaN"'],
    [utf8Encode('hello'), '"aGVsbG8="'],
    [parseDuration('90s') as Value, '"90s"'],
    [parseIp('::1') as Value, '"::1"'],
    [new TypeValue('int'), '"int"'],
    [new Optional([1]), '[1]'],
    [Optional.none, 'null'],
    [new Peer(), '{"port":443}'],
    [
      LiteralMap.of([
        [1, 'a'],
        [new Uint(2n), 'b'],
        [true, 'c'],
      ]) as Value,
      '{"1":"a","2":"b","true":"c"}',
    ],
    [{ ['__proto__']: 1 }, '{"__proto__":1}'],
  ] as [Value, string][]) {
    it(expected, () => {
      assert.equal(call('toJson', value), expected)
      assert.equal(call('to_json', value), expected)
    })
  }

  it('is parsed back to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = call('toJson', value as Value) as string
        assert.equal(text, JSON.stringify(value))
      }),
    )
  })

  it('rejects values that are too large or too deeply nested', () => {
    let shared: Value = [1]
    for (let i = 0; i < 100; i++) shared = [shared, shared]
    assert.equal(call('toJson', shared), undefined)
    assert.equal(failure.reason, 'string too long')
    let deep: Value = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.equal(call('toJson', deep), undefined)
    assert.equal(failure.reason, 'value is nested too deeply')
    assert.equal(call('toJson', ['a'.repeat(MAX_STRING), 'b']), undefined)
  })
})
