import type { AiBackend } from '../../model/backend.ts'
import type { Entry } from '../diff/entries.ts'
import { type Judged, mayBeUnserved } from './judge.ts'
import type { RecordedRequest } from './requests.ts'

/*
 * If clients choose the provider by model name, no other provider can replace it. Bodies are not
 * recorded, so the providers that were evaluated identify the model.
 */

function modelsAt({ where }: Entry): AiBackend | undefined {
  const { backend } = where
  return backend?.kind === 'ai' && backend.models !== undefined ? backend : undefined
}

/** Drops the providers of other models. */
export function servingModel(
  entries: readonly Entry[],
  { providers }: RecordedRequest,
): readonly Entry[] {
  if (providers.size === 0) return entries
  return entries.filter(
    (entry) => modelsAt(entry) === undefined || providers.has(entry.provider ?? ''),
  )
}

/** Combines the verdicts for the providers of one way into one verdict. */
export function byProviders(
  entries: readonly Entry[],
  judged: readonly Judged[],
  { providers }: RecordedRequest,
): Judged {
  const backend = entries[0] && modelsAt(entries[0])
  if (backend === undefined) return anyOf(judged)
  const [first] = judged
  const isSplit = judged.some(({ kind }) => kind !== first?.kind)
  if (isSplit && providers.size === 0) return { kind: 'unknown', on: [MODEL] }
  const found = anyOf(judged)
  // A virtual model falls back to targets that were not evaluated at the time.
  const isVirtual = (backend.virtualModels ?? []).some(({ targets }) =>
    targets.some(({ provider }) => providers.has(provider)),
  )
  return found.kind === 'refused' && isVirtual ? { kind: 'unknown', on: [MODEL] } : found
}

const MODEL = 'the model that was called'

/** If there are several providers, it is enough that one of them can be called. */
function anyOf(judged: readonly Judged[]): Judged {
  const [first, ...others] = judged
  if (first === undefined || others.length === 0) return first ?? { kind: 'unknown', on: [] }
  if (judged.some(({ kind }) => kind === 'admitted')) return { kind: 'admitted' }
  const unknown = judged.find(({ kind }) => kind === 'unknown')
  if (unknown?.kind !== 'unknown') return first
  return { ...unknown, mayBeUnserved: mayBeUnserved(judged) }
}
