import { createContext, useContext } from 'react'
import type { Health } from './api/shapes.ts'
import type { Loaded } from './api/use-api.ts'

const NOT_READ: Loaded<Health> = {
  data: undefined,
  problem: undefined,
  isLoading: true,
  reload: () => {},
}

/** Shared by all pages, so that health is read once. */
export const HealthContext = createContext(NOT_READ)

export function useHealth(): Loaded<Health> {
  return useContext(HealthContext)
}

/** Undefined until health is read. */
export function useIsReadOnly(): boolean | undefined {
  const { data } = useHealth()
  return data === undefined ? undefined : data.storage.mode === 'readonly'
}
