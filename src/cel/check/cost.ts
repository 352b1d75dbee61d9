import { children, type Term } from './term.ts'

/** The assumed number of elements of a list that comes from the request. */
const UNKNOWN_LENGTH = 256

/** Expressions that may take more steps than this are rejected when they are loaded. */
export const MAX_COST = 4_000_000

/**
 * The approximate number of steps in the worst case; loops multiply. This estimate rejects hopeless
 * expressions at load; the run-time budget (values/fuel.ts) is the actual limit.
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
