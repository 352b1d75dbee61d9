import { createHash } from 'node:crypto'
import { keysOf, type RevokedSessions } from '../oidc/revoked-sessions.ts'
import { isCookieSecret, sealedJson } from '../oidc/sealed-json.ts'
import type { OidcSessions } from '../oidc/sessions.ts'
import type { OpenSignIn, SignInSettings } from '../policies/oidc/sign-in.ts'
import type { SharedSignIn } from '../proxy/sign-in-share.ts'
import type { Store } from '../sources/database/store.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { Logger } from '../telemetry/log.ts'
import { COOKIE_SECRET } from './cookie-secret.ts'
import type { Fleet } from './fleet.ts'

/** Sign-in for policies of routes. The protocol code is loaded with the first such policy. */
export function routeSignIn(shared: SharedSignIn, environment: Environment): OpenSignIn {
  return (settings) => {
    const secret = settings.cookieSecret ?? environment[COOKIE_SECRET] ?? ''
    if (!isCookieSecret(secret)) return undefined
    const opening = openSessions(settings, secret, shared)
    // The error is reported at sign-in, which may never happen.
    opening.catch(() => {})
    return {
      begin: async (...args) => (await opening).begin(...args),
      finish: async (...args) => (await opening).finish(...args),
      read: async (...args) => (await opening).read(...args),
      logout: async (...args) => (await opening).logout(...args),
      logoutByProvider: async (...args) => (await opening).logoutByProvider(...args),
    }
  }
}

async function openSessions(
  { issuer, clientId, clientSecret, redirectUri, scopes, name }: SignInSettings,
  secret: string,
  shared: SharedSignIn,
): Promise<OidcSessions> {
  const { OidcProvider } = await import('../oidc/provider.ts')
  const { OidcSessions } = await import('../oidc/sessions.ts')
  return new OidcSessions({
    provider: new OidcProvider({ issuer, clientId, clientSecret, redirectUri, scopes }),
    sealed: sealedJson(secret, name),
    revoked: revokedFor(name, shared),
    redirectUri,
    name,
    once: (key, work) => shared.once(digestOf(`${name} ${key}`), work),
  })
}

/** Shares ended sessions among the replicas of one database. */
export function shareRevoked(store: Store, { signIn }: Fleet, log: Logger): void {
  signIn.share = ({ keys, before, until }) =>
    // The session has ended here in any case; at other replicas, it ends with its tokens.
    store.revocations.add(keys, before, until).catch((error: Error) => {
      log.warn('sign-in', {
        error: 'cannot send a logout to the other replicas',
        detail: error.message,
      })
    })
  store.revocations.onAdded((revoked) => void signIn.learn(revoked))
}

/** Subjects and sessions of different providers may have the same names. */
function revokedFor(name: string, shared: SharedSignIn): RevokedSessions {
  const keys = (one: Parameters<typeof keysOf>[0]) => keysOf(one).map((key) => `${name} ${key}`)
  return {
    add: ({ before = Number.MAX_SAFE_INTEGER, ...who }, until) =>
      shared.revoke({ keys: keys(who), before, until }),
    has: async (session) => shared.isRevoked(keys(session), session.issued ?? 0),
  }
}

/** Comparing tokens requires only their digests. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
