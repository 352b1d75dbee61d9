import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { MemoryUserTokens, type UserTokenStore } from '../exchange/user-token-store.ts'
import { canonicalJson } from '../model/json.ts'
import type { Settings } from '../model/settings.ts'
import { sealedJson } from '../oidc/sealed-json.ts'
import type { UserTokens as OpenedTokens } from '../oidc/user-tokens.ts'
import type { OpenUserTokens, UserTokenSettings } from '../policies/backend-auth/user-tokens.ts'
import { UserTokenFile } from '../proxy/user-token-file.ts'

/** Tokens of users for backends. The protocol code is loaded with the first such policy. */
export function openUserTokens(store: UserTokenStore, sealKey: Uint8Array): OpenUserTokens {
  return (settings) => {
    const opening = open(settings, store, sealKey)
    // The error is reported at consent, which may never happen.
    opening.catch(() => {})
    return {
      find: async (owner) => {
        try {
          return await (await opening).find(owner)
        } catch (error) {
          const detail = error instanceof Error ? error.message : String(error)
          return { kind: 'unavailable', detail: `user tokens: ${detail}` }
        }
      },
      connect: async (...args) => (await opening).connect(...args),
      signedIn: async (...args) => (await opening).signedIn(...args),
      finish: async (...args) => (await opening).finish(...args),
      disconnect: async (...args) => (await opening).disconnect(...args),
    }
  }
}

async function open(
  settings: UserTokenSettings,
  store: UserTokenStore,
  sealKey: Uint8Array,
): Promise<OpenedTokens> {
  const { OidcProvider } = await import('../oidc/provider.ts')
  const { UpstreamClient } = await import('../oidc/upstream-client.ts')
  const { UserTokens } = await import('../oidc/user-tokens.ts')
  const { signIn, redirectUri, userClaim } = settings
  const name = nameOf(settings)
  return new UserTokens({
    client: new UpstreamClient(settings),
    signIn: new OidcProvider(signIn),
    userClaim,
    sealed: sealedJson(Buffer.from(sealKey).toString('hex'), `user tokens ${name}`),
    store,
    redirectUri,
    name,
  })
}

/** A token is for one client of one server, and for what its user consented to. */
function nameOf(settings: UserTokenSettings): string {
  const { issuer, authorizationEndpoint, tokenEndpoint, clientId, userClaim } = settings
  const { scopes, resources } = settings
  const said = {
    server: issuer ?? [authorizationEndpoint, tokenEndpoint],
    clientId,
    userClaim,
    scopes: [...scopes].sort(),
    resources: [...resources].sort(),
  }
  return createHash('sha256').update(canonicalJson(said)).digest('hex').slice(0, 16)
}

export async function openUserTokenStore(
  file: string,
  { userTokens, database }: Settings,
): Promise<UserTokenStore | Diagnostic> {
  if (userTokens.file !== undefined) {
    const origin = { kind: 'object', object: file, field: 'config.userTokens.file' } as const
    try {
      return new UserTokenFile(resolve(dirname(file), userTokens.file))
    } catch (error) {
      const problem = error instanceof Error ? error.message : error
      return {
        code: 'PC0419',
        severity: 'error',
        message: `cannot use the user token file: ${problem}`,
        origin,
        hint: 'make sure that the gateway can read and write the file, and that it is a user token file',
      }
    }
  }
  if (database === undefined) return new MemoryUserTokens()
  // Loaded only if a database is configured.
  const { DatabaseUserTokens } = await import('./database-user-tokens.ts')
  const { url, maxConnections } = database
  return new DatabaseUserTokens(url.secret.trim(), maxConnections)
}
