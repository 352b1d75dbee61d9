import { createRemoteJWKSet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import * as client from 'openid-client'

export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  /** Where the provider redirects the browser to. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
}

/** The result of a login or a refresh. */
export interface Tokens {
  readonly idToken: string
  readonly claims: JWTPayload
  readonly refreshToken: string | undefined
  /** When they must be refreshed, in seconds since 1970. */
  readonly expires: number
}

/** Created for one login, and kept by the browser until it returns. */
export interface LoginSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Max clock skew between the provider and the gateway, in seconds. */
const CLOCK_TOLERANCE = 30
/** Timeout of requests to the provider, in seconds. */
const TIMEOUT = 10
/** Milliseconds until metadata are read again, and until keys may be fetched again. */
const METADATA_AGE = 3_600_000
const KEY_COOLDOWN = 1_000

interface Discovered {
  readonly config: client.Configuration
  readonly keys: JWTVerifyGetKey
  readonly at: number
}

/** An OpenID provider, as used by one of its clients. */
export class OidcProvider {
  readonly #settings: OidcSettings
  #discovered: Promise<Discovered> | undefined
  #at = 0

  constructor(settings: OidcSettings) {
    this.#settings = settings
  }

  /** The URL at which a browser logs in. */
  async authorizationUrl({ state, nonce, verifier }: LoginSecrets): Promise<URL> {
    const { redirectUri, scopes } = this.#settings
    const { config } = await this.#metadata()
    return client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      response_type: 'code',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
  }

  /** `query` is what the browser returns with. Throws if anything about it is wrong. */
  async exchange(query: string, secrets: LoginSecrets): Promise<Tokens> {
    const { config, keys } = await this.#metadata()
    const url = new URL(this.#settings.redirectUri)
    url.search = query
    const tokens = await client.authorizationCodeGrant(config, url, {
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.verifier,
      idTokenExpected: true,
    })
    return this.#verified(tokens, keys, tokens.id_token ?? '')
  }

  /** Throws if the provider does not renew the session. */
  async refresh(refreshToken: string, before: string, subject: unknown): Promise<Tokens> {
    const { config, keys } = await this.#metadata()
    const tokens = await client.refreshTokenGrant(config, refreshToken)
    // OpenID Connect Core §12.2: a new ID token is optional, and is for the same subject.
    if (tokens.id_token === undefined) {
      const claims = payloadOf(before)
      return { ...expiryOf(tokens, claims, refreshToken), idToken: before, claims }
    }
    const renewed = await this.#verified(tokens, keys, tokens.id_token, refreshToken)
    if (renewed.claims.sub !== subject)
      throw new Error('the refreshed token has a different subject')
    return renewed
  }

  /** The URL at which a browser logs out of the provider; undefined if the provider has none. */
  async logoutUrl(idToken: string, returnTo: string): Promise<URL | undefined> {
    const { config } = await this.#metadata()
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined
    return client.buildEndSessionUrl(config, {
      id_token_hint: idToken,
      post_logout_redirect_uri: returnTo,
    })
  }

  /** OpenID Connect Back-Channel Logout §2.6. Throws if the token is not a logout token. */
  async logoutToken(token: string): Promise<JWTPayload> {
    const { keys } = await this.#metadata()
    const { payload } = await this.#verify(token, keys, { maxTokenAge: 300 })
    const events = payload['events'] as Readonly<Record<string, unknown>> | undefined
    if (typeof events?.['http://schemas.openid.net/event/backchannel-logout'] !== 'object') {
      throw new Error('the token is not a logout token')
    }
    if (payload['nonce'] !== undefined) throw new Error('a logout token must not have a nonce')
    if (typeof payload.jti !== 'string') throw new Error('the logout token has no ID')
    if (typeof payload.sub !== 'string' && typeof payload['sid'] !== 'string') {
      throw new Error('the logout token has neither a subject nor a session')
    }
    return payload
  }

  async #verified(
    tokens: client.TokenEndpointResponse,
    keys: JWTVerifyGetKey,
    idToken: string,
    refreshToken?: string,
  ): Promise<Tokens> {
    // The library trusts the connection to the provider, which may not use TLS on one machine.
    const { payload } = await this.#verify(idToken, keys)
    return { ...expiryOf(tokens, payload, refreshToken), idToken, claims: payload }
  }

  #verify(token: string, keys: JWTVerifyGetKey, more: { readonly maxTokenAge?: number } = {}) {
    const { issuer, clientId } = this.#settings
    return jwtVerify(token, keys, {
      issuer,
      audience: clientId,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE,
      requiredClaims: ['iat'],
      ...more,
    })
  }

  /** Read once for concurrent requests. After a failure, the next request tries again. */
  #metadata(): Promise<Discovered> {
    if (this.#discovered !== undefined && Date.now() - this.#at < METADATA_AGE) {
      return this.#discovered
    }
    this.#at = Date.now()
    const discovering = this.#discover()
    const before = this.#discovered
    this.#discovered = discovering
    discovering.catch(() => {
      // The previous metadata are still better than none.
      if (this.#discovered === discovering) this.#discovered = before
    })
    return discovering
  }

  async #discover(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.#settings
    const metadata = {
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
      [client.clockTolerance]: CLOCK_TOLERANCE,
    }
    const authentication = clientSecret === undefined ? client.None() : undefined
    const execute = isInsecure(issuer) ? [client.allowInsecureRequests] : []
    const url = new URL(issuer)
    const options = { execute, timeout: TIMEOUT }
    const config = await client.discovery(url, clientId, metadata, authentication, options)
    const { jwks_uri: keysAt = '' } = config.serverMetadata()
    const keys = createRemoteJWKSet(new URL(keysAt), {
      cooldownDuration: KEY_COOLDOWN,
      timeoutDuration: TIMEOUT * 1_000,
    })
    return { config, keys, at: Date.now() }
  }
}

/** Only asymmetric algorithms: with a key that the client has, too, the client could sign. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
]

/** Only within one machine, where the connection cannot be intercepted. */
function isInsecure(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer)
  return protocol === 'http:' && isLocalName(hostname)
}

function isLocalName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

export function loginSecrets(): LoginSecrets {
  return {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
  }
}

export function payloadOf(idToken: string): JWTPayload {
  return JSON.parse(payloadText(idToken))
}

export function payloadText(idToken: string): string {
  const [, payload = ''] = idToken.split('.')
  return Buffer.from(payload, 'base64url').toString('utf8')
}

function expiryOf(
  tokens: client.TokenEndpointResponse,
  claims: JWTPayload,
  before: string | undefined,
) {
  const now = Math.floor(Date.now() / 1_000)
  const expires = tokens.expires_in === undefined ? (claims.exp ?? now) : now + tokens.expires_in
  return { refreshToken: tokens.refresh_token ?? before, expires }
}
