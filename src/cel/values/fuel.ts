import { fail } from './failure.ts'

/**
 * What one evaluation may still spend. Loops and functions whose work grows with their input
 * charge for it; loops stop when nothing is left, and an expression that spent more than its
 * bound is an error whatever its value (see emit/). Only metered expressions reset and look at it.
 */
export const fuel = {
  left: 0,
  /** Whether `left` means anything: a metered expression is running. */
  counts: false,
}

/**
 * A value that holds another one many times over takes longer to walk than it took to make: where
 * nothing is left, whoever walks it stops, since the answer counts no more.
 */
export function isSpent(): boolean {
  return fuel.counts && fuel.left < 0
}

/** One unit is about one loop turn or 16 bytes copied: some ten nanoseconds. */
export function charge(units: number): void {
  fuel.left -= units
}

/** Runs what charges, and what may stop where nothing is left. */
export function counted<T>(budget: number, run: () => T): T {
  fuel.left = budget
  fuel.counts = true
  try {
    return run()
  } finally {
    fuel.counts = false
  }
}

/**
 * The error of an expression that a request made too large: not one that `||` absorbs or that
 * keeps a Deny rule from firing, but the end of the budget.
 */
export function overBound(reason: string, detail?: unknown): undefined {
  fuel.left = -1
  return fail(reason, detail)
}

/** No single value grows beyond these, whatever fuel is left: an error, before it is allocated. */
export const LARGEST_STRING = 1 << 20
export const LARGEST_LIST = 1 << 17

export const DEFAULT_FUEL = 100_000
