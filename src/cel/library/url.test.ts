import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { failure } from '../values/failure.ts'
import { MAX_STRING } from '../values/fuel.ts'
import { LiteralMap } from '../values/map.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { caller } from './test-call.ts'
import { URL_LIBRARY } from './url.ts'

const call = caller(URL_LIBRARY)

describe('url and form', () => {
  for (const [name, args, expected] of [
    ['url.encode', ['hello world/?x=1&y=2'], 'hello%20world%2F%3Fx%3D1%26y%3D2'],
    ['url.encode', ["abc-._~!'()*é"], 'abc-._~%21%27%28%29%2A%C3%A9'],
    ['url.encode', ['\ud800'], undefined],
    ['url.decode', ['hello%20world%2F%3Fx%3D1'], 'hello world/?x=1'],
    ['url.decode', ['a+b'], 'a+b'],
    ['url.decode', ['%FF'], undefined],
    ['url.decode', ['100%'], undefined],
    ['url.decode', ['%zz'], undefined],
    ['url.path', ['/a/b?c=d#e'], '/a/b'],
    ['url.path', ['https://h:8443/a%20b/?c=/d'], '/a%20b/'],
    ['url.path', ['https://h'], '/'],
    ['url.path', ['https://h?c=/d'], '/'],
    ['url.path', ['//a/b'], '//a/b'],
    ['url.path', ['*'], '*'],
    ['url.path', [''], ''],
    ['url.query', ['/a?x=1&y=2&x=3', 'x'], ['1', '3']],
    ['url.query', ['https://h/a?x=%2F+b#x=9', 'x'], ['/ b']],
    ['url.query', ['/a?x', 'x'], ['']],
    ['url.query', ['/a??x=1', '?x'], ['1']],
    ['url.query', ['/a?x=%zz&y=%FF', 'x'], ['%zz']],
    ['url.query', ['/a?%78=1', 'x'], ['1']],
    ['url.query', ['/a', 'x'], []],
    ['query', ['/a?x=1', 'x'], ['1']],
    ['form.decode', ['client_id=abc&scope=a+b'], { client_id: 'abc', scope: 'a b' }],
    ['form.decode', ['a=1&a=2&b'], { a: ['1', '2'], b: '' }],
    ['form.decode', ['?a=1'], { '?a': '1' }],
    ['form.decode', [''], {}],
    ['form.decode', [{}], undefined],
    ['form.encode', [{ scope: 'a b', n: 1, ok: true, d: 0.5 }], 'scope=a+b&n=1&ok=true&d=0.5'],
    ['form.encode', [{ a: ['1', '2'], none: [] }], 'a=1&a=2'],
    ['form.encode', [LiteralMap.of([['a&', '=']]) as Value], 'a%26=%3D'],
    ['form.encode', [{ bad: {} }], undefined],
    ['form.encode', [{ bad: null }], undefined],
    ['form.encode', [[]], undefined],
  ] as [string, Value[], Value | undefined][]) {
    const shown = `${name}(${args.map(show).join(', ')})`
    it(`${shown}: ${expected === undefined ? 'an error' : show(expected)}`, () => {
      failure.reason = ''
      assert.deepEqual(call(name, ...args), expected)
      assert.equal(failure.reason !== '', expected === undefined)
    })
  }

  it('decode their own output', () => {
    fc.assert(
      fc.property(anyText(), anyText(), (text, other) => {
        assert.equal(call('url.decode', call('url.encode', text) as Value), text)
        const form = { [text]: other }
        assert.deepEqual(call('form.decode', call('form.encode', form) as Value), form)
        const query = `/?${call('form.encode', form)}`
        assert.deepEqual(call('url.query', query, text), [other])
      }),
    )
  })

  it('treat a field named __proto__ as a field', () => {
    const form = call('form.decode', '__proto__=1') as object
    assert.equal(Object.hasOwn(form, '__proto__'), true)
  })

  it('fail beyond the maximum string size', () => {
    assert.equal(call('url.encode', '😀'.repeat(MAX_STRING / 4)), undefined)
    const long = 'a'.repeat(MAX_STRING / 2)
    assert.equal(call('form.encode', { a: [long, long] }), undefined)
  })
})
