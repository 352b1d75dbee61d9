import { DURATION, INT, STRING, TIMESTAMP } from '../check/types.ts'
import type { Duration } from '../values/duration.ts'
import { type TimeZone, timeZone } from '../values/time-zone.ts'
import { type Calendar, calendarAt, type Timestamp } from '../values/timestamp.ts'
import { defineLibrary, type FunctionDeclaration, fn, method, type Overload } from './define.ts'

/** The getters of timestamps and durations. */
export const TIME = defineLibrary('time', [
  getter(
    'getFullYear',
    on(({ year }) => year),
  ),
  // Months and days count from zero, except in getDate, as CEL specifies.
  getter(
    'getMonth',
    on(({ month }) => month - 1),
  ),
  getter(
    'getDate',
    on(({ day }) => day),
  ),
  getter(
    'getDayOfMonth',
    on(({ day }) => day - 1),
  ),
  getter(
    'getDayOfWeek',
    on(({ dayOfWeek }) => dayOfWeek),
  ),
  getter(
    'getDayOfYear',
    on(({ dayOfYear }) => dayOfYear - 1),
  ),
  getter(
    'getHours',
    on(({ hour }) => hour),
    whole(3600),
  ),
  getter(
    'getMinutes',
    on(({ minute }) => minute),
    whole(60),
  ),
  getter(
    'getSeconds',
    on(({ second }) => second),
    whole(1),
  ),
  getter(
    'getMilliseconds',
    ({ nanos }) => Math.floor(nanos / 1_000_000),
    // cel-spec's test expects the milliseconds within the second; cel-go returns the total.
    method([DURATION], INT, (duration: Duration) => duration.milliseconds()),
  ),
])

/** Reads a field of the local time, `offset` seconds east of Greenwich. */
type Read = (time: Timestamp, offset: number) => number

function on(read: (calendar: Calendar) => number): Read {
  return (time, offset) => read(calendarAt(time.seconds, offset))
}

/** A getter of timestamps, in UTC or in a time zone; `more` has the overloads for other types. */
function getter(name: string, read: Read, ...more: readonly Overload[]): FunctionDeclaration {
  const readIn = (time: Timestamp, zone: TimeZone) => read(time, zone(time.seconds))
  return fn(
    name,
    method([TIMESTAMP], INT, (time: Timestamp) => read(time, 0)),
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

/** A duration in whole units of this many seconds, rounded toward zero. */
function whole(unit: number): Overload {
  return method([DURATION], INT, (d: Duration) => Math.trunc(d.wholeSeconds() / unit) + 0)
}
