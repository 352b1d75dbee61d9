import { children, type LoopTerm, type Term } from '../check/term.ts'

/**
 * Whether this expression loops, calls a function that charges fuel, or names a value, which could
 * then be embedded in another one many times. If so, it runs against its budget.
 */
export function isMetered(term: Term): boolean {
  if (term.kind === 'loop' || term.kind === 'bind' || term.kind === 'optMap') return true
  if (term.kind === 'call' && term.overloads.some((overload) => overload.metered)) return true
  return children(term).some(isMetered)
}

/**
 * The cost of one loop iteration, in units of fuel, regardless of the values: functions charge for
 * those themselves, and so do inner loops.
 */
export function turnCost(loop: LoopTerm): number {
  const known = turns.get(loop)
  if (known !== undefined) return known
  const cost = 2 + stepCost(loop.body) + (loop.filter === undefined ? 0 : stepCost(loop.filter))
  turns.set(loop, cost)
  return cost
}

const turns = new WeakMap<LoopTerm, number>()

/** As measured in the slower of the back ends. */
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
  // Distinguishing a missing value from other errors takes a second evaluation.
  if (term.kind === 'coalesce' && term.onlyMissing) {
    return own + term.choices.reduce((sum, choice) => sum + 2 * stepCost(choice), 0)
  }
  return children(term).reduce((sum, child) => sum + stepCost(child), own)
}
