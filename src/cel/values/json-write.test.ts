import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseCidr } from './cidr.ts'
import { parseDuration } from './duration.ts'
import { parseIp } from './ip.ts'
import { readJson } from './json-read.ts'
import { toJson } from './json-write.ts'
import { LiteralMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { parseQuantity } from './quantity.ts'
import { parseSemver } from './semver.ts'
import { show } from './show.ts'
import { Struct } from './struct.ts'
import { parseTimestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { parseUrl } from './url.ts'
import type { Value } from './value.ts'

class Peer extends Struct {
  readonly structName = 'peer'
  readonly fieldNames = new Set(['port', 'hostname'])
  readonly port = 80
  readonly hostname = undefined
  readonly secret = 'not declared'
}

describe('toJson', () => {
  for (const [value, json] of [
    [null, 'null'],
    [true, 'true'],
    [1, '1'],
    [2n ** 60n, '"1152921504606846976"'],
    [new Uint(5n), '5'],
    [new Uint(2n ** 64n - 1n), '"18446744073709551615"'],
    [0.5, '0.5'],
    [new Double(1), '1'],
    [Number.NaN, '"NaN"'],
    [Number.POSITIVE_INFINITY, '"Infinity"'],
    [Number.NEGATIVE_INFINITY, '"-Infinity"'],
    ['a', '"a"'],
    [new Uint8Array([255, 254, 0]), '"//4A"'],
    [new Uint8Array([255]), '"/w=="'],
    [[1, [new Uint(2n)]], '[1,[2]]'],
    [{ a: { b: 1 } }, '{"a":{"b":1}}'],
    [
      LiteralMap.of([
        [1, 'i'],
        [new Uint(2n), 'u'],
        [true, 'b'],
        ['s', 's'],
      ]) as Value,
      '{"1":"i","2":"u","true":"b","s":"s"}',
    ],
    [parseTimestamp('2009-02-13T23:31:30.5Z') as Value, '"2009-02-13T23:31:30.5Z"'],
    [parseDuration('1h') as Value, '"3600s"'],
    [parseIp('::1') as Value, '"::1"'],
    [parseCidr('10.0.0.0/8') as Value, '"10.0.0.0/8"'],
    [parseUrl('/a') as Value, '"/a"'],
    [parseSemver('1.2.3') as Value, '"1.2.3"'],
    [parseQuantity('1Gi') as Value, '"1Gi"'],
    [Optional.none, 'null'],
    [new Optional(1), '1'],
    [new TypeValue('int'), '"int"'],
    [new Peer(), '{"port":80}'],
    [JSON.parse('{"__proto__": 1}'), '{"__proto__":1}'],
  ] as [Value, string][]) {
    it(`${show(value)} is ${json}`, () => assert.equal(JSON.stringify(toJson(value)), json))
  }

  it('returns what readJson read', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = readJson(JSON.stringify(value))
        if (read === undefined || JSON.stringify(value).match(/[0-9]{16}/)) return
        assert.deepEqual(readJson(JSON.stringify(toJson(read))), read)
      }),
    )
  })

  it('never overflows the stack', () => {
    let deep: Value = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.ok(Array.isArray(toJson(deep)))
  })
})
