import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** In ascending order of permissions: each role includes those before it. */
export const ROLES = ['viewer', 'editor', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** A caller of the admin API. */
export interface Caller {
  /** The name in the audit trail. */
  readonly name: string
  /** `none`: authenticated, but without any permission. */
  readonly role: Role | 'none'
  /** Cookies to send with the response, because the browser session was renewed. */
  readonly cookies?: readonly string[]
}

/** Returns undefined if the caller is not authenticated as required. */
export type Authenticate = (
  request: IncomingMessage,
) => Caller | undefined | Promise<Caller | undefined>

/** Without a token, every caller is the operator of this machine. */
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
 * Whether a page of another origin sent the request. Browsers indicate this; programs send neither
 * header.
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
