import { useSyncExternalStore } from 'react'

/** The last change that was saved in this tab. */
export interface Saved {
  /** `kind/id` */
  readonly name: string
  readonly revision: number
}

let last: Saved | undefined
const listeners = new Set<() => void>()

export function setSaved(saved: Saved | undefined): void {
  last = saved
  for (const listener of listeners) listener()
}

export function useSaved(): Saved | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => last,
  )
}
