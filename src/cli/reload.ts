import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { Source, Update } from '../sources/source.ts'
import type { Fleet } from './fleet.ts'
import { withoutOptimization } from './startup-memory.ts'

export interface ReloadOptions {
  readonly apply: Fleet['apply']
  readonly applied: (
    model: Model,
    diagnostics: readonly Diagnostic[],
    digest: Update['digest'],
  ) => Promise<void> | void
  readonly rejected: (diagnostics: readonly Diagnostic[], digest: Update['digest']) => void
  /** What is thrown while one is applied costs that one alone. */
  readonly broke: (error: unknown, digest: Update['digest']) => void
}

/** Files that are written in place are empty for a moment, and nobody stops serving by that. */
const SAYS_NOTHING = 'PC0223'

/** Applies what a source has, one change at a time. A change that is wrong in any way changes nothing. */
export async function followSource(
  source: Source,
  options: ReloadOptions,
  signal: AbortSignal,
): Promise<void> {
  for await (const update of source.watch(signal)) {
    await withoutOptimization(() => take(update, options)).catch((error: unknown) => {
      options.broke(error, update.digest)
    })
  }
}

async function take(
  { result, digest }: Update,
  { apply, applied, rejected }: ReloadOptions,
): Promise<void> {
  const { value: model, diagnostics } = result
  const isEmpty = diagnostics.some(({ code }) => code === SAYS_NOTHING)
  if (model === undefined || isEmpty || hasErrors(diagnostics)) {
    rejected(diagnostics, digest)
    return
  }
  const outcome = await apply(model)
  const all = [...diagnostics, ...outcome.diagnostics]
  if (outcome.isApplied) await applied(model, all, digest)
  else rejected(all, digest)
}
