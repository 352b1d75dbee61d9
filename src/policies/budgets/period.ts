export type BudgetPeriod = 'Minute' | 'Hour' | 'Day' | 'Week' | 'Month'

/** A calendar period, in milliseconds since 1970. */
export interface Period {
  readonly start: number
  readonly end: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
/** 1 January 1970 was a Thursday. */
const FIRST_MONDAY = 4 * DAY

/** The period that contains a time, in UTC, where every day has the same length. */
export function periodAt(now: number, per: BudgetPeriod): Period {
  switch (per) {
    case 'Minute':
      return fixed(now, MINUTE)
    case 'Hour':
      return fixed(now, HOUR)
    case 'Day':
      return fixed(now, DAY)
    case 'Week':
      return fixed(now, WEEK, FIRST_MONDAY)
    case 'Month': {
      const date = new Date(now)
      const month = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more)
      return { start: month(0), end: month(1) }
    }
  }
}

function fixed(now: number, length: number, origin = 0): Period {
  const start = Math.floor((now - origin) / length) * length + origin
  return { start, end: start + length }
}
