import type { Term } from '../../cel/check/term.ts'
import type { FormName } from './forms.ts'
import { leafTerms } from './leaf-terms.ts'
import { leafOf } from './leaves.ts'

/** A part of an expression by where it stands in its text. */
export interface Part {
  readonly start: number
  readonly end: number
}

/** The forms of an expression's conditions, and the parts that are of none of them. */
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

/** Whether every condition of it is of a covered form. */
export function isCovered(term: Term): boolean {
  return formsIn(term).others.length === 0
}

/** The parts that are not looked into, as they are written. */
export function partsNotCovered(term: Term, text: string): readonly string[] {
  return formsIn(term).others.map(({ start, end }) => text.slice(start, end))
}
