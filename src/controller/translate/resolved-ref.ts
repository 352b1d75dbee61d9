import type { Verdict } from './conditions.ts'

/** The name of a backend in the Model, and whether the reference to it is valid. */
export interface ResolvedRef {
  readonly backend: string
  readonly verdict: Verdict
}
