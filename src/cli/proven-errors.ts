import { lint } from '../analysis/lint/lint.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import { unsuppressed } from './check-model.ts'

/** All proven errors of the policies, except those that the reader also reports (AZ009). */
export function provenErrors(file: string, model: Model, text?: string): readonly Diagnostic[] {
  const errors = lint(model).filter(
    ({ diagnostic: { severity, code } }) => severity === 'error' && code !== 'AZ009',
  )
  return unsuppressed(file, errors, text)
}
