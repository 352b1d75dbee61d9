import type { Explanation } from './explanation.ts'

/** A sub-expression without logic of its own, and what it would have to be. */
export interface Miss {
  readonly atom: Explanation
  readonly wanted: boolean
}

/**
 * The fewest atoms that would have to come out differently for the expression to be `wanted`:
 * what a user should look at first. Empty where it is so already.
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
      // True takes all of an `and`, but one of an `or`; false the other way round.
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
