import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOOL } from '../../cel/check/types.ts'
import { compile, STAGES } from '../../cel/index.ts'
import { formsIn, isCovered, partsNotCovered } from './covered.ts'
import { COVERED_FORMS } from './forms.ts'

function termOf(text: string) {
  const { expression } = compile(text, STAGES.traffic, { expect: BOOL })
  assert.ok(expression, text)
  return expression.term
}

describe('forms of conditions that are analyzed', () => {
  for (const [form, { example }] of Object.entries(COVERED_FORMS)) {
    it(`${form}: ${example}`, () => {
      const { forms, others } = formsIn(termOf(example))
      assert.deepEqual([...forms], [form])
      assert.deepEqual(others, [])
    })
  }

  for (const text of [
    'jwt.a == jwt.b',
    'jwt.a in jwt.b',
    "jwt.a == ip('10.0.0.1')",
    "jwt.a < 'b'",
    'jwt.a == {}',
    "jwt.a == ['b', 'c']",
    'size(jwt.a) > 1000',
    'size(jwt) > 1',
    'size(request.path) > 500',
    "jwt.a.exists(x, x.startsWith('b'))",
    "jwt.a.all(x, x.startsWith('b'))",
    "jwt.a.all(x, x == 'b' || x != 'c')",
    "jwt.a.all(x, x != 'b' && x != 'c' && x != 'd')",
    "jwt.a.exists_one(x, x == 'b')",
    "source.subjectAltNames.all(x, x == 'b')",
    "jwt.a.split('b').exists(x, x == 'ab')",
    "jwt.a[0] == 'b'",
    "jwt.a.lowerAscii() == 'b'",
    "jwt.?a.orValue('') == 'b'",
    'type(jwt.a) == int',
    "request.startTime > timestamp('2020-01-01T00:00:00Z')",
    "string(source.address) == '10.0.0.1'",
  ]) {
    it(`not: ${text}`, () => assert.ok(!isCovered(termOf(text))))
  }

  it('names the parts that are not analyzed', () => {
    const text = "jwt.a == 'b' && (jwt.c[0] == 1 || !(jwt.d == jwt.e))"
    assert.deepEqual(partsNotCovered(termOf(text), text), ['jwt.c[0] == 1', 'jwt.d == jwt.e'])
  })
})
