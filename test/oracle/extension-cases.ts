/**
 * Expressions over the extension libraries that cel-go also has; cel-go determines the expected
 * results. `|` separates expressions on the same line.
 */
const LISTS = `
  [1, 2, 3].slice(0, 2) | [1, 2, 3].slice(1, 1) | [1, 2, 3].slice(0, 4) | [1, 2, 3].slice(-1, 2)
  [1, 2, 3].slice(2, 1) | [].slice(0, 0) | [1, [2, [3, [4]]]].flatten() | [[1], [], [2, 3]].flatten()
  [1, [2, [3, [4]]]].flatten(2) | [1, [2, [3, [4]]]].flatten(0) | [1, [2]].flatten(-1)
  [3, 1, 2].sort() | ['b', 'a', 'é', '\\U0001F600', '\\uFFFF'].sort() | [true, false].sort()
  [1.5, -1.0, 0.0].sort() | [2u, 1u].sort() | [duration('2s'), duration('1s')].sort()
  [timestamp('2020-01-01T00:00:00Z'), timestamp('1999-01-01T00:00:00Z')].sort() | [].sort()
  [b'b', b'a'].sort() | [dyn(1), dyn('a')].sort() | [[1], [2]].sort() | [dyn(1), dyn(2u)].sort()
  [1, 1, 2, 2, 1].distinct() | ['a', 'a'].distinct() | [dyn(1), dyn(1.0), dyn(1u)].distinct()
  [[1], [1], [2]].distinct() | [].distinct() | [{'a': 1}, {'a': 1}].distinct()
  [1, 2, 3].reverse() | [].reverse() | lists.range(5) | lists.range(0) | lists.range(-1)
  [1, 2].first() | [].first() | [1, 2].last() | [].last() | [1, 2].first().value() | [].last().orValue(7)
`

const SETS = `
  sets.contains([1, 2, 3], [1, 2]) | sets.contains([1], []) | sets.contains([], [1]) | sets.contains([], [])
  sets.contains([1, 2.0, 3u], [1.0, 2u, 3]) | sets.contains([[1], [2, 3]], [[2, 3.0]])
  sets.contains([dyn(1), dyn('a')], [dyn('a')]) | sets.equivalent([1, 2], [2, 1, 1])
  sets.equivalent([], []) | sets.equivalent([1], [2]) | sets.equivalent([1, 2u, 3.0], [1.0, 2, 3u])
  sets.intersects([1], []) | sets.intersects([1, 2], [2, 3]) | sets.intersects([[1], [2]], [[3], [2.0]])
  sets.intersects([{'a': 1}], [{'a': 1.0}]) | sets.contains('a', ['a'])
`

const MATH = `
  math.greatest(1, 2.5, 2u) | math.least(1, 2.5, 2u) | math.greatest([1, 5, 3]) | math.greatest([])
  math.greatest(0.0/0.0, 1.0) | math.greatest(1.0, 0.0/0.0) | math.least([1.0, 0.0/0.0, 2.0]) | math.least(1, 0.0/0.0) | math.greatest(0.0/0.0)
  math.least(-0.0, 0.0) | math.greatest('a') | math.ceil(1.2) | math.ceil(-1.2) | math.floor(-1.2)
  math.round(1.5) | math.round(-1.5) | math.round(2.5) | math.round(0.49999999999999994)
  math.trunc(-1.9) | math.abs(-3) | math.abs(-3.5) | math.abs(3u) | math.abs(-9223372036854775808)
  math.sign(-3) | math.sign(0.0) | math.sign(-0.0) | math.sign(5u) | math.isNaN(0.0/0.0) | math.isInf(-1.0/0.0)
  math.isFinite(1.0) | math.bitAnd(12, 10) | math.bitAnd(12u, 10u) | math.bitOr(12, -1) | math.bitXor(5u, 3u)
  math.bitNot(0) | math.bitNot(0u) | math.bitShiftLeft(1, 63) | math.bitShiftLeft(1, 64)
  math.bitShiftLeft(1, -1) | math.bitShiftRight(-1, 1) | math.bitShiftRight(-9223372036854775808, 63)
  math.bitShiftRight(18446744073709551615u, 60) | math.bitAnd(1, 2u) | math.sqrt(16) | math.sqrt(2.0)
  math.sqrt(-1.0) | math.sqrt(81u) | math.round(math.sqrt(1e300)) | math.sign(0.0/0.0)
  math.abs(-0.0) | math.ceil(-0.5) | math.round(-0.4)
`

const STRINGS = `
  'tacocat'.charAt(3) | 'tacocat'.charAt(7) | 'tacocat'.charAt(8) | 'a\\U0001F600b'.charAt(1)
  'a\\U0001F600b'.charAt(2) | 'a\\U0001F600b'.indexOf('b') | 'hello mellow'.indexOf('ello', 2)
  'hello mellow'.indexOf('') | 'hello mellow'.indexOf('', 5) | 'hello mellow'.indexOf('ello', 20)
  'hello mellow'.indexOf('o', -1) | 'hello mellow'.lastIndexOf('ello') | 'hello mellow'.lastIndexOf('')
  'a'.lastIndexOf('a', 1) | 'a'.lastIndexOf('', 1) | 'tacocat'.lastIndexOf('t', 6) | 'tacocat'.lastIndexOf('t', 7)
  'hello mellow'.lastIndexOf('ello', 6) | 'hello mellow'.lastIndexOf('ello', -1)
  'a\\U0001F600a'.lastIndexOf('a') | ['x', 'y'].join() | ['x', 'y'].join('-') | [].join('-')
  'TacoCÆt Xii'.lowerAscii() | 'TacoCÆt Xii'.upperAscii() | 'hello hello'.replace('he', 'we')
  'hello hello'.replace('he', 'we', -1) | 'hello hello'.replace('he', 'we', 1) | 'hello hello'.replace('he', 'we', 0)
  'ab'.replace('', '_') | 'ab'.replace('', '_', 2) | 'a\\U0001F600'.replace('', '_') | ''.replace('', '_')
  'hello hello hello'.split(' ') | 'hello hello hello'.split(' ', 0) | 'hello hello hello'.split(' ', 1)
  'hello hello hello'.split(' ', 2) | 'hello hello hello'.split(' ', -1) | 'a\\U0001F600b'.split('')
  'abc'.split('', 2) | ''.split('') | ''.split(',') | ','.split(',') | 'tacocat'.substring(4)
  'tacocat'.substring(0, 4) | 'tacocat'.substring(-1) | 'tacocat'.substring(2, 1) | 'tacocat'.substring(7)
  'tacocat'.substring(8) | 'a\\U0001F600b'.substring(1, 2) | '  \\ttrim\\n '.trim() | '\\u00a0x\\u2003'.trim()
  '\\u180ex\\u200b'.trim() | '\\ufeffx'.trim() | '\\u0085x\\u0085'.trim() | 'gums'.reverse() | 'a\\U0001F600'.reverse()
  ''.reverse() | strings.quote('a "b" \\\\ \\n') | strings.quote('\\u0007\\u000b\\u0000') | strings.quote('\\U0001F600é')
  'x %s %d %f %x %X %o %b %e'.format(['a', 1, 1.5, 255, 255, 8, 5, 12345.678])
  '%.2f %.0f %.3e'.format([2.5, 2.5, 1234.5]) | '%s'.format([[1, 'a', 2.5, true, null]])
  '%s'.format([{'b': 1, 'a': 2}]) | '%s %s'.format([duration('1h'), timestamp('2020-01-01T00:00:00Z')])
  '%x %X'.format(['hello', b'\\xff']) | '%d'.format([1.5]) | '%s'.format([]) | '%%'.format([]) | '%'.format([])
  '%d %d'.format([9223372036854775807, 18446744073709551615u]) | '%b'.format([true]) | '%b'.format([-5])
  '%x'.format([-255]) | '%o'.format([-8]) | '%f'.format([1]) | '%.1f'.format([0.05]) | '%.20f'.format([0.1])
  '%s'.format([1.0]) | '%s'.format([1e21]) | '%s'.format([0.0/0.0]) | '%f'.format([1.0/0.0]) | '%s'.format([-0.0])
  '%s'.format([b'abc']) | '%s'.format([type(1)]) | '%d'.format(['a']) | '%z'.format([1]) | '%.f'.format([1.5])
  '%s'.format([[[1], {'a': [b'x', 1u]}]]) | '%s'.format([{1: 'a', true: 'b', 2u: 'c'}]) | '%e'.format([0.0])
  '%.3d'.format([5]) | '%5d'.format([5]) | '%e'.format([1e-7]) | '%f'.format([1e20]) | '%f'.format([123456789.123456789])
`

const STANDARD = `
  'abc'.matches('b') | 'abc'.matches('^b') | 'abc'.matches('(?i)B') | 'a\\nb'.matches('a.b') | 'a\\nb'.matches('(?s)a.b')
  'abc'.matches('[') | 'é'.matches('^.$') | '\\U0001F600'.matches('^.$') | 'ab'.matches('\\\\Aab\\\\z') | 'x'.matches('\\\\pL')
  'K'.matches('(?i)k') | '\\u212a'.matches('(?i)k') | 'a'.matches('a{1001}') | 'aa'.matches('^a{2}$') | ''.matches('')
  'foo.bar'.matches('foo\\\\.bar$') | 'foo\\n'.matches('foo$') | 'a'.matches('(?P<n>a)') | 'a'.matches('a(?=b)')
  int('9223372036854775808') | int('-9223372036854775808') | int(' 1') | int('+1') | int('0x10') | int('1_000') | int('')
  uint('18446744073709551615') | uint('18446744073709551616') | uint('-1') | uint('+1') | uint('1.0')
  int(9223372036854775807.0) | int(9223372036854774784.0) | int(-9223372036854775808.0) | int(1e300) | int(0.0/0.0)
  uint(18446744073709551615.0) | uint(18446744073709549568.0) | uint(-0.5) | uint(-1) | int(-1.9)
  double('1e400') | double('-1e400') | double('inf') | double('+Inf') | double('Infinity') | double('nan') | double('0x1p-2')
  double('1_0') | double('.5') | double('5.') | double(' 1') | double('1e') | double('') | double('-0') | double('infinit')
  string(1.0) | string(-0.0) | string(1e20) | string(1e21) | string(1e-5) | string(1e-4) | string(123456.0) | string(1234567.0)
  string(1.7976931348623157e308) | string(5e-324) | string(0.1) | string(100.0) | string(0.0/0.0) | string(1.0/0.0)
  string(b'\\xff') | string(b'abc') | bytes('é') | bool('TRUE') | bool('True') | bool('tRUE') | bool('1') | bool('f') | bool('yes')
  timestamp('2020-02-30T00:00:00Z') | timestamp('2020-01-01T24:00:00Z') | timestamp('2020-01-01T00:00:60Z')
  timestamp('2020-01-01T00:00:00') | timestamp('2020-01-01t00:00:00z') | timestamp('2020-01-01 00:00:00Z')
  timestamp('2020-01-01T00:00:00.1234567891Z') | timestamp('2020-01-01T00:00:00.Z') | timestamp('2020-1-1T00:00:00Z')
  timestamp('2020-01-01T00:00:00+24:00') | timestamp('2020-01-01T00:00:00+14:00') | timestamp('2020-01-01T00:00:00-00:00')
  timestamp('9999-12-31T23:59:59-01:00') | timestamp('0001-01-01T00:00:00+01:00') | timestamp('2020-01-01T00:00:00,5Z')
  timestamp(253402300800) | timestamp(-62135596801) | int(timestamp('1969-12-31T23:59:59.5Z')) | timestamp('')
  duration('1h1m1s1ms1us1ns') | duration('1.5h') | duration('-1.5s') | duration('+1s') | duration('1') | duration('0')
  duration('.5s') | duration('1.s') | duration('.s') | duration('1d') | duration('1 s') | duration('1µs') | duration('1μs') | duration('')
  duration('9223372036.854775807s') | duration('9223372036.854775808s') | duration('-9223372036.854775808s') | duration('1h-1m')
  timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') | timestamp('2020-07-01T00:00:00Z').getHours('Europe/Berlin')
  timestamp('2020-01-01T00:00:00Z').getHours('02:30') | timestamp('2020-01-01T00:00:00Z').getHours('-2:30')
  timestamp('2020-01-01T00:00:00Z').getMinutes('+5:45') | timestamp('2020-01-01T00:00:00Z').getHours('Nowhere/City')
  timestamp('2020-01-01T00:00:00Z').getHours('') | timestamp('1883-11-18T12:00:00Z').getMinutes('America/New_York')
  timestamp('2020-01-01T00:00:00Z').getDayOfWeek() | timestamp('2020-12-31T00:00:00Z').getDayOfYear()
  timestamp('2020-01-01T00:00:00Z').getHours('utc') | timestamp('2020-01-01T00:00:00Z').getHours('europe/berlin')
  timestamp('2020-01-01T00:00:00Z').getMinutes('+5:30') | timestamp('2020-01-01T00:00:00Z').getMinutes('5:3')
  timestamp('2020-01-01T00:00:00Z').getHours('UTC') | timestamp('2020-01-01T00:00:00Z').getHours('Local')
  timestamp('2020-01-01T00:00:00Z').getHours('EST') | timestamp('2020-01-01T00:00:00Z').getHours('+24:00')
  9223372036854775807 + 1 | -9223372036854775808 - 1 | -(-9223372036854775808) | -9223372036854775808 / -1
  -9223372036854775808 % -1 | 7 / -2 | -7 % 2 | 7 % -2 | 1 / 0 | 1 % 0 | 1.0 / 0.0 | 1u - 2u | 18446744073709551615u + 1u
  3037000500 * 3037000500 | 4294967296u * 4294967296u | 0u / 0u | 1.5 % 1.0
  dyn(1) == 1.0 | dyn(1u) == 1 | dyn(9007199254740993) == 9007199254740992.0 | dyn(-1) == 18446744073709551615u
  dyn('1') == 1 | dyn(0.0/0.0) == 0.0/0.0 | [dyn(1)] == [1.0] | {dyn(1): 'a'} == {dyn(1u): 'a'} | null == null
  1 < 1.5 | 1u < -1.0 | dyn(9007199254740993) > 9007199254740992.0 | dyn('a') < dyn(1) | [1] < [2]
  1 in [1.0] | dyn(1) in [1.0] | 1.0 in {1: 'a'} | dyn(1.0) in {1: 'a'} | 'a' in {'a': 1} | null in [null] | 1 in 1
  {1: 'a'}[1.0] | {1: 'a'}[dyn(1u)] | {'a': 1}['b'] | {'a': 1}.b | [1, 2][dyn(1.0)] | [1, 2][dyn(0.5)] | [1][-1] | [1][5]
  {'a': 1, 'a': 2} | {1: 1, 1u: 2} | {1.0: 1} | {null: 1} | {[1]: 1} | {true: 1, 'true': 2, 1: 3}
  type(1) == int | type(type(1)) | type(null) | type([]) == list | type({}) == map | type(b'') | type(1u) | type(1.0)
  true && 1/0 == 1 | false && 1/0 == 1 | 1/0 == 1 && false | 1/0 == 1 || true | true || 1/0 == 1 | !(1/0 == 1)
  dyn('horses') && false | dyn('horses') || true | dyn(1) ? 2 : 3 | (1/0 == 1) ? 2 : 3 | true ? 1 : dyn(1/0)
  [1, 0].all(x, 1/x > 5) | [0, 2].all(x, 4/x == 2) | [0, 1].exists(x, 1/x == 1) | [1, 0].exists(x, 1/x == 2)
  [0, 1].exists_one(x, 1/x == 1) | [1, 2, 3].map(x, x % 2 == 1, x * 2) | [1, 2, 3].filter(x, x > 5) | {'b': 1}.map(k, k)
  [].all(x, 1/0 == 1) | [].exists(x, true) | [1, 1].exists_one(x, x == 1) | 'abc'.map(x, x) | size('é😀') | size(b'é')
  has({'a': null}.a) | has({'a': {}}.a.b) | has({}.a.b) | has({'a': 1}.a.b) | {'a': {'b': 1}}.a.b
  optional.of(1) == optional.of(1.0) | optional.none() == optional.none() | optional.of(null).hasValue()
  optional.ofNonZeroValue(0) | optional.ofNonZeroValue('') | optional.ofNonZeroValue(null) | optional.none().value()
  {'a': 1}.?a | {'a': 1}.?b | {'a': 1}.?b.?c.orValue(3) | [1][?0] | [1][?3] | [1][?-1] | {}[?'a'].or(optional.of(2))
  optional.of(2).optMap(x, x * 2) | optional.none().optMap(x, x) | optional.of(2).optFlatMap(x, optional.none()) | [?optional.none(), 1]
  {?'a': optional.of(1), ?'b': optional.none()} | optional.unwrap([optional.of(1), optional.none()]) | [optional.of(1)].unwrapOpt()
  optional.of(1).orValue(1/0) | optional.none().orValue(1/0) | optional.of(1).or(optional.of(1/0)) | optional.none().or(optional.of(1/0))
  {'a': 1}.?a.orValue({'b': 2}.c) | {'a': 1}.?b.or({'b': 2}.?b).orValue(1/0) | dyn(1).orValue(2)
  cel.bind(x, 2, x * x) | cel.bind(x, [1, 2], x.map(y, y + x.size())) | [1, 2].all(i, v, i < v) | {'a': 1}.exists(k, v, k == 'a' && v == 1)
  [3, 4].transformList(i, v, i * v) | [3, 4].transformMap(i, v, i * v) | {'a': 1}.transformMapEntry(k, v, {v: k}) | {'a': 1}.transformList(k, v, k)
  {'a': 1}.transformMapEntry(k, v, {}) | ['a'].transformMapEntry(i, v, {v: i, v + v: i}) | [1, 2].transformMapEntry(i, v, {?v: i == 0 ? optional.of(i) : optional.none()})
  ['a', 'b'].transformMapEntry(i, v, {v: i, 'a': i}) | [1].transformMapEntry(i, v, dyn(1))
  rb'a' | br'a' | bR'a' | Rb'a' | 0X1 | 0x1F | 0xfU
  base64.encode(b'\\xff\\xfe') | base64.decode('__4=') | base64.decode('//4=') | base64.decode('//4') | base64.decode('/') | base64.encode(b'')
`

export const EXTENSION_CASES: readonly string[] = [LISTS, SETS, MATH, STRINGS, STANDARD].flatMap(
  (section) =>
    section
      .split(/\n|(?<= )\|(?= )/)
      .map((text) => text.trim())
      .filter((text) => text !== ''),
)
