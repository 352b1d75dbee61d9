import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Ordered by what they may do: each may do what those before it may. */
export const ROLES = ['viewer', 'editor', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Who calls the admin API. */
export interface Caller {
  /** As the audit trail names it. */
  readonly name: string
  /** `none`: it is known who it is, and that is all. */
  readonly role: Role | 'none'
  /** To be sent with the response: the session of a browser was renewed. */
  readonly cookies?: readonly string[]
}

/** Undefined: the caller did not authenticate as it must. */
export type Authenticate = (
  request: IncomingMessage,
) => Caller | undefined | Promise<Caller | undefined>

/** Without a token every caller is the operator of this machine. */
export function authenticateBy(token: string | undefined): Authenticate {
  if (token === undefined) return () => ({ name: 'local', role: 'admin' })
  const wanted = digestOf(token)
  return ({ headers }) => {
    const [, given] = /^Bearer +([!-~]+)$/i.exec(headers.authorization ?? '') ?? []
    if (given === undefined || !timingSafeEqual(digestOf(given), wanted)) return undefined
    return { name: 'token', role: 'admin' }
  }
}

export function hasRole({ role }: Caller, needed: Role): boolean {
  return (ROLES as readonly string[]).indexOf(role) >= ROLES.indexOf(needed)
}

/**
 * Whether a page of another origin sent the request. Browsers say so; programs send neither
 * header, and are no page.
 */
export function isForeign({ headers }: IncomingMessage): boolean {
  const { origin, host = '' } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  if (origin === undefined) return false
  return URL.parse(origin)?.host !== host.toLowerCase()
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
