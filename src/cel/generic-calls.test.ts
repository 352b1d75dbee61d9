import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOOL } from './check/types.ts'
import { compile, type Variables } from './index.ts'
import { STAGES } from './stages.ts'

/** Calls whose result type depends on their arguments' contents, on values of unknown type. */
const GENERIC = [
  "string(json(request.headers['x']).first().value()) == '5'",
  "string(json(request.headers['x']).last().value()) == '5'",
  "string(json(request.headers['x']).sort()[0]) == '5'",
  "string(json(request.headers['x']).sortBy(e, e)[0]) == '5'",
  "string(json(request.headers['x']).distinct()[0]) == '5'",
  "string(json(request.headers['x']).slice(0, 1)[0]) == '5'",
  "string(json(request.headers['x']).reverse()[0]) == '5'",
  "string(json(request.headers['x']).flatten()[0]) == '5'",
  "string(json(request.headers['x'])[?0].orValue('none')) == '5'",
  "string(optional.of('none').optFlatMap(o, json(request.headers['x']).first()).value()) == '5'",
  "string((['text'] + json(request.headers['x']))[1]) == '5'",
  "string(([] + json(request.headers['x']))[0]) == '5'",
  "string(([['text']] + [json(request.headers['x'])])[1][0]) == '5'",
  "string(jwt.list.first().value()) == '5'",
  "string(jwt.list.sort()[0]) == '5'",
  "string(jwt.map.merge({'other': 'text'}).n) == '5'",
  "string({'n': 'text'}.merge(jwt.map).n) == '5'",
  "string(merge({'n': 'text'}, jwt.map).n) == '5'",
  'jwt.list.first().value() + 1 == 6 && jwt.list.last().value() + 1 == 6',
] as const

const VARIABLES = {
  request: { headers: { x: '[5]' } },
  jwt: { list: [5], map: { n: 5 } },
} as unknown as Variables

describe('generic calls on a dynamic value return a dynamic value', () => {
  for (const text of GENERIC) {
    it(text, () => {
      for (const backend of ['generated', 'closures'] as const) {
        const { expression, diagnostics } = compile(text, STAGES.traffic, { expect: BOOL, backend })
        assert.deepEqual(diagnostics, [])
        assert.equal(expression?.predicate()(VARIABLES), true, backend)
        assert.equal(expression?.explain(VARIABLES).value, true, 'explain')
      }
    })
  }

  it('known types of the other arguments are kept', () => {
    const { diagnostics } = compile("[1].first().value() == 'a'", STAGES.traffic)
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      ['PC0108'],
    )
  })

  it('an overload that does not match leaves no type bindings', () => {
    const { diagnostics } = compile('size([1] + [2]) == 2', STAGES.traffic)
    assert.deepEqual(diagnostics, [])
  })
})
