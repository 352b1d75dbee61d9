import { setTimeout as wait } from 'node:timers/promises'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import type { Model } from '../model/model.ts'
import { rejectedParts } from '../model/rejected-parts.ts'
import type { Source, Update } from '../sources/source.ts'
import type { Fleet } from './fleet.ts'

export interface ReloadOptions {
  readonly apply: Fleet['apply']
  readonly applied: (
    model: Model,
    diagnostics: readonly Diagnostic[],
    update: Pick<Update, 'digest' | 'settings'>,
  ) => Promise<void> | void
  readonly rejected: (diagnostics: readonly Diagnostic[], digest: Update['digest']) => void
  /** An exception while an update is applied affects only that update. */
  readonly broke: (error: unknown, digest: Update['digest']) => void
  /** `applied` threw; the change is still in effect. */
  readonly unreported: (error: unknown) => void
}

/** Files that are written in place are briefly empty, which must not stop the service. */
const SAYS_NOTHING = 'PC0223'

/** Milliseconds until a source that threw is watched again. */
const PAUSE = 1_000

/**
 * Applies the updates of a source, one at a time. An update with any error changes nothing, unless
 * the source requires Models to be applied part by part. A source that throws, which none should,
 * is watched again: otherwise no later change would ever be applied.
 */
export async function followSource(
  source: Source,
  options: ReloadOptions,
  signal: AbortSignal,
  pause = PAUSE,
): Promise<void> {
  for (;;) {
    try {
      await followOnce(source, options, signal)
      return
    } catch (error) {
      if (signal.aborted) return
      options.broke(error, undefined)
    }
    await wait(pause, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // Changes in the meantime were not reported.
    source.refresh()
  }
}

async function followOnce(
  source: Source,
  options: ReloadOptions,
  signal: AbortSignal,
): Promise<void> {
  for await (const update of source.watch(signal)) {
    await take(update, source.isStrict, options).catch((error: unknown) => {
      options.broke(error, update.digest)
      update.settled?.({ isApplied: false, diagnostics: [], rejected: [] })
    })
  }
}

async function take(
  { result, settings, digest, settled }: Update,
  isStrict: boolean,
  { apply, applied, rejected, unreported }: ReloadOptions,
): Promise<void> {
  const { value: model, diagnostics } = result
  const isEmpty = diagnostics.some(({ code }) => code === SAYS_NOTHING)
  if (model === undefined || isEmpty || (isStrict && hasErrors(diagnostics))) {
    rejected(diagnostics.map(asWritten), digest)
    settled?.({ isApplied: false, diagnostics, rejected: [] })
    return
  }
  const { isApplied, diagnostics: further } = await apply(model, isStrict, settings)
  const all = [...diagnostics, ...withoutRepeated(diagnostics, further)]
  if (isApplied) {
    try {
      await applied(model, all, { digest, settings })
    } catch (error) {
      unreported(error)
    }
  } else rejected(all.map(asWritten), digest)
  settled?.({ isApplied, diagnostics: all, rejected: rejectedParts(model, all) })
}

/**
 * Copies the origin, so that it keeps its line in the rejected file: the served Model returns to
 * its previous lines.
 */
function asWritten(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, origin: { ...diagnostic.origin } }
}
