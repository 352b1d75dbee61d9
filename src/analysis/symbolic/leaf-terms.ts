import type { Term } from '../../cel/check/term.ts'

/** The conditions that `&&`, `||`, `!` and `?:` combine. */
export function leafTerms(term: Term): readonly Term[] {
  switch (term.kind) {
    case 'constant':
      return []
    case 'not':
      return leafTerms(term.operand)
    case 'and':
    case 'or':
      return [...leafTerms(term.left), ...leafTerms(term.right)]
    case 'conditional':
      return [term.condition, term.whenTrue, term.whenFalse].flatMap(leafTerms)
    default:
      return [term]
  }
}
