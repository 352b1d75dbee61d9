import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseCidr } from './cidr.ts'
import { parseDuration } from './duration.ts'
import { parseIp } from './ip.ts'
import { LiteralMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { parseQuantity } from './quantity.ts'
import { parseSemver } from './semver.ts'
import { show } from './show.ts'
import { parseTimestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { parseUrl } from './url.ts'
import type { Value } from './value.ts'

describe('show', () => {
  for (const [value, text] of [
    [null, 'null'],
    [true, 'true'],
    [-5, '-5'],
    [2n ** 60n, '1152921504606846976'],
    [new Uint(5n), '5u'],
    [new Double(1), '1.0'],
    [new Double(-0), '-0.0'],
    [0.5, '0.5'],
    [1e300, '1e+300'],
    [2 ** 53, '9007199254740992.0'],
    [Number.NaN, "double('NaN')"],
    [Number.NEGATIVE_INFINITY, "double('-Infinity')"],
    ['alice', "'alice'"],
    ["it's \\ \n\r\t\0", "'it\\'s \\\\ \\n\\r\\t\\u0000'"],
    ['\u202ereversed\u{e0001}', "'\\u202ereversed\\U000e0001'"],
    ['a'.repeat(100), `'${'a'.repeat(80)}…'`],
    [`${'a'.repeat(79)}😀`, `'${'a'.repeat(79)}…'`],
    [new Uint8Array([104, 105, 0, 255, 39]), "b'hi\\x00\\xff\\x27'"],
    [new Uint8Array(100), `b'${'\\x00'.repeat(32)}…'`],
    [[1, 'a', []], "[1, 'a', []]"],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], '[1, 2, 3, 4, 5, 6, 7, 8, …]'],
    [[[[[[1]]]]], '[[[[…]]]]'],
    [{ a: 1, 'b c': null }, "{'a': 1, 'b c': null}"],
    [{ a: { b: { c: { d: 1 } } } }, "{'a': {'b': {'c': {…}}}}"],
    [LiteralMap.of([[new Uint(1n), true]]) as Value, '{1u: true}'],
    [Optional.none, 'optional.none()'],
    [new Optional('a'), "optional.of('a')"],
    [new TypeValue('int'), 'int'],
    [parseIp('2001:DB8::1') as Value, "ip('2001:db8::1')"],
    [parseCidr('10.0.0.0/8') as Value, "cidr('10.0.0.0/8')"],
    [parseUrl("/a'b") as Value, "url('/a\\'b')"],
    [parseSemver('1.2.3') as Value, "semver('1.2.3')"],
    [parseQuantity('1Gi') as Value, "quantity('1Gi')"],
    [parseTimestamp('2009-02-13T23:31:30Z') as Value, "timestamp('2009-02-13T23:31:30Z')"],
    [parseDuration('1h') as Value, "duration('3600s')"],
  ] as [Value, string][]) {
    it(text.slice(0, 60), () => assert.equal(show(value), text))
  }

  it('is short, well-formed and without control characters, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = show(value as Value)
        assert.ok(text.length <= 401 && text.isWellFormed())
        assert.doesNotMatch(text, /\p{Cc}/u)
      }),
    )
    let deep: Value = 1
    for (let i = 0; i < 100_000; i++) deep = i % 2 ? { deep } : [deep]
    assert.equal(show(deep), "{'deep': [{'deep': […]}]}")
  })
})
