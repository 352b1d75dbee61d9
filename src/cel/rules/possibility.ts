import { children, type Term } from '../check/term.ts'
import { BOOL } from '../check/types.ts'
import type { Expression } from '../compile.ts'
import type { Predicate } from '../emit/functions.ts'
import { isMetered } from '../emit/metered.ts'
import { fuel } from '../values/fuel.ts'

/** The possible outcomes of a condition while some of what it reads is not known yet. */
export interface Possibility {
  /** Some value of the unknown makes it true, as far as can be determined. */
  readonly mayBeTrue: Predicate
  /** It is true for every value of the unknown. */
  readonly mustBeTrue: Predicate
}

/**
 * Set by a part that exceeded its budget and is therefore neither true nor false, which must not
 * bypass a Deny rule. Callers that need it clear it first.
 */
export const excess: { wasMet: boolean } = { wasMet: false }

type Path = readonly string[]

const never: Predicate = () => false
const always: Predicate = () => true

/**
 * Analyzes `&&`, `||`, `!` and `?:`. Any other part that reads an unknown attribute may be true,
 * false or an error, so `mayBeTrue` errs toward true, and `mustBeTrue` toward false.
 */
export function possibilityOf(expression: Expression, unknown: readonly Path[]): Possibility {
  const { term } = expression
  if (!readsUnknown(term, unknown)) {
    const predicate = watched(expression.predicate(), expression.metered)
    return { mayBeTrue: predicate, mustBeTrue: predicate }
  }
  const part = (own: Term) => watched(expression.predicatePart(own), isMetered(own))
  return possibleOutcomes(term, unknown, { part, always, never, both, either })
}

/** How outcomes of parts combine: functions here, and formulas where all requests are analyzed. */
export interface OutcomeLogic<T> {
  /** A part that reads nothing unknown is definitely true. */
  readonly part: (term: Term) => T
  readonly always: T
  readonly never: T
  readonly both: (a: T, b: T) => T
  readonly either: (a: T, b: T) => T
}

export function possibleOutcomes<T>(
  term: Term,
  unknown: readonly Path[],
  logic: OutcomeLogic<T>,
): { readonly mayBeTrue: T; readonly mustBeTrue: T } {
  const { mayBeTrue, mustBeTrue } = outcomesOf(term, unknown, logic)
  return { mayBeTrue, mustBeTrue }
}

function watched(predicate: Predicate, isMeteredPart: boolean): Predicate {
  if (!isMeteredPart) return predicate
  return (variables) => {
    const isTrue = predicate(variables)
    if (fuel.left < 0) excess.wasMet = true
    return isTrue
  }
}

interface Outcomes<T> {
  readonly mayBeTrue: T
  readonly mustBeTrue: T
  readonly mayBeFalse: T
  readonly mustBeFalse: T
}

function outcomesOf<T>(term: Term, unknown: readonly Path[], logic: OutcomeLogic<T>): Outcomes<T> {
  const { part, always: yes, never: no, both: and, either: or } = logic
  const of = (own: Term) => outcomesOf(own, unknown, logic)
  if (!readsUnknown(term, unknown)) {
    const isTrue = part(term)
    const isFalse = part({ ...at(term), kind: 'not', operand: term })
    return { mayBeTrue: isTrue, mustBeTrue: isTrue, mayBeFalse: isFalse, mustBeFalse: isFalse }
  }
  switch (term.kind) {
    case 'and': {
      const [a, b] = [of(term.left), of(term.right)]
      return {
        mayBeTrue: and(a.mayBeTrue, b.mayBeTrue),
        mustBeTrue: and(a.mustBeTrue, b.mustBeTrue),
        mayBeFalse: or(a.mayBeFalse, b.mayBeFalse),
        mustBeFalse: or(a.mustBeFalse, b.mustBeFalse),
      }
    }
    case 'or': {
      const [a, b] = [of(term.left), of(term.right)]
      return {
        mayBeTrue: or(a.mayBeTrue, b.mayBeTrue),
        mustBeTrue: or(a.mustBeTrue, b.mustBeTrue),
        mayBeFalse: and(a.mayBeFalse, b.mayBeFalse),
        mustBeFalse: and(a.mustBeFalse, b.mustBeFalse),
      }
    }
    case 'not': {
      const { mayBeTrue, mustBeTrue, mayBeFalse, mustBeFalse } = of(term.operand)
      return {
        mayBeTrue: mayBeFalse,
        mustBeTrue: mustBeFalse,
        mayBeFalse: mayBeTrue,
        mustBeFalse: mustBeTrue,
      }
    }
    case 'conditional': {
      const [test, a, b] = [of(term.condition), of(term.whenTrue), of(term.whenFalse)]
      const may = (x: T, y: T) => or(and(test.mayBeTrue, x), and(test.mayBeFalse, y))
      const must = (x: T, y: T) => or(and(test.mustBeTrue, x), and(test.mustBeFalse, y))
      return {
        mayBeTrue: may(a.mayBeTrue, b.mayBeTrue),
        mustBeTrue: must(a.mustBeTrue, b.mustBeTrue),
        mayBeFalse: may(a.mayBeFalse, b.mayBeFalse),
        mustBeFalse: must(a.mustBeFalse, b.mustBeFalse),
      }
    }
    default:
      return { mayBeTrue: yes, mustBeTrue: no, mayBeFalse: yes, mustBeFalse: no }
  }
}

function both(a: Predicate, b: Predicate): Predicate {
  return (variables) => a(variables) && b(variables)
}

function either(a: Predicate, b: Predicate): Predicate {
  return (variables) => a(variables) || b(variables)
}

function at({ start, end }: Term) {
  return { start, end, type: BOOL }
}

function readsUnknown(term: Term, unknown: readonly Path[]): boolean {
  const read = pathOf(term)
  if (read === undefined) return children(term).some((child) => readsUnknown(child, unknown))
  return unknown.some((path) => overlaps(read, path))
}

interface ReadPath {
  readonly path: Path
  /** Only its presence is tested. */
  readonly isTest: boolean
}

function overlaps({ path, isTest }: ReadPath, unknown: Path): boolean {
  const shorter = Math.min(path.length, unknown.length)
  for (let i = 0; i < shorter; i++) if (path[i] !== unknown[i]) return false
  // What contains the unknown is present, whatever the unknown is.
  return path.length >= unknown.length || !isTest
}

/** A variable and the names selected from it; undefined for any other term. */
function pathOf(term: Term): ReadPath | undefined {
  if (term.kind === 'variable') return { path: [term.name], isTest: false }
  if (term.kind === 'index' && term.index.kind === 'constant') {
    const { value } = term.index
    const operand = typeof value === 'string' ? pathOf(term.operand) : undefined
    return operand && { path: [...operand.path, value as string], isTest: false }
  }
  if (term.kind !== 'field') return undefined
  const operand = pathOf(term.operand)
  return operand && { path: [...operand.path, term.field], isTest: term.access === 'test' }
}
