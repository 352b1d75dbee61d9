import type { Value } from '../../cel/values/value.ts'

/**
 * Something about a request that is unknown: the value of an attribute, or whether a list contains
 * an element. Its possibilities represent all values that the given rules can distinguish.
 */
export interface Unknown {
  readonly id: string
  /** What this is a part of; it is unreachable unless the whole is `within`. */
  readonly whole: { readonly unknown: Unknown; readonly within: Possibility['kind'] } | undefined
  /** Names from the variable to the attribute; empty for the outcome of an expression. */
  readonly steps: readonly string[]
  readonly possibilities: readonly Possibility[]
}

export type Possibility =
  /** The attribute has this value. */
  | { readonly kind: 'value'; readonly value: Value }
  /** The whole is present, and does not contain this. */
  | { readonly kind: 'absent' }
  /** The whole is absent, or cannot have parts. */
  | { readonly kind: 'unreachable' }
  /** A map, whose members are separate unknowns. */
  | { readonly kind: 'map' }
  /** A list, whose elements are separate unknowns. */
  | { readonly kind: 'list' }
  /** The list contains the element. */
  | { readonly kind: 'held'; readonly element: Value }
  /** The list or map has this many elements; the names are for members that no condition tests. */
  | { readonly kind: 'count'; readonly count: number; readonly names: readonly string[] }
  | { readonly kind: 'outcome'; readonly outcome: number }

/** Whether a possibility of a part is consistent with one of its whole. */
export function isCompatible(
  part: Possibility,
  whole: Possibility,
  within: Possibility['kind'],
): boolean {
  return (part.kind === 'unreachable') === (whole.kind !== within)
}
