import type { Compound, Formula, Literal } from './formula.ts'
import { isCompatible, type Possibility, type Unknown } from './unknown.ts'

/** One possibility for each unknown that is mentioned. */
export type Assignment = ReadonlyMap<Unknown, Possibility>

export type Solution =
  | { readonly kind: 'possible'; readonly assignment: Assignment }
  | { readonly kind: 'impossible' }
  /** The search took too long. */
  | { readonly kind: 'untold' }

/** The budget of one query, in visits to parts of formulas. */
const MAX_LOOKS = 400_000

/**
 * Whether all of these formulas can be true at once. Searches finite sets of possibilities:
 * propagates what follows first, then tries the parts of the shortest alternative one by one.
 */
export function solve(formulas: readonly Formula[], looks = MAX_LOOKS): Solution {
  const budget = { left: looks }
  const state = new State()
  for (const formula of formulas) mention(formula, state)
  const found = search(formulas, state, budget)
  if (found !== undefined) return { kind: 'possible', assignment: choose(found) }
  return budget.left < 0 ? { kind: 'untold' } : { kind: 'impossible' }
}

interface Budget {
  left: number
}

/**
 * The remaining possibilities. The map is copied for each alternative that is tried; sets are
 * copied when they shrink.
 */
class State {
  readonly alive: Map<Unknown, Uint8Array>

  constructor(alive = new Map<Unknown, Uint8Array>()) {
    this.alive = alive
  }

  copy(): State {
    return new State(new Map(this.alive))
  }

  /** Returns false if nothing is left; calls `changed` if the set shrinks. */
  narrow(unknown: Unknown, keeps: (index: number) => boolean, changed: () => void): boolean {
    const before = this.alive.get(unknown) as Uint8Array
    let after: Uint8Array | undefined
    let left = 0
    for (let i = 0; i < before.length; i++) {
      if (before[i] === 0) continue
      if (keeps(i)) {
        left++
        continue
      }
      after ??= before.slice()
      after[i] = 0
    }
    if (after === undefined) return true
    this.alive.set(unknown, after)
    changed()
    return left > 0
  }
}

/** Adds every unknown that a formula mentions, and its wholes, with all their possibilities. */
function mention(formula: Formula, state: State): void {
  if (formula.kind === 'constant') return
  if (formula.kind !== 'literal') {
    for (const part of formula.parts) mention(part, state)
    return
  }
  for (
    let unknown: Unknown | undefined = formula.unknown;
    unknown !== undefined && !state.alive.has(unknown);
    unknown = unknown.whole?.unknown
  ) {
    state.alive.set(unknown, new Uint8Array(unknown.possibilities.length).fill(1))
  }
}

function search(given: readonly Formula[], state: State, budget: Budget): State | undefined {
  const open = propagate(given, state, budget)
  if (open === undefined) return undefined
  if (open.length === 0) return state
  const next = open.reduce((best, one) => (one.parts.length < best.parts.length ? one : best))
  const rest = open.filter((one) => one !== next)
  for (const way of next.parts) {
    const found = search([way, ...rest], state.copy(), budget)
    if (found !== undefined || budget.left < 0) return found
  }
  return undefined
}

/** Propagates what needs no choice. Returns the open choices, or undefined for a contradiction. */
function propagate(
  given: readonly Formula[],
  state: State,
  budget: Budget,
): readonly Compound[] | undefined {
  let formulas = given
  for (;;) {
    let isChanged = false
    const changed = () => {
      isChanged = true
    }
    const open: Compound[] = []
    for (const formula of formulas) {
      if (!assume(formula, state, budget, open, changed)) return undefined
    }
    if (!linkParts(state, changed)) return undefined
    if (!isChanged) return open
    formulas = open
  }
}

function assume(
  formula: Formula,
  state: State,
  budget: Budget,
  open: Compound[],
  changed: () => void,
): boolean {
  if (--budget.left < 0) return false
  switch (formula.kind) {
    case 'constant':
      return formula.value
    case 'literal':
      return state.narrow(formula.unknown, (index) => formula.meant[index] === 1, changed)
    case 'all':
      return formula.parts.every((part) => assume(part, state, budget, open, changed))
    case 'any': {
      const ways: Formula[] = []
      for (const part of formula.parts) {
        const status = statusOf(part, state, budget)
        if (status === true) return true
        if (status === undefined) ways.push(part)
      }
      const [only] = ways
      if (only === undefined) return false
      if (ways.length === 1) return assume(only, state, budget, open, changed)
      open.push(ways.length === formula.parts.length ? formula : { kind: 'any', parts: ways })
      return true
    }
  }
}

/** Whether the formula is true or false for all remaining possibilities. */
function statusOf(formula: Formula, state: State, budget: Budget): boolean | undefined {
  budget.left--
  switch (formula.kind) {
    case 'constant':
      return formula.value
    case 'literal':
      return literalStatus(formula, state)
    default: {
      const decisive = formula.kind === 'any'
      let isOpen = false
      for (const part of formula.parts) {
        const status = statusOf(part, state, budget)
        if (status === decisive) return decisive
        if (status === undefined) isOpen = true
      }
      return isOpen ? undefined : !decisive
    }
  }
}

function literalStatus({ unknown, meant }: Literal, state: State): boolean | undefined {
  const alive = state.alive.get(unknown) as Uint8Array
  let holds = false
  let fails = false
  for (let i = 0; i < alive.length; i++) {
    if (alive[i] === 0) continue
    if (meant[i] === 1) holds = true
    else fails = true
    if (holds && fails) return undefined
  }
  return holds
}

/**
 * Keeps parts consistent with their wholes. Wholes form trees, so agreement of each pair is
 * agreement of all: the remaining possibilities can be chosen from the root down without a dead
 * end.
 */
function linkParts(state: State, changed: () => void): boolean {
  for (const part of state.alive.keys()) {
    if (part.whole === undefined) continue
    const { unknown: whole, within } = part.whole
    const isThere = (index: number) => whole.possibilities[index]?.kind === within
    const isReached = (index: number) => part.possibilities[index]?.kind !== 'unreachable'
    const wholes = kindsLeft(state.alive.get(whole) as Uint8Array, isThere)
    const agrees = (index: number) => (isReached(index) ? wholes.yes : wholes.no)
    if (!state.narrow(part, agrees, changed)) return false
    const parts = kindsLeft(state.alive.get(part) as Uint8Array, isReached)
    const carries = (index: number) => (isThere(index) ? parts.yes : parts.no)
    if (!state.narrow(whole, carries, changed)) return false
  }
  return true
}

function kindsLeft(alive: Uint8Array, test: (index: number) => boolean) {
  const left = { yes: false, no: false }
  for (let i = 0; i < alive.length; i++) {
    if (alive[i] === 0) continue
    if (test(i)) left.yes = true
    else left.no = true
  }
  return left
}

/** Chooses the first remaining possibility, from the root down: they are ordered by preference. */
function choose(state: State): Assignment {
  const chosen = new Map<Unknown, Possibility>()
  const visit = (unknown: Unknown): Possibility => {
    const known = chosen.get(unknown)
    if (known !== undefined) return known
    const whole = unknown.whole && visit(unknown.whole.unknown)
    const alive = state.alive.get(unknown) as Uint8Array
    const index = unknown.possibilities.findIndex((one, at) => {
      if (alive[at] === 0) return false
      return (
        whole === undefined ||
        isCompatible(one, whole, (unknown.whole as NonNullable<Unknown['whole']>).within)
      )
    })
    const possibility = unknown.possibilities[index]
    if (possibility === undefined) throw new Error(`nothing is left for ${unknown.id}`)
    chosen.set(unknown, possibility)
    return possibility
  }
  for (const unknown of state.alive.keys()) visit(unknown)
  return chosen
}
