import { type Duration, durationOf } from './duration.ts'
import { fail } from './failure.ts'

const BILLION = 1_000_000_000
const DAY = 86_400

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds since 1970. */
const FIRST = -62_135_596_800
const LAST = 253_402_300_799

/** An instant in the years 1 to 9999, exact to the nanosecond. It has no time zone. */
export class Timestamp {
  /** Since 1970-01-01T00:00:00Z, rounded down. */
  readonly seconds: number
  /** 0 to 999,999,999, added to the seconds. */
  readonly nanos: number

  /** For parts that are already in range; use `timestampOf` for others. */
  constructor(seconds: number, nanos: number) {
    this.seconds = seconds
    this.nanos = nanos
    Object.freeze(this)
  }

  get text(): string {
    return printTimestamp(this)
  }

  compare(other: Timestamp): number {
    return this.seconds - other.seconds || this.nanos - other.nanos
  }

  plus(duration: Duration): Timestamp | undefined {
    return timestampOf(this.seconds + duration.seconds, this.nanos + duration.nanos)
  }

  minus(duration: Duration): Timestamp | undefined {
    return timestampOf(this.seconds - duration.seconds, this.nanos - duration.nanos)
  }

  since(other: Timestamp): Duration | undefined {
    return durationOf(this.seconds - other.seconds, this.nanos - other.nanos)
  }
}

/** Accepts parts of any sign, |nanos| up to about 2^53; an error outside the years 1 to 9999. */
export function timestampOf(seconds: number, nanos: number): Timestamp | undefined {
  const carry = Math.floor(nanos / BILLION)
  const whole = seconds + carry
  if (!(whole >= FIRST && whole <= LAST)) return fail('timestamp out of range')
  return new Timestamp(whole, nanos - carry * BILLION)
}

/** The calendar fields of an instant; months and days count from 1, Sunday is 0. */
export interface Calendar {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly dayOfYear: number
  readonly dayOfWeek: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

/** The local calendar at `seconds` since 1970, `offset` seconds east of Greenwich. */
export function calendarAt(seconds: number, offset: number): Calendar {
  const local = seconds + offset
  const days = Math.floor(local / DAY)
  const time = local - days * DAY
  const { year, month, day } = dateOf(days)
  return {
    year,
    month,
    day,
    dayOfYear: days - daysBefore(year, 1, 1) + 1,
    dayOfWeek: (((days + 4) % 7) + 7) % 7,
    hour: Math.floor(time / 3600),
    minute: Math.floor(time / 60) % 60,
    second: time % 60,
  }
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/
const MAX_TEXT = 64

/** RFC 3339 with uppercase T and Z, without leap seconds; digits after the ninth are truncated. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = text.length > MAX_TEXT ? null : RFC_3339.exec(text)
  if (match === null) return fail('invalid timestamp', text)
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as SixNumbers
  const zoneHour = Number(match[9] ?? 0)
  const zoneMinute = Number(match[10] ?? 0)
  if (
    month < 1 ||
    month > 12 ||
    day < 1 ||
    day > daysIn(year, month) ||
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    zoneHour > 23 ||
    zoneMinute > 59
  ) {
    return fail('invalid timestamp', text)
  }
  const offset = (zoneHour * 60 + zoneMinute) * (match[8] === '-' ? -60 : 60)
  const time = hour * 3600 + minute * 60 + second
  const nanos = Number((match[7] ?? '').slice(0, 9).padEnd(9, '0'))
  return timestampOf(daysBefore(year, month, day) * DAY + time - offset, nanos)
}

type SixNumbers = [number, number, number, number, number, number]

function printTimestamp({ seconds, nanos }: Timestamp): string {
  const { year, month, day, hour, minute, second } = calendarAt(seconds, 0)
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
  return `${date}T${two(hour)}:${two(minute)}:${two(second)}${fraction}Z`
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

// The Gregorian calendar repeats every 400 years of 146,097 days. In years that begin in March, the
// leap day comes last, and the months before any month have (153 m + 2) / 5 days.
const ERA_DAYS = 146_097
const DAYS_TO_1970 = 719_468

/** Days from 1970-01-01 to this date. */
export function daysBefore(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * ERA_DAYS + yearOfEra * 365 + leapDays + dayOfYear - DAYS_TO_1970
}

function dateOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + DAYS_TO_1970
  const era = Math.floor(shifted / ERA_DAYS)
  const dayOfEra = shifted - era * ERA_DAYS
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365)
  const beforeYear = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  const dayOfYear = dayOfEra - beforeYear
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  return { year: era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day }
}
