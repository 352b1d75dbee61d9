import type { Value } from '../../cel/values/value.ts'
import type { Tests } from './leaves.ts'
import { isNumber, JSON_NUMBERS, type NumberDomain, numbersFor } from './numbers.ts'

export interface NumberRange {
  readonly min: number
  readonly max: number
  /** Preferred in examples if it is as good as any other. */
  readonly liked: number
}

const PORTS: NumberDomain = { hasFractions: false, hasNaN: false, min: 0, max: 65_535 }
const PORT_FIELDS: ReadonlySet<string> = new Set([
  'source.port',
  'source.rawPort',
  'source.peerPort',
  'destination.port',
])
/** Such as the number of tokens of a call. */
const WHOLE_NUMBERS: NumberDomain = { hasFractions: false, hasNaN: false }
/** Services respond in protobuf, which has NaN. */
const ANY_DOUBLE: NumberDomain = { ...JSON_NUMBERS, hasNaN: true }

/** Values for an attribute that is a whole number. */
export function wholeNumbers(asks: readonly Tests[], name: string): readonly Value[] {
  return numberValues(asks, PORT_FIELDS.has(name) ? PORTS : WHOLE_NUMBERS)
}

/** Values for an attribute that was received as JSON or from a service. */
export function claimNumbers(asks: readonly Tests[], variable: string): readonly Value[] {
  return numberValues(asks, variable.startsWith('extauthz') ? ANY_DOUBLE : JSON_NUMBERS)
}

/** Values for an attribute that must be a number in this range, or the request is rejected. */
export function numbersWithin(
  asks: readonly Tests[],
  { liked, min, max }: NumberRange,
): readonly Value[] {
  const domain = { hasFractions: true, hasNaN: false, min, max }
  return [...new Set([liked, ...numberValues(asks, domain, [min, liked, max])])]
}

function numberValues(
  asks: readonly Tests[],
  domain: NumberDomain,
  bounds: readonly number[] = [],
): readonly Value[] {
  const asked = asks.flatMap(({ equal = [], bound }) => {
    const numbers = equal.filter(isNumber)
    return bound === undefined ? numbers : [...numbers, bound]
  })
  return numbersFor([...asked, ...bounds], domain)
}
