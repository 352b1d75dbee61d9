import { isName } from './reads.ts'
import type { Term } from './term.ts'

/** `jwt.realm.roles`, if the term is a chain of names that starts at a variable. */
export function pathOf(term: Term): string | undefined {
  if (term.kind === 'variable') return term.name
  if (term.kind !== 'field' || term.access !== 'get') return undefined
  const operand = pathOf(term.operand)
  if (operand === undefined) return undefined
  return isName(term.field) ? `${operand}.${term.field}` : `${operand}['${term.field}']`
}
