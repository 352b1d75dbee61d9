// Doubles in decimal notation, correctly rounded. A double is a fraction whose denominator is a
// power of two, so its decimals are computed exactly. JavaScript's toFixed rounds ties up instead
// of to even, and switches to exponents at 1e21.

/** The fewest digits that identify this double, without an exponent: `1e21` has 22 digits. */
export function plain(value: number): string {
  return special(value) ?? signed(value, (positive) => withoutExponent(String(positive)))
}

/** With exactly this many decimals: `fixed(2.5, 0)` is 2. */
export function fixed(value: number, precision: number): string {
  return (
    special(value) ??
    signed(value, (positive) => {
      const digits = String(scaled(positive, precision)).padStart(precision + 1, '0')
      const point = digits.length - precision
      return precision === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
    })
  )
}

/** One digit, this many decimals, and an exponent of at least two digits: `1.052033e+03`. */
export function scientific(value: number, precision: number): string {
  return (
    special(value) ??
    signed(value, (positive) => {
      let exponent = positive === 0 ? 0 : Math.floor(Math.log10(positive))
      let digits = String(scaled(positive, precision - exponent))
      // The logarithm may be off by one, and 9.99 may round to 10.0.
      if (positive !== 0 && digits.length !== precision + 1) {
        exponent += digits.length > precision + 1 ? 1 : -1
        digits = String(scaled(positive, precision - exponent))
      }
      digits = digits.padEnd(precision + 1, '0')
      const decimals = precision === 0 ? '' : `.${digits.slice(1)}`
      const power = String(Math.abs(exponent)).padStart(2, '0')
      return `${digits[0]}${decimals}e${exponent < 0 ? '-' : '+'}${power}`
    })
  )
}

function special(value: number): string | undefined {
  return Number.isFinite(value) ? undefined : String(value)
}

function signed(value: number, print: (positive: number) => string): string {
  const negative = value < 0 || Object.is(value, -0)
  return (negative ? '-' : '') + print(Math.abs(value))
}

function withoutExponent(text: string): string {
  const [mantissa, power] = text.split('e') as [string, string | undefined]
  if (power === undefined) return text
  const [whole, fraction = ''] = mantissa.split('.') as [string, string | undefined]
  const exponent = Number(power)
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${whole}${fraction}`
  return whole + fraction.padEnd(exponent, '0')
}

/** A finite, positive double times a power of ten, rounded to the nearest integer, ties to even. */
function scaled(value: number, powerOfTen: number): bigint {
  const { mantissa, exponent } = partsOf(value)
  let above = mantissa
  let below = 1n
  if (exponent > 0) above <<= BigInt(exponent)
  else below <<= BigInt(-exponent)
  if (powerOfTen > 0) above *= 10n ** BigInt(powerOfTen)
  else below *= 10n ** BigInt(-powerOfTen)

  const quotient = above / below
  const twice = 2n * (above % below)
  const up = twice > below || (twice === below && quotient % 2n === 1n)
  return up ? quotient + 1n : quotient
}

/** value = mantissa × 2^exponent. */
function partsOf(value: number): { mantissa: bigint; exponent: number } {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const word = bits.getBigUint64(0)
  const biased = Number(word >> 52n)
  const fraction = word & 0xfffffffffffffn
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction | 0x10000000000000n, exponent: biased - 1075 }
}
