import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonical } from '../../../test/conformance/canonical.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'
import { parseIp } from '../values/ip.ts'
import { readJson } from '../values/json-read.ts'
import type { Value } from '../values/value.ts'

// Every operator and the usual functions, on operands of every type that a request has: emitters
// write different code for what they know about each.

const VARIABLES = {
  jwt: readJson(
    '{"s": "5", "n": 5, "big": 9007199254740993, "f": 0.5, "t": true, "z": null, "l": ["5", 5], "e": [], "o": {"5": "x", "s": 1}, "long": "' +
      `${'5'.repeat(300)}"}`,
  ),
  request: {
    method: '5',
    path: '/5',
    host: '',
    headers: { x: '5', y: '' },
  },
  source: { address: parseIp('10.0.0.5'), port: 5 },
} as unknown as Record<string, Value>

const operand = fc.constantFrom(
  ...['s', 'n', 'big', 'f', 't', 'z', 'l', 'e', 'o', 'none', 'long'].map((name) => `jwt.${name}`),
  ...["'5'", "''", '5', '-5', '5u', '5.0', '0.5', 'true', 'null', "['5', 5]", '[]', "{'5': 'x'}"],
  ...['request.method', 'request.path', 'request.host', "request.headers['x']", 'source.port'],
  ...["request.headers['none']", 'source.address', "ip('10.0.0.5')", "cidr('10.0.0.0/8')"],
  ...['jwt', 'request.headers', 'jwt.o.s', 'jwt.s.s', 'jwt.l[0]', "jwt['s']", 'dyn(5)', "b'5'"],
  ...["duration('5s')", "timestamp('2026-01-01T00:00:05Z')", `'${'5'.repeat(300)}'`],
)

const FORMS = [
  ...['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', 'in', '&&', '||'].map(
    (sign) => `(A ${sign} B)`,
  ),
  ...['startsWith', 'endsWith', 'contains', 'indexOf', 'matches', 'split', 'containsIP'].map(
    (name) => `A.${name}(B)`,
  ),
  ...['A[B]', 'A in [B, 5]', 'B in {A: 1}', 'A ? B : 1', '[A, B]', '{A: B}', 'A.?s.orValue(B)'],
  ...['A.exists(x, x == B)', 'A.all(x, x != B)', 'A.filter(x, x in B)', 'A.map(x, x == B)'],
  ...['default(A, B)', 'coalesce(A, B)', 'size(A) == B', 'string(A) == B', 'int(A) == B'],
  ...['!A == B', '-A == B', 'has(A.s) && B', 'type(A) == type(B)', 'A.size() > B', 'A.s == B'],
]

describe('generated code, closures and explanations', () => {
  it('agree on operands of all types', () => {
    const seen = { values: 0, errors: 0 }
    const property = fc.property(fc.constantFrom(...FORMS), operand, operand, (form, a, b) => {
      const text = form.replace('A', a).replace('B', b)
      const [generated, closures] = (['generated', 'closures'] as const).map(
        (backend) => compile(text, STAGES.traffic, { backend }).expression,
      )
      if (generated === undefined || closures === undefined) return
      const value = canonical(generated.evaluate()(VARIABLES))
      seen[value === 'error' ? 'errors' : 'values']++
      const isTrue = value === 'true'
      assert.equal(canonical(closures.evaluate()(VARIABLES)), value, text)
      assert.equal(canonical(closures.explain(VARIABLES).value), value, text)
      assert.equal(generated.predicate()(VARIABLES), isTrue, text)
      assert.equal(closures.predicate()(VARIABLES), isTrue, text)
      // What is known about the types of operands changes no result.
      const { expression: plain } = compile(text, STAGES.traffic, { check: false })
      if (plain !== undefined) assert.equal(canonical(plain.evaluate()(VARIABLES)), value, text)
    })
    fc.assert(property, fuzz(10))
    assert.ok(seen.values > 100 && seen.errors > 100, JSON.stringify(seen))
  })
})
