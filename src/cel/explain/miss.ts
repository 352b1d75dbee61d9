import type { Explanation } from './explanation.ts'

/** An atomic sub-expression, and the result that it would have to have. */
export interface Miss {
  readonly atom: Explanation
  readonly wanted: boolean
}

/**
 * The fewest atoms whose result would have to change for the expression to be `wanted`: where a
 * user should look first. Empty if it already is.
 */
export function nearestMiss(explanation: Explanation, wanted = true): readonly Miss[] {
  const { term, value, parts } = explanation
  if (value === wanted) return []
  switch (term.kind) {
    case 'not':
      return nearestMiss(parts[0] as Explanation, !wanted)
    case 'and':
    case 'or': {
      const misses = parts.map((part) => nearestMiss(part, wanted))
      // `and` is true if all operands are, `or` if one is; false is the other way round.
      const needsAll = (term.kind === 'and') === wanted
      return needsAll ? misses.flat() : fewest(misses)
    }
    case 'bind':
      return nearestMiss(parts.at(-1) as Explanation, wanted)
    case 'conditional':
      return parts.length === 2
        ? nearestMiss(parts[1] as Explanation, wanted)
        : [{ atom: explanation, wanted }]
    default:
      return [{ atom: explanation, wanted }]
  }
}

function fewest(misses: readonly (readonly Miss[])[]): readonly Miss[] {
  return misses.reduce((best, next) => (next.length < best.length ? next : best))
}
