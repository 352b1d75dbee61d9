import type { Span } from '../syntax/ast.ts'
import type { Substitution } from './unify.ts'

/** What is known of types so far, and where mistakes are reported. */
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
