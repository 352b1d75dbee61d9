import { fail } from './failure.ts'
import { charge } from './fuel.ts'
import { daysBefore } from './timestamp.ts'

/** The UTC offset of the zone, in seconds east, at an instant (in seconds since 1970). */
export type TimeZone = (seconds: number) => number

const FIXED = /^([+-]?)(\d{1,2}):(\d{1,2})$/
/** Intl accepts names in any case; the database files, and therefore cel-go, do not. */
const NAME = /^(?=.{1,64}$)[A-Z][A-Za-z0-9_+-]*(?:\/[A-Z][A-Za-z0-9_+-]*)*$/

/** `UTC`, an offset (`02:00`, `-02:30`, `+5:00`), or an IANA name, spelled exactly. */
export function timeZone(text: string): TimeZone | undefined {
  if (text === 'UTC') return utc
  const fixed = FIXED.exec(text)
  if (fixed !== null) {
    const hours = Number(fixed[2])
    const minutes = Number(fixed[3])
    if (hours > 23 || minutes > 59) return fail('unknown time zone', text)
    const offset = (hours * 60 + minutes) * (fixed[1] === '-' ? -60 : 60) + 0
    return () => offset
  }
  return NAME.test(text) ? namedZone(text) : fail('unknown time zone', text)
}

function utc(): number {
  return 0
}

// Creating a formatter costs about a hundred times as much as using it. Names may come from
// requests, so the cache is limited and a new formatter costs fuel.
const KNOWN_LIMIT = 64
const NEW_ZONE_FUEL = 5000
const LOOK_UP_FUEL = 500
const known = new Map<string, TimeZone>()

function namedZone(name: string): TimeZone | undefined {
  const found = known.get(name)
  if (found !== undefined) return found
  charge(NEW_ZONE_FUEL)
  const format = formatter(name)
  if (format === undefined || isMiswritten(name, format)) return fail('unknown time zone', name)
  const zone = zoneOf(format)
  if (known.size >= KNOWN_LIMIT) known.delete(known.keys().next().value as string)
  known.set(name, zone)
  return zone
}

function isMiswritten(name: string, format: Intl.DateTimeFormat): boolean {
  const known = format.resolvedOptions().timeZone
  return known !== name && known.toLowerCase() === name.toLowerCase()
}

function formatter(name: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return undefined
  }
}

// Since 1973, all clocks have changed on the minute, so one result is valid for a whole minute.
const WHOLE_MINUTES_SINCE = 94_694_400

function zoneOf(format: Intl.DateTimeFormat): TimeZone {
  let minute = Number.NaN
  let offset = 0
  return (seconds) => {
    if (seconds < WHOLE_MINUTES_SINCE) return offsetAt(format, seconds)
    const current = Math.floor(seconds / 60)
    if (current !== minute) {
      offset = offsetAt(format, seconds)
      minute = current
    }
    return offset
  }
}

function offsetAt(format: Intl.DateTimeFormat, seconds: number): number {
  charge(LOOK_UP_FUEL)
  let [year, month, day, time] = [0, 1, 1, 0]
  for (const { type, value } of format.formatToParts(seconds * 1000)) {
    if (type === 'year') year = Number(value)
    else if (type === 'month') month = Number(value)
    else if (type === 'day') day = Number(value)
    else if (type === 'hour') time += Number(value) * 3600
    else if (type === 'minute') time += Number(value) * 60
    else if (type === 'second') time += Number(value)
    // 1 January of the year 1 in Greenwich is still in the year before in the west: 1 BC is year 0.
    else if (type === 'era' && value === 'BC') year = 1 - year
  }
  return daysBefore(year, month, day) * 86_400 + time - seconds
}
