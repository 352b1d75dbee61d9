import { createContext, useContext } from 'react'
import type { Health, Session } from './api/shapes.ts'
import type { Loaded } from './api/use-api.ts'

const NOT_READ: Loaded<never> = {
  data: undefined,
  problem: undefined,
  isLoading: true,
  reload: () => {},
}

/** Read once for all pages. */
export const HealthContext = createContext<Loaded<Health>>(NOT_READ)
export const SessionContext = createContext<Loaded<Session>>(NOT_READ)

export function useHealth(): Loaded<Health> {
  return useContext(HealthContext)
}

export function useSession(): Loaded<Session> {
  return useContext(SessionContext)
}

/** Whether nothing can be stored, by anyone or by whoever uses this. Undefined until it is known. */
export function useIsReadOnly(): boolean | undefined {
  const { data } = useHealth()
  const { data: session, problem } = useSession()
  if (data === undefined || (session === undefined && problem === undefined)) return undefined
  return data.storage.mode === 'readonly' || session?.role === 'viewer'
}
