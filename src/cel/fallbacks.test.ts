import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DYN, INT, mapOf, STRING, type Type } from './check/types.ts'
import { compile } from './compile.ts'
import { environment } from './environment.ts'
import { STAGES } from './stages.ts'
import { show } from './values/show.ts'

const JSON_MAP: Type = { kind: 'map', key: STRING, value: { kind: 'json' }, plain: true }
const declare = (name: string, type: Type) => ({ name, type, set: 'sometimes', doc: '' })
const ENVIRONMENT = environment({
  name: 'here',
  variables: [
    declare('claims', JSON_MAP),
    declare('unset', STRING),
    declare('text', STRING),
    declare('any', DYN),
    declare('counts', mapOf(STRING, INT)),
  ],
})
const VARIABLES = {
  claims: { sub: 'alice', none: null, list: [{ a: 1 }, { b: 2 }], deep: { x: 7 } },
  text: '{"a": 1',
  any: [1, 2],
  counts: { a: 1, b: 2 },
}

/** The results as `show` prints them; `error` if there is none. */
function outcomes(text: string, check: boolean): string[] {
  const results: string[] = []
  for (const backend of ['generated', 'closures'] as const) {
    const { expression, diagnostics } = compile(text, ENVIRONMENT, { backend, check })
    assert.ok(expression, JSON.stringify(diagnostics))
    const value = expression.evaluate()(VARIABLES)
    results.push(value === undefined ? 'error' : show(value).replaceAll("'", '"'))
    const isTrue = expression.predicate()(VARIABLES)
    assert.equal(isTrue, value === true, `${text}: predicate of ${backend}`)
    const explained = expression.explain(VARIABLES).value
    results.push(explained === undefined ? 'error' : show(explained).replaceAll("'", '"'))
  }
  return results
}

describe('values that may be missing', () => {
  for (const [text, expected] of [
    // default: null and missing values
    ["default(claims.sub, 'x')", '"alice"'],
    ["default(claims.zz, 'x')", '"x"'],
    ["default(claims['zz'], 'x')", '"x"'],
    ["default(claims.none, 'x')", '"x"'],
    ["default(claims.zz.zz, 'x')", '"x"'],
    ["default(unset, 'x')", '"x"'],
    ['default(claims.deep.x, 0)', '7'],
    ['default(claims.deep.y, 0)', '0'],
    ["default(string(claims.deep.y), 'x')", '"x"'],
    ['default(counts.zz, 0) + 1', '1'],
    ["default(claims.zz, default(unset, 'z'))", '"z"'],
    ["default(default(claims.zz, unset), 'z')", '"z"'],
    ['default(claims.zz, claims.yy)', 'error'],
    ['default(claims.zz, null)', 'null'],
    ['default(claims.none, claims.none)', 'null'],
    ["default(unset == 'a' || false, true)", 'true'],
    ["default(unset == 'a' || true, false)", 'true'],
    ['default([1, claims.zz], [])', '[]'],
    ["default({'a': claims.zz}.a, 'x')", '"x"'],
    ['default(claims.zz ? 1 : 2, 3)', '3'],
    // … but no other error
    ["default(json(text).a, 'x')", 'error'],
    ['default(1 / 0, 1)', 'error'],
    ["default(int('x'), 1)", 'error'],
    ["default(claims.sub.first, 'x')", 'error'],
    ["default(claims.list[7], 'x')", 'error'],
    ["default(claims.list['a'], 'x')", 'error'],
    ['default(int(claims.sub), claims.zz)', 'error'],
    ["default(default(int('x'), 1), 2)", 'error'],
    ["default(fail('no'), 1)", 'error'],
    // … nor what is missing inside the iterations of a macro
    ['default(claims.zz.map(e, e), [])', '[]'],
    ['default(claims.list.map(e, e.a), [])', 'error'],
    ['claims.list.map(e, default(e.a, 0))', '[1, 0]'],
    ['claims.list.map(e, default(e.a + 1, 0))', '[2, 0]'],
    ['claims.list.map(e, claims.list.map(f, default(e.a + f.b, 0)))', '[[0, 3], [0, 0]]'],
    // coalesce: null and any error
    ["coalesce(claims.zz, claims.none, 1 / 0, 'x')", '"x"'],
    ["coalesce(json(text).a, 'x')", '"x"'],
    ['coalesce(claims.none, claims.zz)', 'null'],
    ['coalesce(claims.zz, claims.none)', 'null'],
    ['coalesce(claims.zz, 1 / 0)', 'error'],
    ['coalesce(claims.sub)', '"alice"'],
    ['coalesce(false, true)', 'false'],
    ['default(coalesce(1 / 0, claims.zz), 5)', '5'],
    ['default(coalesce(claims.zz, 1 / 0), 5)', 'error'],
    // with
    ["claims.sub.with(s, s + '!' + s)", '"alice!alice"'],
    ['claims.zz.with(s, true)', 'error'],
    ['cel.bind(s, claims.zz, true)', 'true'],
    ['default(claims.zz.with(s, s), 1)', '1'],
    ['default(claims.deep.with(d, d.zz), 1)', '1'],
    ['claims.deep.with(d, default(d.zz, d.x))', '7'],
    // maps
    ['counts.mapValues(v, v * 10)', '{"a": 10, "b": 20}'],
    ["counts.filterKeys(k, k != 'a')", '{"b": 2}'],
    ['counts.filterKeys(k, k == claims.zz)', 'error'],
    ['any.mapValues(v, v)', 'error'],
    ['any.filterKeys(k, true)', 'error'],
  ] as const) {
    it(`${text} is ${expected}`, () => {
      assert.deepEqual(new Set(outcomes(text, true)), new Set([expected]))
      assert.deepEqual(new Set(outcomes(text, false)), new Set([expected]))
    })
  }

  it('does not evaluate unneeded arguments', () => {
    assert.deepEqual(outcomes('default(1, 1 / 0)', true)[0], '1')
    assert.deepEqual(outcomes('coalesce(claims.sub, claims.sub + 1)', true)[0], '"alice"')
  })

  it('takes no exponential time for nested defaults', () => {
    let text = "int('x')"
    for (let depth = 0; depth < 40; depth++) text = `default(${text} + 1, ${depth})`
    const before = process.cpuUsage()
    assert.deepEqual(new Set(outcomes(text, true)), new Set(['error']))
    assert.ok(process.cpuUsage(before).user < 2_000_000)
  })

  it('keeps the type of both arguments', () => {
    const { diagnostics } = compile("default(text, 'x') + 1", ENVIRONMENT)
    assert.equal(diagnostics[0]?.code, 'PC0106')
    assert.ok(compile('default(text, 5) == dyn(5)', ENVIRONMENT).expression)
  })
})

describe('nondeterministic functions', () => {
  it('are not folded', () => {
    const run = compile('random()', ENVIRONMENT).expression?.evaluate()
    const seen = new Set(Array.from({ length: 20 }, () => String(run?.({}))))
    assert.ok(seen.size > 1)
    const ids = compile('uuid()', ENVIRONMENT).expression?.evaluate()
    assert.match(String(ids?.({})), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/)
    assert.notEqual(ids?.({}), ids?.({}))
  })

  it('are from 0 to 1', () => {
    const test = compile('random() >= 0.0 && random() < 1.0', ENVIRONMENT).expression?.predicate()
    for (let i = 0; i < 100; i++) assert.equal(test?.({}), true)
  })

  for (const text of ['random() < 0.5', "jwt.sub == 'a' && [1].exists(e, random() < 0.5)"]) {
    it(`are rejected in a rule: ${text}`, () => {
      const { expression, diagnostics } = compile(text, STAGES.traffic, { pure: true })
      assert.equal(expression, undefined)
      assert.equal(diagnostics[0]?.code, 'PC0116')
      assert.equal(diagnostics[0]?.excerpt?.start, text.indexOf('random'))
      assert.ok(compile(text, STAGES.traffic).expression)
    })
  }
})
