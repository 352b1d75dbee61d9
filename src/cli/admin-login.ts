import type { Authenticate } from '../admin/callers.ts'
import { type Login, loginPages } from '../admin/login.ts'
import type { AdminAuthSettings } from '../model/settings.ts'
import { OidcProvider } from '../oidc/provider.ts'
import { keysOf, type RevokedSessions } from '../oidc/revoked-sessions.ts'
import { sealedJson } from '../oidc/sealed-json.ts'
import { OidcSessions } from '../oidc/sessions.ts'
import { RevokedKeys } from '../proxy/revoked-keys.ts'
import type { Store } from '../sources/database/store.ts'
import type { Logger } from '../telemetry/log.ts'
import type { RoleOf } from './admin-roles.ts'

export interface AdminLogin {
  readonly login: Login
  readonly authenticate: Authenticate
}

export interface AdminLoginOptions {
  readonly settings: AdminAuthSettings
  readonly secret: string
  readonly roleOf: RoleOf
  /** The store that shares ended sessions among all replicas. */
  readonly store: Store | undefined
  readonly log: Logger
}

/** Opens sign-in by OpenID Connect for the admin API. */
export function openLogin(options: AdminLoginOptions): AdminLogin {
  const { settings, secret, roleOf, store, log } = options
  const { oidc } = settings
  const home = homeOf(oidc.redirectUri)
  const sessions = new OidcSessions({
    provider: new OidcProvider({ ...oidc, clientSecret: oidc.clientSecret?.secret }),
    sealed: sealedJson(secret, `admin ${oidc.issuer} ${oidc.clientId}`),
    revoked: store === undefined ? revokedInMemory() : revokedIn(store),
    redirectUri: oidc.redirectUri,
    name: 'portcullis-admin',
    path: home,
  })
  return {
    login: loginPages(sessions, (detail) => log.warn('login', { error: detail }), home),
    authenticate: async ({ headers }) => {
      const session = await sessions.read(headers.cookie)
      if (session === undefined) return undefined
      const { claims, cookies } = session
      return { name: nameOf(claims), role: roleOf(claims), cookies }
    },
  }
}

/**
 * On the port of a gateway, everything about sign-in is below the path of the UI: backends of other
 * routes there never get the cookies.
 */
function homeOf(redirectUri: string): '/' | '/ui/' {
  return new URL(redirectUri).pathname.startsWith('/ui/') ? '/ui/' : '/'
}

/** The name that people recognize; an email address counts only if the provider has verified it. */
function nameOf(claims: Readonly<Record<string, unknown>>): string {
  const { sub, email, email_verified: isVerified } = claims
  return isVerified === true && typeof email === 'string' ? email : String(sub)
}

function revokedInMemory(): RevokedSessions {
  const known = new RevokedKeys()
  return {
    add: async ({ before = Number.MAX_SAFE_INTEGER, ...who }, until) =>
      known.add({ keys: keysOf(who), before, until }),
    has: async (session) => known.has(keysOf(session), session.issued ?? 0),
  }
}

function revokedIn(store: Store): RevokedSessions {
  return {
    add: (revocation, until) => store.revocations.add(keysOf(revocation), revocation.before, until),
    has: (session) => store.revocations.has(keysOf(session), session.issued ?? 0),
  }
}
