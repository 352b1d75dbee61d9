import type { Verdict } from './conditions.ts'

/** A name of a backend in the Model, and whether what it stands for is there. */
export interface ResolvedRef {
  readonly backend: string
  readonly verdict: Verdict
}
