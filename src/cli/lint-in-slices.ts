import { asFindings, lintStepwise } from '../analysis/lint/lint.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'

const LONGEST_SLICE = 5

/**
 * The findings of lint, found between requests: no more than some milliseconds at once. Undefined
 * where nobody wants them any more.
 */
export async function lintInSlices(
  model: Model,
  said: readonly Diagnostic[],
  isOver: () => boolean,
): Promise<readonly Diagnostic[] | undefined> {
  const linting = lintStepwise(model)
  for (let began = performance.now(); ; ) {
    const { done, value } = linting.next()
    if (done === true) {
      return [...asFindings(said), ...value].map(({ diagnostic }) => diagnostic)
    }
    if (performance.now() - began < LONGEST_SLICE) continue
    await new Promise((resolve) => setImmediate(resolve))
    if (isOver()) return undefined
    began = performance.now()
  }
}
