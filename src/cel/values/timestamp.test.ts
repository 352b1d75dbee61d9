import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Duration } from './duration.ts'
import { calendarAt, parseTimestamp, timestampOf } from './timestamp.ts'

describe('parseTimestamp', () => {
  for (const [text, seconds, nanos] of [
    ['1970-01-01T00:00:00Z', 0, 0],
    ['1969-12-31T23:59:59.5Z', -1, 500_000_000],
    ['2009-02-13T23:31:30Z', 1_234_567_890, 0],
    ['2009-02-13T23:31:30.000000001Z', 1_234_567_890, 1],
    ['2009-02-13T23:31:30.1234567899Z', 1_234_567_890, 123_456_789],
    ['2009-02-14T01:31:30+02:00', 1_234_567_890, 0],
    ['2009-02-13T21:01:30-02:30', 1_234_567_890, 0],
    ['2009-02-13T23:31:30-00:00', 1_234_567_890, 0],
    ['2000-02-29T00:00:00Z', 951_782_400, 0],
    ['0001-01-01T00:00:00Z', -62_135_596_800, 0],
    ['0000-12-31T23:00:00-02:00', -62_135_593_200, 0],
    ['9999-12-31T23:59:59.999999999Z', 253_402_300_799, 999_999_999],
  ] as const) {
    it(`${text} is ${seconds}s and ${nanos}ns`, () => {
      const time = parseTimestamp(text)
      assert.deepEqual([time?.seconds, time?.nanos], [seconds, nanos])
    })
  }

  for (const text of [
    '',
    '2009-02-13',
    '2009-02-13T23:31:30',
    '2009-02-13 23:31:30Z',
    '2009-02-13t23:31:30z',
    '2009-2-13T23:31:30Z',
    '2009-02-13T5:31:30Z',
    '2009-02-13T23:31Z',
    '2009-02-13T23:31:30.Z',
    '2009-02-13T23:31:30,5Z',
    '2009-02-13T23:31:60Z',
    '2009-02-13T23:60:00Z',
    '2009-02-13T24:00:00Z',
    '2009-02-30T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2009-00-01T00:00:00Z',
    '2009-13-01T00:00:00Z',
    '2009-04-31T00:00:00Z',
    '2009-02-13T23:31:30+24:00',
    '2009-02-13T23:31:30+02:60',
    '2009-02-13T23:31:30+0200',
    '2009-02-13T23:31:30+02',
    '2009-02-13T23:31:30Z\n',
    '+2009-02-13T23:31:30Z',
    '-0001-02-13T23:31:30Z',
    '10000-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '0000-12-31T23:59:59.999999999Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    `2009-02-13T23:31:30.${'1'.repeat(1_000_000)}Z`,
  ]) {
    it(`rejects ${JSON.stringify(text.slice(0, 40))}`, () =>
      assert.equal(parseTimestamp(text), undefined))
  }
})

const SECONDS = fc.oneof(
  fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
  fc.constantFrom(-62_135_596_800, 253_402_300_799, -1, 0),
)
const NANOS = fc.oneof(fc.nat(999_999_999), fc.constantFrom(0, 1, 999_999_999))

describe('a timestamp', () => {
  it('prints as Date does, with nanoseconds, and parses its own string form', () => {
    fc.assert(
      fc.property(SECONDS, NANOS, (seconds, nanos) => {
        const time = timestampOf(seconds, nanos)
        const [date] = new Date(seconds * 1000).toISOString().split('.')
        const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0')}`.replace(/0+$/, '')
        assert.equal(time?.text, `${date}${fraction}Z`)
        assert.equal(parseTimestamp(time.text)?.compare(time), 0)
      }),
    )
  })

  it('uses the calendar of Date', () => {
    fc.assert(
      fc.property(SECONDS, fc.integer({ min: -86_399, max: 86_399 }), (seconds, offset) => {
        const date = new Date((seconds + offset) * 1000)
        const newYear = new Date(0)
        newYear.setUTCFullYear(date.getUTCFullYear(), 0, 1)
        assert.deepEqual(calendarAt(seconds, offset), {
          year: date.getUTCFullYear(),
          month: date.getUTCMonth() + 1,
          day: date.getUTCDate(),
          dayOfYear: Math.floor((date.getTime() - newYear.getTime()) / 86_400_000) + 1,
          dayOfWeek: date.getUTCDay(),
          hour: date.getUTCHours(),
          minute: date.getUTCMinutes(),
          second: date.getUTCSeconds(),
        })
      }),
    )
  })

  it('moves by durations exactly, within the years 1 to 9999', () => {
    const span = fc.integer({ min: -9_223_372_036, max: 9_223_372_035 })
    fc.assert(
      fc.property(SECONDS, NANOS, span, NANOS, (seconds, nanos, more, moreNanos) => {
        const time = timestampOf(seconds, nanos)
        const duration = new Duration(more, moreNanos)
        const total = BigInt(seconds) * 1_000_000_000n + BigInt(nanos)
        assert.equal(nanosOf(time?.plus(duration)), inRange(total + duration.total))
        assert.equal(nanosOf(time?.minus(duration)), inRange(total - duration.total))
      }),
    )
  })

  it('minus another is a duration, or an error beyond int64 nanoseconds', () => {
    fc.assert(
      fc.property(SECONDS, NANOS, SECONDS, NANOS, (a, aNanos, b, bNanos) => {
        const [x, y] = [timestampOf(a, aNanos), timestampOf(b, bNanos)]
        assert.ok(x && y)
        const total = BigInt(a - b) * 1_000_000_000n + BigInt(aNanos - bNanos)
        const expected = BigInt.asIntN(64, total) === total ? total : undefined
        assert.equal(x.since(y)?.total, expected)
      }),
    )
  })
})

function nanosOf(time: ReturnType<typeof timestampOf>): bigint | undefined {
  return time && BigInt(time.seconds) * 1_000_000_000n + BigInt(time.nanos)
}

function inRange(nanos: bigint): bigint | undefined {
  const first = -62_135_596_800_000_000_000n
  const last = 253_402_300_799_999_999_999n
  return nanos < first || nanos > last ? undefined : nanos
}
