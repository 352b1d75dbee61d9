import { fail } from './failure.ts'

const BILLION = 1_000_000_000

/**
 * A time span, exact to the nanosecond: `seconds` rounded down, plus `nanos` from 0 to 999,999,999
 * (-0.5s is -1 and 500,000,000). The range is int64 nanoseconds, about 292 years.
 */
export class Duration {
  readonly seconds: number
  readonly nanos: number

  /** For parts that are already in range; use `durationOf` for others. */
  constructor(seconds: number, nanos: number) {
    this.seconds = seconds
    this.nanos = nanos
    Object.freeze(this)
  }

  get text(): string {
    return printDuration(this)
  }

  /** The total in nanoseconds. */
  get total(): bigint {
    return BigInt(this.seconds) * BigInt(BILLION) + BigInt(this.nanos)
  }

  /** Whole units, rounded toward zero as CEL's getters do. */
  wholeSeconds(): number {
    return this.seconds < 0 && this.nanos > 0 ? this.seconds + 1 : this.seconds
  }

  /** The milliseconds within the second: 321 of 123.321s, -500 of -1.5s. */
  milliseconds(): number {
    const nanos = this.seconds < 0 && this.nanos > 0 ? this.nanos - BILLION : this.nanos
    return Math.trunc(nanos / 1_000_000) + 0
  }

  compare(other: Duration): number {
    return this.seconds - other.seconds || this.nanos - other.nanos
  }
}

// The limits of int64 nanoseconds, as seconds rounded down and nanoseconds.
const MAX_SECONDS = 9_223_372_036
const MAX_NANOS = 854_775_807
const MIN_SECONDS = -9_223_372_037
const MIN_NANOS = 145_224_192

/** Accepts parts of any sign, |nanos| up to about 2^53; an error beyond the range. */
export function durationOf(seconds: number, nanos: number): Duration | undefined {
  const carry = Math.floor(nanos / BILLION)
  const whole = seconds + carry
  const rest = nanos - carry * BILLION
  if (
    whole > MAX_SECONDS ||
    whole < MIN_SECONDS ||
    (whole === MAX_SECONDS && rest > MAX_NANOS) ||
    (whole === MIN_SECONDS && rest < MIN_NANOS)
  ) {
    return fail('duration out of range')
  }
  return new Duration(whole, rest)
}

const NANOS_PER_UNIT: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['\u00b5s', 1000n],
  ['\u03bcs', 1000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

const PART = /([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y
const MAX_TEXT = 256

/** Go's notation: `1h30m`, `1.5s`, `-0.000000001s`, `0`. Truncated to nanoseconds. */
export function parseDuration(text: string): Duration | undefined {
  const signed = text.startsWith('-') || text.startsWith('+')
  const start = signed ? 1 : 0
  if (text.length > MAX_TEXT || text.length === start) return fail('invalid duration', text)
  if (text.length === start + 1 && text.endsWith('0')) return new Duration(0, 0)
  let total = 0n
  for (let at = start; at < text.length; at = PART.lastIndex) {
    PART.lastIndex = at
    const part = PART.exec(text)
    if (part === null) return fail('invalid duration', text)
    const [, whole = '', fraction = '', unit = ''] = part
    if (whole === '' && fraction === '') return fail('invalid duration', text)
    const scale = NANOS_PER_UNIT.get(unit) as bigint
    total += BigInt(whole) * scale
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length)
  }
  return durationFromNanos(text.startsWith('-') ? -total : total)
}

export function durationFromNanos(total: bigint): Duration | undefined {
  if (BigInt.asIntN(64, total) !== total) return fail('duration out of range')
  let seconds = total / 1_000_000_000n
  let nanos = total % 1_000_000_000n
  if (nanos < 0n) {
    seconds -= 1n
    nanos += 1_000_000_000n
  }
  return new Duration(Number(seconds), Number(nanos))
}

function printDuration({ seconds, nanos }: Duration): string {
  const negative = seconds < 0
  const whole = negative ? -(nanos > 0 ? seconds + 1 : seconds) : seconds
  const rest = negative && nanos > 0 ? BILLION - nanos : nanos
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`
  return `${negative ? '-' : ''}${whole}${fraction}s`
}
