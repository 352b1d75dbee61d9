import { children, type LoopTerm, type Term } from '../check/term.ts'

/**
 * Does this expression loop, call what charges fuel, or name a value, which can then be put into
 * another one many times over? Then it runs against its budget.
 */
export function isMetered(term: Term): boolean {
  if (term.kind === 'loop' || term.kind === 'bind' || term.kind === 'optMap') return true
  if (term.kind === 'call' && term.overloads.some((overload) => overload.metered)) return true
  return children(term).some(isMetered)
}

/**
 * What one turn of a loop costs, in units of fuel, whatever is in the values: functions charge for
 * that themselves, and so do loops within.
 */
export function turnCost(loop: LoopTerm): number {
  const known = turns.get(loop)
  if (known !== undefined) return known
  const cost = 2 + stepCost(loop.body) + (loop.filter === undefined ? 0 : stepCost(loop.filter))
  turns.set(loop, cost)
  return cost
}

const turns = new WeakMap<LoopTerm, number>()

/** As measured in the slower of the back ends' ways to do it. */
const STEPS: Readonly<Record<Term['kind'], number>> = {
  constant: 0,
  invalid: 0,
  variable: 0,
  local: 0,
  not: 0,
  and: 0,
  or: 0,
  conditional: 0,
  field: 1,
  equal: 2,
  index: 3,
  member: 3,
  bind: 2,
  fallback: 2,
  coalesce: 6,
  optMap: 5,
  list: 5,
  call: 8,
  loop: 10,
  map: 30,
}

function stepCost(term: Term): number {
  const own = STEPS[term.kind]
  if (term.kind === 'loop') return own + stepCost(term.range)
  // What is missing is told from other errors by a second look.
  if (term.kind === 'coalesce' && term.onlyMissing) {
    return own + term.choices.reduce((sum, choice) => sum + 2 * stepCost(choice), 0)
  }
  return children(term).reduce((sum, child) => sum + stepCost(child), own)
}
