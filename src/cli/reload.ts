import { setTimeout as wait } from 'node:timers/promises'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { locateAll, NO_PLACES, type Places } from '../diagnostics/places.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import type { Model } from '../model/model.ts'
import { rejectedParts } from '../model/rejected-parts.ts'
import type { Source, Update } from '../sources/source.ts'
import type { Fleet } from './fleet.ts'

/** Applies a Model; `places`: where its parts are. Diagnostics are not located yet. */
export type Apply = (
  model: Model,
  isStrict: boolean,
  settings: Update['settings'],
  places: Places,
) => ReturnType<Fleet['apply']>

export interface AppliedUpdate extends Pick<Update, 'digest' | 'settings'> {
  /** How many parts fail closed. */
  readonly rejected: number
}

export interface ReloadOptions {
  readonly apply: Apply
  readonly applied: (
    model: Model,
    diagnostics: readonly Diagnostic[],
    update: AppliedUpdate,
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
  { result, settings, digest, settled, places = NO_PLACES }: Update,
  isStrict: boolean,
  { apply, applied, rejected, unreported }: ReloadOptions,
): Promise<void> {
  const { value: model, diagnostics } = result
  const isEmpty = diagnostics.some(({ code }) => code === SAYS_NOTHING)
  if (model === undefined || isEmpty || (isStrict && hasErrors(diagnostics))) {
    rejected(diagnostics, digest)
    settled?.({ isApplied: false, diagnostics, rejected: [] })
    return
  }
  const { isApplied, diagnostics: further } = await apply(model, isStrict, settings, places)
  const all = [...diagnostics, ...withoutRepeated(diagnostics, locateAll(places, further))]
  const found = [...diagnostics, ...further]
  // Invalid parts of a file have been reported: without errors, there are none to look for.
  const isDelivered = settled !== undefined
  const parts = isDelivered || hasErrors(found) ? rejectedParts(model, found) : []
  if (isApplied) {
    try {
      await applied(model, all, { digest, settings, rejected: parts.length })
    } catch (error) {
      unreported(error)
    }
  } else rejected(all, digest)
  settled?.({ isApplied, diagnostics: all, rejected: parts })
}
