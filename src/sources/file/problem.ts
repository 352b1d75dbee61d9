import type { Severity } from '../../diagnostics/diagnostic.ts'

/** Something that is wrong between two offsets of the text. */
export interface Problem {
  readonly code: string
  /** An error, unless it says otherwise. */
  readonly severity?: Severity
  readonly message: string
  readonly hint?: string
  readonly start: number
  readonly end: number
}
