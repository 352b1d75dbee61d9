import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PlainHeaders } from '../../exchange/plain-headers.ts'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'

const HEADERS = new PlainHeaders([
  ['X-Role', 'a,b'],
  ['x-team', 'eng'],
  ['x-role', 'c'],
  ['X-List', ' a , ,"b,c",d\t'],
  ['cookie', 'session=abc; theme=light; __proto__=x; empty=; odd; =none'],
  ['Cookie', 'session=def; more=a=b'],
])

/** The result of every way to evaluate the expression; `error` if there is no value. */
function outcome(text: string, headers: Value = HEADERS): string {
  const results = (['generated', 'closures'] as const).flatMap((backend) => {
    const { expression, diagnostics } = compile(text, STAGES.traffic, { backend })
    assert.ok(expression, JSON.stringify(diagnostics))
    const variables = { request: { headers } } as never
    return [expression.evaluate()(variables), expression.explain(variables).value].map((value) =>
      value === undefined ? 'error' : show(value),
    )
  })
  assert.equal(new Set(results).size, 1, `${text}: ${results.join(' / ')}`)
  return results[0] as string
}

describe('views of headers', () => {
  for (const [text, expected] of [
    ["request.headers['x-role']", "'a,b, c'"],
    ["request.headers.raw()['x-role']", "['a,b', 'c']"],
    ["request.headers.raw()['X-ROLE']", "['a,b', 'c']"],
    ["request.headers.raw()['x-' + 'Role']", "['a,b', 'c']"],
    ["request.headers.raw()['x-team']", "['eng']"],
    ["request.headers.raw()['x-none']", 'error'],
    ["default(request.headers.raw()['x-none'], [])", '[]'],
    ['has(request.headers.raw().none)', 'false'],
    ["'x-role' in request.headers.raw()", 'true'],
    ['request.headers.raw().size()', '4'],
    ["request.headers.join()['x-role']", "'a,b,c'"],
    ["request.headers.unredacted()['x-role']", "'a,b, c'"],
    ["request.headers.split()['x-role']", "['a', 'b', 'c']"],
    ["request.headers.split()['x-list']", `['a', '"b', 'c"', 'd']`],
    ["'b' in request.headers.split()['x-role']", 'true'],
    ["request.headers.cookie('session')", "'abc'"],
    ["request.headers.cookie('theme')", "'light'"],
    ["request.headers.cookie('more')", "'a=b'"],
    ["request.headers.cookie('empty')", "''"],
    ["request.headers.cookie('__proto__')", "'x'"],
    ["request.headers.cookie('constructor')", 'error'],
    ["request.headers.cookie('odd')", 'error'],
    ["request.headers.cookie('')", 'error'],
    ["request.headers.cookie('se' + 'ssion')", "'abc'"],
    ["default(request.headers.cookie('none'), 'x')", "'x'"],
    ["default(request.headers.cookie('session'), 'x')", "'abc'"],
  ] as const) {
    it(`${text} is ${expected}`, () => assert.equal(outcome(text), expected))
  }

  it('also work for a request without cookies', () => {
    assert.equal(outcome("request.headers.cookie('a')", new PlainHeaders([])), 'error')
    assert.equal(outcome('request.headers.raw().size()', new PlainHeaders([])), '0')
  })

  it('exist only for headers', () => {
    const { diagnostics } = compile("request.path.raw() == ['a']", STAGES.traffic)
    assert.ok(diagnostics.length > 0)
    assert.equal(outcome("{'A': 'b'}.raw()['a']"), "['b']")
  })
})

describe('queries', () => {
  for (const [text, expected] of [
    ["'/a?x=1&y=2&x=3'.addQuery('x', '4')", "'/a?x=1&y=2&x=3&x=4'"],
    ["'/a'.addQuery('x y', 'a&b')", "'/a?x%20y=a%26b'"],
    ["'/a?'.addQuery('x', '')", "'/a?x='"],
    ["'http://h/a?x=1#f'.addQuery('y', '2')", "'http://h/a?x=1&y=2#f'"],
    ["'/a?x=1&y=2&x=3'.setQuery('x', '4')", "'/a?x=4&y=2'"],
    ["'/a?%78=1&y=2'.setQuery('x', '4')", "'/a?x=4&y=2'"],
    ["'/a?y=%zz'.setQuery('x', '4')", "'/a?y=%zz&x=4'"],
    ["'/a#f'.setQuery('x', '4')", "'/a?x=4#f'"],
    ["'/a?x=1'.setQuery('x', '2').query('x')", "['2']"],
  ] as const) {
    it(`${text} is ${expected}`, () => assert.equal(outcome(text), expected))
  }
})

describe('fail', () => {
  it('needs no message', () => assert.equal(outcome("request.path == '/' || fail()"), 'error'))
})
