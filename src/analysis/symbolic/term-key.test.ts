import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile, STAGES } from '../../cel/index.ts'
import { termKey } from './term-key.ts'

const keyOf = (text: string) => {
  const { expression, diagnostics } = compile(text, STAGES.traffic)
  assert.ok(expression, `${text}: ${diagnostics[0]?.message}`)
  return termKey(expression.term)
}

const names = (last: string) =>
  `[${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', last].map((one) => `'${one}'`).join()}]`
const long = (last: string) => `'${'x'.repeat(500)}${last}'`

/** Values that are truncated for readers are compared in full. */
const APART: readonly (readonly [string, string, string])[] = [
  [
    'the last of many names',
    `${names('i')}.exists(n, n == jwt.sub)`,
    `${names('j')}.exists(n, n == jwt.sub)`,
  ],
  [
    'the end of a long string',
    `jwt.sub.lowerAscii() == ${long('a')}`,
    `jwt.sub.lowerAscii() == ${long('b')}`,
  ],
  ['the end of long bytes', `bytes(jwt.sub) == b${long('a')}`, `bytes(jwt.sub) == b${long('b')}`],
  ['what is deep in a list', "jwt.x == [[[[['a']]]]]", "jwt.x == [[[[['b']]]]]"],
  [
    'what is deep in a map',
    "jwt.x == {'a': {'a': {'a': {'a': 1}}}}",
    "jwt.x == {'a': {'a': {'a': {'a': 2}}}}",
  ],
  ['a whole number and a fraction', 'jwt.x + 1 == 2', 'jwt.x + 1.0 == 2.0'],
  [
    'signed and unsigned',
    'type(jwt.x) == int && [1] == [jwt.x]',
    'type(jwt.x) == int && [1u] == [jwt.x]',
  ],
  [
    'nanoseconds',
    "timestamp(jwt.t) == timestamp('2026-01-01T00:00:00.000000001Z')",
    "timestamp(jwt.t) == timestamp('2026-01-01T00:00:00.000000002Z')",
  ],
  ['durations', "duration(jwt.t) == duration('1ns')", "duration(jwt.t) == duration('2ns')"],
  ['types', 'type(jwt.t) == int', 'type(jwt.t) == uint'],
  [
    'a value that is optional and none',
    "[jwt.?t] == [optional.of('a')]",
    '[jwt.?t] == [optional.none()]',
  ],
  ['minus zero', 'string(jwt.t) == string(-0.0 + jwt.x)', 'string(jwt.t) == string(0.0 + jwt.x)'],
  [
    'ranges',
    "cidr('10.0.0.0/8').containsIP(ip(jwt.a))",
    "cidr('10.0.0.0/9').containsIP(ip(jwt.a))",
  ],
]

describe('the key of a term', () => {
  for (const [name, one, other] of APART) {
    it(`tells apart ${name}`, () => {
      assert.notEqual(keyOf(one), keyOf(other))
      assert.equal(keyOf(one), keyOf(one))
    })
  }
})
