import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LiteralMap } from '../values/map.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { dispatch } from './dispatch.ts'
import { NETWORK } from './network.ts'
import { STANDARD } from './standard.ts'
import { TIME } from './time.ts'

function call(name: string, receiver: boolean, ...args: Value[]): Value | undefined {
  const declared = STANDARD.functions.find((declaration) => declaration.name === name)
  const overloads = declared?.overloads.filter((overload) => overload.receiver === receiver)
  return dispatch(overloads ?? [], args)
}

describe('size', () => {
  for (const [value, expected] of [
    ['', 0],
    ['πέντε', 5],
    ['😀!', 2],
    [new Uint8Array([1, 2, 3]), 3],
    [[1, 2], 2],
    [{ a: 1 }, 1],
    [
      LiteralMap.of([
        [1, 1],
        [2, 2],
      ]) as Value,
      2,
    ],
    [1, undefined],
    [null, undefined],
  ] as [Value, number | undefined][]) {
    it(`of ${show(value)} is ${expected ?? 'an error'}, as a function and as a method`, () => {
      assert.equal(call('size', false, value), expected)
      assert.equal(call('size', true, value), expected)
    })
  }
})

describe('parts of strings', () => {
  for (const [text, name, part, expected] of [
    ['hello', 'contains', 'ell', true],
    ['hello', 'contains', '', true],
    ['hello', 'contains', 'ol', false],
    ['🐱😀😁', 'contains', '😀', true],
    ['', 'contains', 'a', false],
    ['foobar', 'startsWith', 'foo', true],
    ['foobar', 'startsWith', 'bar', false],
    ['', 'startsWith', '', true],
    ['foobar', 'endsWith', 'bar', true],
    ['forté', 'endsWith', 'té', true],
    ['foobar', 'endsWith', 'foo', false],
    ['foobar', 'endsWith', 1, undefined],
    [1, 'startsWith', '1', undefined],
    [['a'], 'contains', 'a', true],
    [['ab'], 'contains', 'a', false],
    [1, 'contains', '1', undefined],
  ] as [Value, string, Value, boolean | undefined][]) {
    it(`${show(text)}.${name}(${show(part)}) is ${expected ?? 'an error'}`, () => {
      assert.equal(call(name, true, text, part), expected)
      assert.equal(call(name, false, text, part), undefined)
    })
  }
})

describe('the libraries', () => {
  const declared = [STANDARD, TIME, NETWORK].flatMap((library) => library.functions)

  it('meter exactly what scans or grows strings, bytes or lists, or looks up a time zone by name', () => {
    const metered = declared.flatMap(({ name, overloads }) =>
      overloads.filter((overload) => overload.metered).map(() => name),
    )
    assert.deepEqual([...new Set(metered)].sort(), [
      '_+_',
      'bytes',
      'contains',
      'getDate',
      'getDayOfMonth',
      'getDayOfWeek',
      'getDayOfYear',
      'getFullYear',
      'getHours',
      'getMilliseconds',
      'getMinutes',
      'getMonth',
      'getSeconds',
      'size',
      'string',
    ])
  })

  it('declare each signature once', () => {
    const seen = new Set<string>()
    for (const { name, overloads } of declared) {
      for (const { receiver, params } of overloads) {
        const signature = `${name} ${receiver} ${JSON.stringify(params)}`
        assert.ok(!seen.has(signature), signature)
        seen.add(signature)
      }
    }
  })
})
