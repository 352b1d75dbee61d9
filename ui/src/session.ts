import { createContext, useContext } from 'react'
import type { Session } from './api/shapes.ts'

const ROLES = ['viewer', 'editor', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Undefined until the session is read. */
export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session | undefined {
  return useContext(SessionContext)
}

/**
 * Whether to offer actions that require this role. Until the role is known, no such actions are
 * offered. The gateway enforces roles regardless.
 */
export function useMay(role: Role): boolean {
  const session = useSession()
  return session !== undefined && ROLES.indexOf(session.role) >= ROLES.indexOf(role)
}
