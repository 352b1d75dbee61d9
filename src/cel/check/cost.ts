import { children, type Term } from './term.ts'

/** A list that the request brings is taken to have this many elements. */
const UNKNOWN_LENGTH = 256

/** More turns than this are rejected when the expression is loaded. */
export const MAX_COST = 4_000_000

/**
 * About how many steps the expression takes at worst: loops multiply. An estimate to reject what
 * is hopeless at load; the run-time budget (values/fuel.ts) is what holds.
 */
export function costOf(term: Term): number {
  if (term.kind !== 'loop') return sum(children(term)) + 1
  const turn = costOf(term.body) + (term.filter === undefined ? 0 : costOf(term.filter))
  return costOf(term.range) + lengthOf(term.range) * turn
}

function sum(terms: readonly Term[]): number {
  return terms.reduce((total, term) => total + costOf(term), 0)
}

function lengthOf(range: Term): number {
  if (range.kind === 'constant' && Array.isArray(range.value)) return range.value.length
  if (range.kind === 'list') return range.elements.length
  if (range.kind === 'loop') return lengthOf(range.range)
  return UNKNOWN_LENGTH
}
