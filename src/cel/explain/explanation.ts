import type { Term } from '../check/term.ts'
import type { Value } from '../values/value.ts'

/** One sub-expression with its result, or with the cause of its error. */
export interface Explanation {
  readonly term: Term
  /** `undefined`: an error; see `cause`. */
  readonly value: Value | undefined
  readonly cause: Cause | undefined
  readonly parts: readonly Explanation[]
  /** The variables of the element; the body of a macro is explained once per element. */
  readonly element?: string
}

export type Cause =
  | { readonly kind: 'unset'; readonly variable: string }
  | { readonly kind: 'missing'; readonly path: string; readonly present: readonly string[] }
  | {
      readonly kind: 'error'
      readonly reason: string
      readonly detail: unknown
      /** The whole is an error because its budget is exhausted: a Deny rule denies. */
      readonly isOverBound?: true
      /** Only the explanation exceeded its budget; the result of the expression may be anything. */
      readonly isCut?: true
    }

export function evaluated(term: Term, value: Value, parts: readonly Explanation[]): Explanation {
  return { term, value, cause: undefined, parts }
}

/** An error of a part is an error of the whole. */
export function failed(term: Term, parts: readonly Explanation[]): Explanation {
  const cause = parts.find((part) => part.value === undefined)?.cause
  return { term, value: undefined, cause, parts }
}

export function broken(
  term: Term,
  reason: string,
  parts: readonly Explanation[],
  detail?: unknown,
): Explanation {
  return { term, value: undefined, cause: { kind: 'error', reason, detail }, parts }
}

export const OVER_BOUND = 'the cost limit of the expression is exceeded'
export const CUT = 'the time limit for explanations is exceeded'
