import { children, type Term } from '../check/term.ts'

/**
 * Does this expression loop, call what charges fuel, or name a value, which can then be put into
 * another one many times over? Then it runs against its budget.
 */
export function isMetered(term: Term): boolean {
  if (term.kind === 'loop' || term.kind === 'bind' || term.kind === 'optMap') return true
  if (term.kind === 'call' && term.overloads.some((overload) => overload.metered)) return true
  return children(term).some(isMetered)
}
