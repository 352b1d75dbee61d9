import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { durationFromNanos, durationOf, parseDuration } from './duration.ts'

const MAX = 2n ** 63n - 1n
const MIN = -(2n ** 63n)

describe('parseDuration', () => {
  for (const [text, nanos] of [
    ['0', 0n],
    ['-0', 0n],
    ['0s', 0n],
    ['1h30m', 5_400_000_000_000n],
    ['1.5s', 1_500_000_000n],
    ['+1.5s', 1_500_000_000n],
    ['-1.5s', -1_500_000_000n],
    ['-0.000000001s', -1n],
    ['.5s', 500_000_000n],
    ['5.s', 5_000_000_000n],
    ['1us', 1000n],
    ['1\u00b5s', 1000n],
    ['1\u03bcs', 1000n],
    ['1h1m1s1ms1us1ns', 3_661_001_001_001n],
    ['1s1h', 3_601_000_000_000n],
    ['0.1h', 360_000_000_000n],
    ['1.9999999999s', 1_999_999_999n],
    ['9223372036854775807ns', MAX],
    ['2562047h47m16.854775807s', MAX],
    ['-9223372036854775808ns', MIN],
  ] as const) {
    it(`${text} is ${nanos} nanoseconds`, () => assert.equal(parseDuration(text)?.total, nanos))
  }

  for (const text of [
    '',
    '-',
    '1',
    's',
    '.s',
    '1d',
    '1S',
    '1 s',
    ' 1s',
    '1s ',
    '1h1',
    '1hs',
    '1e3s',
    '--1s',
    '1h-1m',
    '1,5s',
    '1_0s',
    '١s',
    '9223372036854775808ns',
    '-9223372036854775809ns',
    '320000000000s',
    '-320000000000s',
    `${'1'.repeat(1_000_000)}s`,
    '1s'.repeat(1_000_000),
  ]) {
    it(`rejects ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.equal(parseDuration(text), undefined))
  }
})

describe('a duration', () => {
  const NANOS = fc.oneof(
    fc.bigInt({ min: MIN, max: MAX }),
    fc.bigInt({ min: -3_000_000_000n, max: 3_000_000_000n }),
    fc.constantFrom(MIN, MAX, 0n, -1n, 1n, -1_000_000_000n),
  )

  it('is exact and parses its own string form', () => {
    fc.assert(
      fc.property(NANOS, (nanos) => {
        const duration = durationFromNanos(nanos)
        assert.equal(duration?.total, nanos)
        assert.equal(parseDuration(duration?.text ?? '')?.total, nanos)
      }),
    )
  })

  it('adds, subtracts and compares as BigInt does, and rejects values outside int64', () => {
    fc.assert(
      fc.property(NANOS, NANOS, (x, y) => {
        const [a, b] = [durationFromNanos(x), durationFromNanos(y)]
        assert.ok(a && b)
        const sum = durationOf(a.seconds + b.seconds, a.nanos + b.nanos)
        assert.equal(sum?.total, inRange(x + y))
        const difference = durationOf(a.seconds - b.seconds, a.nanos - b.nanos)
        assert.equal(difference?.total, inRange(x - y))
        assert.equal(Math.sign(a.compare(b)), x < y ? -1 : x > y ? 1 : 0)
      }),
    )
  })

  it('counts whole seconds and milliseconds toward zero', () => {
    fc.assert(
      fc.property(NANOS, (nanos) => {
        const duration = durationFromNanos(nanos)
        assert.equal(BigInt(duration?.wholeSeconds() ?? 0), nanos / 1_000_000_000n)
        const milliseconds = (nanos % 1_000_000_000n) / 1_000_000n
        assert.ok(Object.is(duration?.milliseconds(), Number(milliseconds)))
      }),
    )
  })

  for (const [text, printed] of [
    ['1h30m', '5400s'],
    ['0', '0s'],
    ['-1.5s', '-1.5s'],
    ['-1ns', '-0.000000001s'],
    ['1.230s', '1.23s'],
    ['9223372036854775807ns', '9223372036.854775807s'],
    ['-9223372036854775808ns', '-9223372036.854775808s'],
  ] as const) {
    it(`${text} prints as ${printed}`, () => assert.equal(parseDuration(text)?.text, printed))
  }
})

function inRange(nanos: bigint): bigint | undefined {
  return nanos < MIN || nanos > MAX ? undefined : nanos
}
