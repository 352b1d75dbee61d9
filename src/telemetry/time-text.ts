/** `000` to `999`: a lookup table, since this is used for every record of the access log. */
const THREE_DIGITS = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, '0'))

/**
 * RFC 3339 with microseconds, `2026-02-03T04:05:06.123456Z`; everything but the fraction is cached.
 */
export function createTimestamps(): (microseconds: number) => string {
  let second = Number.NaN
  let prefix = ''
  return (microseconds) => {
    const whole = Math.floor(microseconds / 1_000_000)
    if (whole !== second) {
      second = whole
      prefix = new Date(whole * 1000).toISOString().slice(0, 20)
    }
    const fraction = microseconds - whole * 1_000_000
    const milliseconds = Math.floor(fraction / 1000)
    return `${prefix}${THREE_DIGITS[milliseconds]}${THREE_DIGITS[Math.floor(fraction - milliseconds * 1000)]}Z`
  }
}

/** A duration in a record: `1.234ms` for people, and a number of milliseconds in JSON. */
export class Milliseconds {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }

  toJSON(): number {
    const { value } = this
    return isLength(value) ? Math.round(value * 1000) / 1000 : 0
  }

  toString(): string {
    return renderDuration(this.value)
  }
}

function isLength(milliseconds: number): boolean {
  return milliseconds > 0 && milliseconds < 1e12
}

/** `1.234ms`. An invalid duration, after a clock was set back, is `0.000ms`. */
function renderDuration(milliseconds: number): string {
  if (!isLength(milliseconds)) return '0.000ms'
  const microseconds = Math.round(milliseconds * 1000)
  const whole = Math.floor(microseconds / 1000)
  return `${whole}.${THREE_DIGITS[microseconds - whole * 1000]}ms`
}
