import { DURATION, INT, STRING, TIMESTAMP } from '../check/types.ts'
import type { Duration } from '../values/duration.ts'
import { type TimeZone, timeZone } from '../values/time-zone.ts'
import { type Calendar, calendarAt, type Timestamp } from '../values/timestamp.ts'
import { defineLibrary, type FunctionDeclaration, fn, method, type Overload } from './define.ts'

/** The getters of timestamps and durations. */
export const TIME = defineLibrary('time', [
  calendar('getFullYear', ({ year }) => year),
  // Months and days count from zero but for getDate: so the language says.
  calendar('getMonth', ({ month }) => month - 1),
  calendar('getDate', ({ day }) => day),
  calendar('getDayOfMonth', ({ day }) => day - 1),
  calendar('getDayOfWeek', ({ dayOfWeek }) => dayOfWeek),
  calendar('getDayOfYear', ({ dayOfYear }) => dayOfYear - 1),
  calendar(
    'getHours',
    ({ hour }) => hour,
    spent((d) => Math.trunc(d.wholeSeconds() / 3600) + 0),
  ),
  calendar(
    'getMinutes',
    ({ minute }) => minute,
    spent((d) => Math.trunc(d.wholeSeconds() / 60) + 0),
  ),
  calendar(
    'getSeconds',
    ({ second }) => second,
    spent((d) => d.wholeSeconds()),
  ),
  fn(
    'getMilliseconds',
    method([TIMESTAMP], INT, milliseconds),
    method([TIMESTAMP, STRING], INT, (time: Timestamp, zone: string) =>
      timeZone(zone) === undefined ? undefined : milliseconds(time),
    ),
    // cel-spec's test wants the milliseconds within the second; cel-go answers all of them.
    spent((duration) => duration.milliseconds()),
  ),
])

/** A getter of timestamps, in UTC or in a zone; `more` is what the name means for others. */
function calendar(
  name: string,
  read: (calendar: Calendar) => number,
  ...more: readonly Overload[]
): FunctionDeclaration {
  const readIn = (time: Timestamp, zone: TimeZone) =>
    read(calendarAt(time.seconds, zone(time.seconds)))
  return fn(
    name,
    method([TIMESTAMP], INT, (time: Timestamp) => read(calendarAt(time.seconds, 0))),
    method(
      [TIMESTAMP, STRING],
      INT,
      (time: Timestamp, text: string) => {
        const zone = timeZone(text)
        return zone === undefined ? undefined : readIn(time, zone)
      },
      {
        metered: true,
        prepare: ([, text]) => {
          const zone = typeof text === 'string' ? timeZone(text) : undefined
          return zone === undefined ? undefined : (time: Timestamp) => readIn(time, zone)
        },
      },
    ),
    ...more,
  )
}

function spent(read: (duration: Duration) => number): Overload {
  return method([DURATION], INT, read)
}

function milliseconds(time: Timestamp): number {
  return Math.floor(time.nanos / 1_000_000)
}
