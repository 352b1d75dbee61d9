import type { Algorithm } from './schema.ts'

/**
 * The offered coding that the client prefers; undefined: no coding. A missing field expresses no
 * preference, and malformed parts are ignored (RFC 9110 §12.5.3).
 */
export function preferredCoding(
  accept: string | undefined,
  offered: readonly Algorithm[],
): Algorithm | undefined {
  if (accept === undefined) return undefined
  const weights = weightsIn(accept)
  const others = weights.get('*') ?? 0
  // If not listed, identity is acceptable, but ranks below every listed coding.
  let best = weights.get('identity') ?? 0
  let chosen: Algorithm | undefined
  for (const coding of offered) {
    const weight = weights.get(coding) ?? others
    if (weight === 0 || weight < best || (weight === best && chosen !== undefined)) continue
    best = weight
    chosen = coding
  }
  return chosen
}

function weightsIn(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const member of accept.split(',')) {
    const found = MEMBER.exec(member)
    if (found === null) continue
    const [, name = '', weight = '1'] = found
    const coding = name.toLowerCase()
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, Number(weight))
  }
  return weights
}

const MEMBER =
  /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*(?:;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/
