import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { parseCidr } from '../values/cidr.ts'
import { Duration } from '../values/duration.ts'
import { parseIp } from '../values/ip.ts'
import { accepts } from '../values/kind.ts'
import { Double, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import { parseQuantity } from '../values/quantity.ts'
import { parseSemver } from '../values/semver.ts'
import { Timestamp } from '../values/timestamp.ts'
import { TypeValue } from '../values/type-value.ts'
import { parseUrl } from '../values/url.ts'
import type { Value } from '../values/value.ts'
import { LIBRARIES } from './index.ts'

const GROWS: ReadonlySet<string> = new Set(['string', 'bytes', 'list', 'map', 'dyn'])

/** Functions that take no longer for a long value than for a short one, or no longer than `==`. */
const UNCHARGED: readonly string[] = [
  // The shorter side limits them, and a constant keeps one side short.
  ...['_<_', '_<=_', '_>_', '_>=_'].flatMap((name) => [
    `${name}(string,string)`,
    `${name}(bytes,bytes)`,
  ]),
  ...['startsWith', 'endsWith', 'stripPrefix', 'stripSuffix'].map(
    (name) => `${name}(string,string)`,
  ),
  // Input that is too long to be valid is not read.
  ...['bool', 'int', 'uint', 'double', 'timestamp', 'duration'].map((name) => `${name}(string)`),
  ...['ip', 'isIP', 'ip.isCanonical', 'cidr', 'isCIDR'].map((name) => `${name}(string)`),
  'containsIP(cidr,string)',
  'containsCIDR(cidr,string)',
  ...['semver', 'isSemver'].flatMap((name) => [`${name}(string)`, `${name}(string,bool)`]),
  ...['quantity', 'isQuantity'].map((name) => `${name}(string)`),
  // They pass on their input.
  'string(string)',
  'bytes(bytes)',
  'default(dyn,dyn)',
  'coalesce(dyn)',
  'fail(string)',
  'flatten(dyn)',
  'flattenRecursive(dyn)',
  '@onlyMap(map)',
  // A length that is known, or single elements.
  ...['size(bytes)', 'size(list)', 'size(map)', 'first(list)', 'last(list)'],
  // Like `in`.
  ...['contains(list,param)', 'contains(map,param)'],
  ...['math.greatest', 'math.least', 'max', 'min'].flatMap((name) => [
    `${name}(list)`,
    `${name}(dyn,dyn,dyn)`,
  ]),
]

describe('the libraries', () => {
  it('have unique names', () => {
    const names = LIBRARIES.map((library) => library.name)
    assert.deepEqual([...new Set(names)], names)
  })

  it('declare each signature once', () => {
    const seen = new Set<string>()
    for (const { functions } of LIBRARIES) {
      for (const { name, overloads } of functions) {
        for (const { receiver, params, variadic } of overloads) {
          const signature = JSON.stringify([name, receiver, params, variadic])
          assert.ok(!seen.has(signature), signature)
          seen.add(signature)
        }
      }
    }
  })

  it('charge for work that grows with client input', () => {
    const free = LIBRARIES.flatMap(({ functions }) =>
      functions.flatMap(({ name, overloads }) =>
        overloads
          .filter(({ metered, params }) => !metered && params.some(({ kind }) => GROWS.has(kind)))
          .map(({ params }) => `${name}(${params.map(({ kind }) => kind).join()})`),
      ),
    )
    assert.deepEqual([...new Set(free)].sort(), [...UNCHARGED].sort())
  })

  it('return a value or fail for any arguments, and never throw', () => {
    const overloads = LIBRARIES.flatMap(({ functions }) =>
      functions.flatMap(({ name, overloads }) => overloads.map((overload) => ({ name, overload }))),
    )
    const calls = fc
      .constantFrom(...overloads)
      .chain(({ name, overload }) =>
        fc.tuple(
          fc.constant(name),
          fc.constant(overload),
          fc.tuple(...overload.params.map((type) => SAMPLES[type.kind] ?? anything)),
        ),
      )
    fc.assert(
      fc.property(calls, ([, { call, params, result }, args]) => {
        const value = call(...args)
        // The element type of a list is not known before the call, so neither is the result type.
        const known = params.every((type) => type.kind !== 'list')
        assert.ok(value === undefined || !known || accepts(result, value))
        if (typeof value === 'string') assert.ok(value.isWellFormed())
      }),
      { numRuns: 150 },
    )
  })
})

const texts = fc.oneof(
  anyText(),
  fc.constantFrom(
    '',
    '(',
    '(a+)+',
    '%s %d %.3f',
    '%',
    '10.0.0.0/8',
    '::1',
    '1s',
    '{"a":[1]}',
    'a=b&c',
    'http://a:80/?b',
    'v1.2',
    '1.2.3-a',
    '1.5Gi',
  ),
  fc.constantFrom('2020-01-01T00:00:00Z', 'aGVsbG8=', '-1', '1e400', '[[', '$1', '\\', 'UTC'),
)
const ints = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(2 ** 53 - 1, -(2n ** 63n), 2n ** 63n - 1n, 100_000),
)
const doubles = fc
  .double()
  .map((value) => (Number.isSafeInteger(value) ? new Double(value) : value))
const scalars: fc.Arbitrary<Value> = fc.oneof(
  ...[texts, ints, doubles, fc.boolean(), fc.constant(null), fc.uint8Array()],
)
const { anything } = fc.letrec<{ anything: Value }>((tie) => ({
  anything: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('anything'), { maxLength: 4 }),
    fc.dictionary(texts, tie('anything'), { maxKeys: 3, noNullPrototype: true }),
    tie('anything').map((value) => new Optional(value)),
  ),
}))

const SAMPLES: Record<string, fc.Arbitrary<unknown>> = {
  string: texts,
  int: ints,
  uint: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => new Uint(value)),
  double: doubles,
  bool: fc.boolean(),
  null: fc.constant(null),
  bytes: fc.uint8Array(),
  list: fc.array(fc.oneof(anything, texts), { maxLength: 5 }),
  map: fc.dictionary(texts, anything, { maxKeys: 3, noNullPrototype: true }),
  timestamp: fc.integer({ min: -6e10, max: 2e11 }).map((seconds) => new Timestamp(seconds, 1)),
  duration: fc.integer({ min: -9e9, max: 9e9 }).map((seconds) => new Duration(seconds, 999)),
  ip: fc.constantFrom(...['10.0.0.7', '::1', 'fe80::1'].map(parseIp)),
  cidr: fc.constantFrom(...['10.0.0.0/8', '::/0', '1.2.3.4/32'].map(parseCidr)),
  url: fc.constantFrom(...['/a?b=%zz', 'http://[::1]:80', 'a:b'].map(parseUrl)),
  semver: fc.constantFrom(...['1.2.3-a.1', '18446744073709551615.0.0'].map(parseSemver)),
  quantity: fc.constantFrom(...['1Gi', '-5m', '0', '1e99'].map(parseQuantity)),
  optional: fc.oneof(
    anything.map((value) => new Optional(value)),
    fc.constant(Optional.none),
  ),
  type: fc.constantFrom(new TypeValue('int'), new TypeValue('list')),
}
