import { createContext, useContext } from 'react'
import type { Session } from './api/shapes.ts'

const ROLES = ['viewer', 'editor', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Undefined until it is known. */
export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session | undefined {
  return useContext(SessionContext)
}

/**
 * Whether to offer what needs this role. The gateway decides all the same; until the role is known
 * nothing is offered.
 */
export function useMay(role: Role): boolean {
  const session = useSession()
  return session !== undefined && ROLES.indexOf(session.role) >= ROLES.indexOf(role)
}
