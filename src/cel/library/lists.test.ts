import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseDuration } from '../values/duration.ts'
import { equals } from '../values/equal.ts'
import { failure } from '../values/failure.ts'
import { MAX_LIST } from '../values/fuel.ts'
import { parseIp } from '../values/ip.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { LISTS } from './lists.ts'
import { SETS } from './sets.ts'
import { caller } from './test-call.ts'

const list = caller(LISTS)
const set = caller(SETS)
const seconds = (text: string) => parseDuration(text) as Value

describe('lists', () => {
  for (const [name, args, expected] of [
    ['slice', [[1, 2, 3, 4], 1, 3], [2, 3]],
    ['slice', [[1, 2], 2, 2], []],
    ['slice', [[1, 2], -1, 1], undefined],
    ['slice', [[1, 2], 0, 3], undefined],
    ['slice', [[1, 2], 2, 1], undefined],
    ['flatten', [[1, [2, 3], [4]]], [1, 2, 3, 4]],
    ['flatten', [[1, [2, [3, 4]]]], [1, 2, [3, 4]]],
    ['flatten', [[1, 2, [], [], [3, 4]]], [1, 2, 3, 4]],
    ['flatten', [[1, [2, [3, [4]]]], 2], [1, 2, 3, [4]]],
    ['flatten', [[1, [2]], 0], [1, [2]]],
    ['flatten', [[1, [2, [3, [4]]]], 2n ** 60n], [1, 2, 3, 4]],
    ['flatten', [[1], -1], undefined],
    ['flatten', ['a'], undefined],
    ['sort', [[3, 2, 10]], [2, 3, 10]],
    ['sort', [['b', '\uffff', '😀', 'a']], ['a', 'b', '\uffff', '😀']],
    ['sort', [[seconds('2s'), seconds('1s')]], [seconds('1s'), seconds('2s')]],
    ['sort', [[true, false]], [false, true]],
    ['sort', [[]], []],
    ['sort', [[1, 'b']], undefined],
    ['sort', [[1, new Double(2)]], undefined],
    ['sort', [[[1, 2]]], undefined],
    ['sort', [[null]], undefined],
    [
      '@sortByKeys',
      [
        ['a', 'b', 'c'],
        [2, 1, 2],
      ],
      ['b', 'a', 'c'],
    ],
    [
      '@sortByKeys',
      [
        [1, 2],
        [1, 'a'],
      ],
      undefined,
    ],
    ['distinct', [[1, 2, 2, 3, 3, 3]], [1, 2, 3]],
    ['distinct', [[1, new Uint(1n), new Double(1), 'b', 'b']], [1, 'b']],
    ['distinct', [[{ a: [1] }, { a: [new Uint(1n)] }, []]], [{ a: [1] }, []]],
    ['distinct', [[Number.NaN, Number.NaN]], [Number.NaN, Number.NaN]],
    ['distinct', [[null, null, false]], [null, false]],
    ['reverse', [[5, 3, 1]], [1, 3, 5]],
    ['first', [[1, 2]], new Optional(1)],
    ['first', [[]], Optional.none],
    ['last', [[1, 2]], new Optional(2)],
    ['last', [[]], Optional.none],
    ['lists.range', [3], [0, 1, 2]],
    ['lists.range', [0], []],
    ['lists.range', [-1], undefined],
    ['lists.range', [MAX_LIST + 1], undefined],
    ['lists.range', [2n ** 60n], undefined],
  ] as [string, Value[], Value | undefined][]) {
    const shown = `${name}(${args.map(show).join(', ')})`
    it(`${shown}: ${expected === undefined ? 'an error' : show(expected)}`, () => {
      const before = structuredClone(args[0])
      assert.deepEqual(list(name, ...args), expected)
      if (Array.isArray(before)) assert.deepEqual(structuredClone(args[0]), before)
    })
  }

  it('are flattened up to their limit only', () => {
    let shared: Value = new Array(1000).fill(1)
    for (let i = 0; i < 3; i++) shared = new Array(1000).fill(shared)
    assert.equal(list('flatten', shared, 10), undefined)
    assert.equal(failure.reason, 'list too long')
  })

  it('of many objects are rejected, since comparing them would take minutes', () => {
    const many = Array.from({ length: MAX_LIST }, (_, i) => ({ i }))
    const start = process.cpuUsage()
    assert.equal(list('distinct', many), undefined)
    assert.equal(set('sets.contains', many, many.toReversed()), undefined)
    assert.equal(set('sets.intersects', many, [{ i: -1 }]), false)
    assert.ok(process.cpuUsage(start).user < 5e6)
  })
})

describe('sets', () => {
  const a = parseIp('10.0.0.7') as Value
  const b = parseIp('2001:db8::1') as Value
  for (const [name, left, right, expected] of [
    ['contains', [], [], true],
    ['contains', [], [1], false],
    ['contains', [1, 2, 3, 4], [2, 3], true],
    ['contains', [1, 2.5, 'a'], [new Double(1), new Uint(1n), 'a'], true],
    ['contains', [[1], [2, 3]], [[2, 3]], true],
    ['contains', ['10.0.0.7'], [a], true],
    ['contains', [a], ['10.0.0.7'], true],
    ['contains', ['2001:DB8:0::1'], [b], true],
    ['contains', [Number.NaN], [Number.NaN], false],
    ['equivalent', [1, 1], [1], true],
    ['equivalent', [1], [new Uint(1n), new Double(1)], true],
    ['equivalent', [1, 2], [1], false],
    ['intersects', [1], [], false],
    ['intersects', [1], [1, 2], true],
    ['intersects', [[1], 2], [[3], 4], false],
    ['intersects', [{ a: 1 }], [{ a: new Double(1) }], true],
  ] as [string, Value[], Value[], boolean][]) {
    it(`${name}(${show(left)}, ${show(right)}): ${expected}`, () => {
      assert.equal(set(`sets.${name}`, left, right), expected)
    })
  }

  it('accept only lists', () => {
    assert.equal(set('sets.contains', 'abc', ['a']), undefined)
  })

  it('agree with element-by-element equality', () => {
    const values = fc.constantFrom<Value>(
      ...[0, 1, new Uint(1n), new Double(1), 1.5, 2n ** 60n, 2 ** 60, new Uint(2n ** 63n), 2 ** 63],
      ...['1', true, null, [1], [new Double(1)], {}, Number.NaN, new Double(-0), a, '10.0.0.7'],
    )
    const lists = fc.array(values, { maxLength: 5 })
    fc.assert(
      fc.property(lists, lists, (left, right) => {
        const has = (of: Value[], value: Value) => of.some((element) => equals(value, element))
        const all = right.every((value) => has(left, value))
        assert.equal(set('sets.contains', left, right), all)
        assert.equal(
          set('sets.intersects', left, right),
          right.some((value) => has(left, value)),
        )
        const kept: Value[] = []
        for (const value of left) if (!has(kept, value)) kept.push(value)
        assert.deepEqual(list('distinct', left), kept)
      }),
    )
  })
})
