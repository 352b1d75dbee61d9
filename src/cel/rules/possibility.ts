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
  const { mayBeTrue, mustBeTrue } = outcomesOf(term, unknown, part)
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

interface Outcomes extends Possibility {
  readonly mayBeFalse: Predicate
  readonly mustBeFalse: Predicate
}

function outcomesOf(
  term: Term,
  unknown: readonly Path[],
  part: (term: Term) => Predicate,
): Outcomes {
  const of = (own: Term) => outcomesOf(own, unknown, part)
  if (!readsUnknown(term, unknown)) {
    const isTrue = part(term)
    const isFalse = part({ ...at(term), kind: 'not', operand: term })
    return { mayBeTrue: isTrue, mustBeTrue: isTrue, mayBeFalse: isFalse, mustBeFalse: isFalse }
  }
  switch (term.kind) {
    case 'and': {
      const [a, b] = [of(term.left), of(term.right)]
      return {
        mayBeTrue: both(a.mayBeTrue, b.mayBeTrue),
        mustBeTrue: both(a.mustBeTrue, b.mustBeTrue),
        mayBeFalse: either(a.mayBeFalse, b.mayBeFalse),
        mustBeFalse: either(a.mustBeFalse, b.mustBeFalse),
      }
    }
    case 'or': {
      const [a, b] = [of(term.left), of(term.right)]
      return {
        mayBeTrue: either(a.mayBeTrue, b.mayBeTrue),
        mustBeTrue: either(a.mustBeTrue, b.mustBeTrue),
        mayBeFalse: both(a.mayBeFalse, b.mayBeFalse),
        mustBeFalse: both(a.mustBeFalse, b.mustBeFalse),
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
      const [test, yes, no] = [of(term.condition), of(term.whenTrue), of(term.whenFalse)]
      const may = (a: Predicate, b: Predicate) =>
        either(both(test.mayBeTrue, a), both(test.mayBeFalse, b))
      const must = (a: Predicate, b: Predicate) =>
        either(both(test.mustBeTrue, a), both(test.mustBeFalse, b))
      return {
        mayBeTrue: may(yes.mayBeTrue, no.mayBeTrue),
        mustBeTrue: must(yes.mustBeTrue, no.mustBeTrue),
        mayBeFalse: may(yes.mayBeFalse, no.mayBeFalse),
        mustBeFalse: must(yes.mustBeFalse, no.mustBeFalse),
      }
    }
    default:
      return { mayBeTrue: always, mustBeTrue: never, mayBeFalse: always, mustBeFalse: never }
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
