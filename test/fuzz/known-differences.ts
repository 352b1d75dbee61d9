/** A known difference from another engine, and why it is not an error here. */
export interface Difference {
  readonly name: string
  /** Expressions that may show the difference. */
  readonly where: RegExp
  readonly reason: string
}

/** For all of these, cel-go agrees with us: test/oracle compares the same expressions with it. */
export const BUFBUILD: readonly Difference[] = [
  {
    name: 'string functions count UTF-16 units',
    where: /\.(?:charAt|substring|indexOf|split|replace)\(/,
    reason: 'CEL counts code points; and replacing the empty string inserts between all of them',
  },
  {
    name: 'strings are ordered by UTF-16 units',
    where: /[<>]=? .*(?:\bs2?\b|')|(?:\bs2?\b|').* [<>]/,
    reason: 'CEL orders them by code point: U+FFFF is before U+1F600',
  },
  {
    name: 'doubles and instants in JavaScript notation',
    where: /string\(/,
    reason: "string(1e-7) is '1e-07', and half a second is '.5', not '.500'",
  },
  {
    name: 'loose conversions of text',
    where: /(?:double|uint|int|bool)\(/,
    reason: "double('x') is an error, not NaN; uint('-0') is one too; bool('T') is true",
  },
  {
    name: 'uint division as if of ints',
    where: /^(?=.*(?:\bu\b|\du\b)).* \/ /s,
    reason: 'it fails from 2^63 on; a uint has 64 bits',
  },
  {
    name: 'the least int',
    where: / % |-\(/,
    reason: '-(-2^63) and -2^63 % -1 overflow; two minuses are not taken away beforehand',
  },
  {
    name: 'timestamp(int) in milliseconds',
    where: /timestamp\((?!')|timestamp\('2021-02-29/,
    reason: 'it takes seconds since 1970; and the 29th of February 2021 is no day',
  },
  {
    name: 'getters round up',
    where: /\.get\w+\(/,
    reason: '59.999999999 seconds are 59, and 999 milliseconds are not 0',
  },
  {
    name: 'has() of a value that has no fields, or whose field is null',
    where: /has\(j\./,
    reason: 'the first is an error, the second true',
  },
  {
    name: 'durations beyond 292 years',
    where: /timestamp|duration|\b[tr]2?\b/,
    reason: 'a duration is as many nanoseconds as fit in an int64',
  },
]

export const CEL_GO: readonly Difference[] = [
  {
    name: 'maps have no order in Go',
    where: /\.map\(s, m\[s\]\)/,
    reason: 'here keys come in the order in which they were written',
  },
  {
    name: 'timestamps remember their offset',
    where: /-07:00/,
    reason: 'cel-spec: a timestamp is an instant, and string() of it is in UTC',
  },
  {
    name: 'durations are printed and split as floating point',
    where: /string\(|\.get(?:Seconds|Minutes|Hours)\(\)/,
    reason: 'cel-go loses nanoseconds of long durations; here they are exact',
  },
  {
    name: 'getMilliseconds() of a duration',
    where: /\.getMilliseconds\(\)/,
    reason: 'cel-spec: the milliseconds within the second; cel-go returns all of them',
  },
  {
    name: 'a key that is given twice',
    where: /\{.+: .+, .+: .+\}/,
    reason: 'cel-spec: an error; cel-go keeps the last',
  },
]

/** Returns a difference that may explain the result, or undefined if there is none. */
export function knownDifference(of: readonly Difference[], text: string): Difference | undefined {
  return of.find(({ where }) => where.test(text))
}
