import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseCidr } from './cidr.ts'
import { parseDuration } from './duration.ts'
import { equals } from './equal.ts'
import { parseIp } from './ip.ts'
import { LiteralMap } from './map.ts'
import { Double, double, Uint } from './number.ts'
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
  readonly fieldNames = new Set(['port'])
  readonly port = 80
}

const peer = new Peer()
const map = (...entries: [Value, Value][]) => LiteralMap.of(entries) as Value
const ip = (text: string) => parseIp(text) as Value
const cidr = (text: string) => parseCidr(text) as Value
const time = (text: string) => parseTimestamp(text) as Value
const span = (text: string) => parseDuration(text) as Value
const bytes = (...values: number[]) => new Uint8Array(values)

const EQUAL: readonly (readonly [Value, Value])[] = [
  [null, null],
  [true, true],
  [1, new Uint(1n)],
  [1, new Double(1)],
  [new Uint(1n), new Double(1)],
  [0, new Double(-0)],
  [new Double(0), new Double(-0)],
  [2n ** 60n, 2 ** 60],
  [new Uint(2n ** 63n), 2 ** 63],
  [2n ** 60n, new Uint(2n ** 60n)],
  [0.5, 0.5],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ['', ''],
  ['😀', '\u{1f600}'],
  [bytes(1, 2), bytes(1, 2)],
  [
    [1, [2]],
    [new Uint(1n), [new Double(2)]],
  ],
  [{}, map()],
  [{ a: 1, b: null }, map(['b', null], ['a', new Double(1)])],
  [map([1, 'x']), map([new Uint(1n), 'x'])],
  [JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')],
  [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  [time('2009-02-13T23:31:30Z'), time('2009-02-14T01:31:30+02:00')],
  [span('1h'), span('60m')],
  [ip('10.0.0.7'), ip('10.0.0.7')],
  [ip('10.0.0.7'), '10.0.0.7'],
  [ip('2001:db8::1'), '2001:DB8:0::1'],
  [
    ['x', ip('::1')],
    ['x', '::1'],
  ],
  [cidr('10.0.0.0/8'), cidr('10.0.0.0/8')],
  [parseUrl('HTTP://a') as Value, parseUrl('http://a') as Value],
  [parseSemver('1.2.3+a') as Value, parseSemver('1.2.3') as Value],
  [parseQuantity('1Ki') as Value, parseQuantity('1024') as Value],
  [new TypeValue('int'), new TypeValue('int')],
  [Optional.none, new Optional(undefined)],
  [new Optional(1), new Optional(new Uint(1n))],
  [peer, peer],
]

const DIFFERENT: readonly (readonly [Value, Value])[] = [
  [null, false],
  [0, false],
  [0, null],
  ['', null],
  [1, '1'],
  [1, true],
  [0, ''],
  [Number.NaN, Number.NaN],
  [[Number.NaN], [Number.NaN]],
  [1, 0.5],
  [9007199254740993n, 2 ** 53],
  [new Uint(2n ** 64n - 1n), 2 ** 64],
  [2n ** 63n - 1n, 2 ** 63],
  [-1, new Uint(2n ** 64n - 1n)],
  ['Am\u00e9lie', 'Ame\u0301lie'],
  ['a', bytes(97)],
  [bytes(1), [1]],
  [bytes(1, 2), bytes(1, 3)],
  [bytes(1, 2), bytes(1)],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 1]],
  [[], {}],
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { b: 1 }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [{ a: 1 }, map([1, 1])],
  [{ constructor: 1 }, { x: 1 }],
  [{ x: 1 }, JSON.parse('{"__proto__": 1}')],
  [time('2009-02-13T23:31:30Z'), time('2009-02-13T23:31:30.000000001Z')],
  [span('1s'), time('1970-01-01T00:00:01Z')],
  [span('1s'), span('-1s')],
  [ip('10.0.0.7'), ip('10.0.0.8')],
  [ip('0.0.0.1'), ip('::1')],
  [ip('10.0.0.7'), '10.0.0.7/32'],
  [ip('10.0.0.7'), '010.0.0.7'],
  [ip('10.0.0.7'), '::ffff:10.0.0.7'],
  [ip('10.0.0.7'), ' 10.0.0.7'],
  [ip('fe80::1'), 'fe80::1%eth0'],
  [ip('10.0.0.7'), 10],
  [cidr('10.0.0.0/8'), '10.0.0.0/8'],
  [parseUrl('/a') as Value, '/a'],
  [parseUrl('/a') as Value, parseUrl('/b') as Value],
  [parseSemver('1.2.3') as Value, parseSemver('1.2.4') as Value],
  [parseQuantity('1') as Value, 1],
  [parseQuantity('1k') as Value, parseQuantity('1Ki') as Value],
  [cidr('10.0.0.1/8'), cidr('10.0.0.0/8')],
  [cidr('10.0.0.0/8'), cidr('10.0.0.0/9')],
  [cidr('10.0.0.0/32'), ip('10.0.0.0')],
  [new TypeValue('int'), 'int'],
  [new TypeValue('int'), new TypeValue('uint')],
  [Optional.none, null],
  [Optional.none, new Optional(null)],
  [new Optional(1), 1],
  [peer, new Peer()],
  [peer, { port: 80 }],
]

describe('equals', () => {
  for (const [a, b] of EQUAL) {
    it(`${show(a)} == ${show(b)}`, () => assert.ok(equals(a, b) && equals(b, a)))
  }
  for (const [a, b] of DIFFERENT) {
    it(`${show(a)} != ${show(b)}`, () => assert.ok(!equals(a, b) && !equals(b, a)))
  }

  it('compares numbers of all types by value', () => {
    const integers = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
      fc.bigInt({ min: 0n, max: 5n }),
    )
    fc.assert(
      fc.property(integers, integers, (a, b) => {
        for (const x of forms(a)) for (const y of forms(b)) assert.equal(equals(x, y), a === b)
      }),
    )
  })

  it('never overflows the stack', () => {
    let deep: Value = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.equal(equals(deep, [deep]), false)
    assert.equal(equals(JSON.parse(`${'['.repeat(400)}${']'.repeat(400)}`), []), false)
  })
})

/** All values that represent this integer. */
function forms(integer: bigint): readonly Value[] {
  const all: Value[] = []
  if (BigInt.asIntN(64, integer) === integer) {
    all.push(Number.isSafeInteger(Number(integer)) ? Number(integer) : integer)
  }
  if (integer >= 0n) all.push(new Uint(integer))
  if (BigInt(Number(integer)) === integer) all.push(double(Number(integer)))
  return all
}
