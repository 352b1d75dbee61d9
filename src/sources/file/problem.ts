import type { Severity } from '../../diagnostics/diagnostic.ts'

/** A problem between two offsets of the text. */
export interface Problem {
  readonly code: string
  /** Error by default. */
  readonly severity?: Severity
  readonly message: string
  readonly hint?: string
  readonly start: number
  readonly end: number
}
