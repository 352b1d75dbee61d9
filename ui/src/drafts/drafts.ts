import { useSyncExternalStore } from 'react'
import { type Draft, DraftStore } from './draft-store.ts'

/** The drafts of this tab. */
export const drafts = new DraftStore(sessionStorage)

addEventListener('pagehide', () => drafts.flush())

const subscribe = (listener: () => void) => drafts.subscribe(listener)

export function useDrafts(): ReadonlyMap<string, Draft> {
  return useSyncExternalStore(subscribe, () => drafts.all())
}

export const CONFIGURATION = 'configuration'

/** The page on which a draft is edited. */
export function draftPath(name: string, draft: Draft): string {
  if (draft.page !== undefined) return draft.page
  if (name === CONFIGURATION) return 'config'
  const [kind = '', ...id] = name.split('/')
  return `policies/${encodeURIComponent(kind)}/${encodeURIComponent(id.join('/'))}`
}
