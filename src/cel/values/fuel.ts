import { fail } from './failure.ts'
import { LEDGER, type Ledger } from './ledger.ts'

/**
 * What one evaluation may still spend. Loops and functions whose work grows with their input
 * charge for it; loops stop when nothing is left, and an expression that spent more than its
 * bound is an error whatever its value (see emit/). Only metered expressions reset and look at it.
 */
export const fuel = {
  left: 0,
  /** Whether `left` means anything: a metered expression is running. */
  counts: false,
  /** What the running expression began with. */
  given: 0,
  /** What all expressions of a request share; of plain variables each evaluation has its own. */
  ledger: undefined as Ledger | undefined,
  /** Why nothing is left; empty where it was simply spent. */
  reason: '',
  detail: undefined as unknown,
}

/**
 * A value that holds another one many times over takes longer to walk than it took to make: where
 * nothing is left, whoever walks it stops, since the result counts no more.
 */
export function isSpent(): boolean {
  return fuel.counts && fuel.left < 0
}

/** One unit is about one loop turn or 16 bytes copied: some ten nanoseconds. */
export function charge(units: number): void {
  fuel.left -= units
}

/** Charges before the work is done; false where there is nothing left to do it with. */
export function afford(units: number): boolean {
  fuel.left -= units
  return !isSpent()
}

/** How many pieces of work can be paid for, where each costs so much. */
export function affordable(max: number, units: number): number {
  return fuel.counts ? Math.min(max, Math.max(0, Math.floor(fuel.left / units))) : max
}

/** A metered expression begins: it has its budget, or what its request has left for all of them. */
export function begin(variables: object, budget: number): void {
  const ledger = ledgerOf(variables)
  const given = ledger === undefined || ledger.left > budget ? budget : ledger.left
  fuel.ledger = ledger
  fuel.given = given
  fuel.left = given
  fuel.reason = ''
  fuel.counts = true
}

/** It is over, whatever came of it; `fuel.left` stays to be looked at. */
export function end(): void {
  const { ledger, left, given } = fuel
  if (ledger !== undefined) ledger.left -= left < 0 ? given : given - left
  fuel.ledger = undefined
  fuel.counts = false
}

/** Runs what charges, and what may stop where nothing is left. */
export function counted<T>(variables: object, budget: number, run: () => T): T {
  begin(variables, budget)
  try {
    return run()
  } finally {
    end()
  }
}

/** The same for who explains what has run: what the request has left for its rules stays as it is. */
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
 * The error of an expression that a request made too large: not one that `||` absorbs or that
 * keeps a Deny rule from firing, but the end of the budget.
 */
export function overBound(reason: string, detail?: unknown): undefined {
  fuel.left = -1
  fuel.reason = reason
  fuel.detail = detail
  return fail(reason, detail)
}

/**
 * What a client sent is not read here, though others may read it: JSON that names a member twice,
 * bytes that are no UTF-8. A Deny rule must not be passed by what it cannot read, so this too is
 * the end of the budget.
 */
export function unreadable(reason: string, detail?: unknown): undefined {
  return overBound(reason, detail)
}

/** No single value grows beyond these, whatever fuel is left: an error, before it is allocated. */
export const LARGEST_STRING = 1 << 20
export const LARGEST_LIST = 1 << 17

export const DEFAULT_FUEL = 200_000
