import type { Value } from '../../cel/values/value.ts'

/**
 * Something about a request that is not known: the value of an attribute, or whether a list holds
 * an element. Its possibilities stand for all values that the rules at hand can tell apart.
 */
export interface Unknown {
  readonly id: string
  /** What this is a part of; there is nothing to it unless the whole is `within`. */
  readonly whole: { readonly unknown: Unknown; readonly within: Possibility['kind'] } | undefined
  /** Names from the variable to the attribute; none for the outcome of an expression. */
  readonly steps: readonly string[]
  readonly possibilities: readonly Possibility[]
}

export type Possibility =
  /** The attribute has this value. */
  | { readonly kind: 'value'; readonly value: Value }
  /** The whole is there, and this is not in it. */
  | { readonly kind: 'absent' }
  /** The whole is not there, or nothing that could have parts. */
  | { readonly kind: 'unreachable' }
  /** A map, whose members are unknowns of their own. */
  | { readonly kind: 'map' }
  /** A list, whose elements are unknowns of their own. */
  | { readonly kind: 'list' }
  /** The list holds the element. */
  | { readonly kind: 'held'; readonly element: Value }
  /** The list or map has so many elements; names for those of a map that nothing asks for. */
  | { readonly kind: 'count'; readonly count: number; readonly names: readonly string[] }
  | { readonly kind: 'outcome'; readonly outcome: number }

/** Whether a possibility of a part goes with one of its whole. */
export function isCompatible(
  part: Possibility,
  whole: Possibility,
  within: Possibility['kind'],
): boolean {
  return (part.kind === 'unreachable') === (whole.kind !== within)
}
