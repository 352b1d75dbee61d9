import { fail } from './failure.ts'
import { LEDGER, type Ledger } from './ledger.ts'

/**
 * The remaining budget of one evaluation. Loops and functions whose work grows with their input
 * charge for it; loops stop when nothing is left, and an expression that exceeded its budget is an
 * error whatever its value (see emit/). Only metered expressions reset and check it.
 */
export const fuel = {
  left: 0,
  /** Whether `left` is meaningful: a metered expression is running. */
  counts: false,
  /** The budget that the running expression started with. */
  given: 0,
  /** Shared by all expressions of a request; with plain variables, each evaluation has its own. */
  ledger: undefined as Ledger | undefined,
  /** Why nothing is left; empty if it was simply spent. */
  reason: '',
  detail: undefined as unknown,
}

/**
 * A value that contains another one many times takes longer to traverse than to create: when
 * nothing is left, traversals stop, since the result no longer counts.
 */
export function isSpent(): boolean {
  return fuel.counts && fuel.left < 0
}

/** One unit is about one loop iteration or 16 bytes copied: about ten nanoseconds. */
export function charge(units: number): void {
  fuel.left -= units
}

/** Charges before the work is done; false if nothing is left to do it. */
export function afford(units: number): boolean {
  fuel.left -= units
  return !isSpent()
}

/** How many items of work the budget covers at this cost per item, at most `max`. */
export function affordable(max: number, units: number): number {
  return fuel.counts ? Math.min(max, Math.max(0, Math.floor(fuel.left / units))) : max
}

/** Begins a metered expression, with its budget or with what is left of its request's budget. */
export function begin(variables: object, budget: number): void {
  const ledger = ledgerOf(variables)
  const given = ledger === undefined || ledger.left > budget ? budget : ledger.left
  fuel.ledger = ledger
  fuel.given = given
  fuel.left = given
  fuel.reason = ''
  fuel.counts = true
}

/** Ends the metered expression, whatever its result; `fuel.left` remains readable. */
export function end(): void {
  const { ledger, left, given } = fuel
  if (ledger !== undefined) ledger.left -= left < 0 ? given : given - left
  fuel.ledger = undefined
  fuel.counts = false
}

/** Runs a function that charges fuel and that may stop when nothing is left. */
export function counted<T>(variables: object, budget: number, run: () => T): T {
  begin(variables, budget)
  try {
    return run()
  } finally {
    end()
  }
}

/** Like `counted`, for explaining what has run: the request's remaining budget is unchanged. */
export function countedApart<T>(ledger: Ledger | undefined, budget: number, run: () => T): T {
  const left = ledger?.left ?? 0
  if (ledger !== undefined) ledger.left = Number.POSITIVE_INFINITY
  begin(ledger === undefined ? {} : { [LEDGER]: ledger }, budget)
  try {
    return run()
  } finally {
    end()
    if (ledger !== undefined) ledger.left = left
  }
}

export function ledgerOf(variables: object): Ledger | undefined {
  return (variables as { readonly [LEDGER]?: Ledger })[LEDGER]
}

/**
 * The error of an expression that a request made too large. It ends the budget, so that `||` does
 * not absorb it and it does not keep a Deny rule from firing.
 */
export function overBound(reason: string, detail?: unknown): undefined {
  fuel.left = -1
  fuel.reason = reason
  fuel.detail = detail
  return fail(reason, detail)
}

/**
 * For client input that is not read here, although others may read it: JSON that repeats a member
 * name, bytes that are not UTF-8. Input that a Deny rule cannot read must not bypass it, so this
 * also ends the budget.
 */
export function unreadable(reason: string, detail?: unknown): undefined {
  return overBound(reason, detail)
}

/** Max size of any value, whatever fuel is left; more is an error before it is allocated. */
export const MAX_STRING = 1 << 20
export const MAX_LIST = 1 << 17

export const DEFAULT_FUEL = 200_000
