import type { Span } from '../syntax/ast.ts'
import type { Substitution } from './unify.ts'

/** The types known so far, and where problems are reported. */
export interface Typing {
  readonly types: Substitution
  report(
    code: string,
    at: Span,
    message: string,
    hint?: string,
    severity?: 'error' | 'warning',
  ): void
}
