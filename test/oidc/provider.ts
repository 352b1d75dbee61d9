import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'

/** A real OpenID provider on its own socket. */
export interface TestProvider {
  readonly issuer: string
  /** Claims of people by their names; people without an entry can sign in, too. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>
  /** The number of session refreshes, including failed ones. */
  readonly refreshes: () => number
  /** New tokens are signed with a key that no client has seen before. */
  rotateKeys(): Promise<void>
  close(): Promise<void>
}

export const CLIENT = { id: 'gateway', secret: 'a-secret-of-the-client' } as const

export interface ProviderOptions {
  /** Addresses of gateways, without a path. */
  readonly gateways: readonly string[]
  /** The address that receives back-channel logouts. */
  readonly backChannel?: string
  /** The folder of the sign-in endpoints; by default that of the admin API. */
  readonly folder?: string
  /** The last path segment of the redirect URI; by default `callback`. */
  readonly page?: string
}

type Fields = Readonly<Record<string, unknown>>

// The package has no types, and prints a notice for developers when it is loaded.
const { Provider } = await import('oidc-provider' as string)

export async function startProvider(options: ProviderOptions): Promise<TestProvider> {
  const { gateways, backChannel, folder = '/api/auth', page = 'callback' } = options
  const people = new Map<string, Readonly<Record<string, unknown>>>()
  const server: Server = createServer((request, response) => handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let refreshes = 0
  let handle = await makeHandler()

  async function makeHandler() {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    const key = {
      ...(await exportJWK(privateKey)),
      use: 'sig',
      alg: 'RS256',
      kid: `${Math.random()}`,
    }
    const provider = new Provider(issuer, {
      jwks: { keys: [key] },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: gateways.map((one) => `${one}${folder}/${page}`),
          post_logout_redirect_uris: gateways.map((one) => `${one}/`),
          ...(backChannel === undefined
            ? {}
            : {
                backchannel_logout_uri: `${backChannel}${folder}/backchannel-logout`,
                backchannel_logout_session_required: true,
              }),
        },
      ],
      conformIdTokenClaims: false,
      claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
      cookies: { keys: ['keys of the provider'] },
      features: { backchannelLogout: { enabled: true }, revocation: { enabled: true } },
      // A refresh token is issued without the scope `offline_access`.
      issueRefreshToken: async () => true,
      // A used refresh token is invalid, and reusing it ends the grant.
      rotateRefreshToken: true,
      pkce: { required: () => true },
      ttl: {
        // For some people the tokens are so short-lived that they are refreshed after a second.
        AccessToken: (_: unknown, { accountId }: { readonly accountId: string }) =>
          accountId === 'brief' ? 31 : accountId.startsWith('moment') ? 2 : 3_600,
        IdToken: 3_600,
        Session: 3_600,
        Grant: 3_600,
        Interaction: 600,
        RefreshToken: 3_600,
      },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...people.get(id) }),
      }),
      // The default fetch rejects loopback addresses, and times out if a gateway on a busy machine
      // is slow.
      fetch: (url: string, { method, headers, body }: RequestInit) =>
        fetch(url, { method: method ?? 'GET', headers: headers ?? {}, body: body ?? null }),
    })
    for (const event of ['grant.success', 'grant.error']) {
      provider.on(event, ({ oidc }: { readonly oidc: { readonly params?: Fields } }) => {
        if (oidc.params?.['grant_type'] === 'refresh_token') refreshes++
      })
    }
    return provider.callback() as (request: unknown, response: unknown) => void
  }

  return {
    issuer,
    people,
    refreshes: () => refreshes,
    rotateKeys: async () => {
      handle = await makeHandler()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
