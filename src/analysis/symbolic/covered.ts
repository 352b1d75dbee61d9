import type { Term } from '../../cel/check/term.ts'
import type { FormName } from './forms.ts'
import { leafTerms } from './leaf-terms.ts'
import { leafOf } from './leaves.ts'

/** A part of an expression, by its position in the text. */
export interface Part {
  readonly start: number
  readonly end: number
}

/** The forms of the conditions in an expression, and the parts that have none of these forms. */
export function formsIn(term: Term): {
  readonly forms: ReadonlySet<FormName>
  readonly others: readonly Part[]
} {
  const forms = new Set<FormName>()
  const others: Part[] = []
  for (const one of leafTerms(term)) {
    const leaf = leafOf(one)
    if (leaf.kind === 'opaque') others.push({ start: one.start, end: one.end })
    else forms.add(leaf.form)
  }
  return { forms, others }
}

/** Whether every condition of the term is of a covered form. */
export function isCovered(term: Term): boolean {
  return formsIn(term).others.length === 0
}

/** The parts that cannot be analyzed, as written. */
export function partsNotCovered(term: Term, text: string): readonly string[] {
  return formsIn(term).others.map(({ start, end }) => text.slice(start, end))
}
