import { children, type Term } from '../check/term.ts'

/** Does this expression loop, or call what charges fuel? Then it runs against its budget. */
export function isMetered(term: Term): boolean {
  if (term.kind === 'loop') return true
  if (term.kind === 'call' && term.overloads.some((overload) => overload.metered)) return true
  return children(term).some(isMetered)
}
