import * as client from 'openid-client'

export interface UpstreamClientSettings {
  /** The issuer whose metadata are read; undefined if the endpoints are configured. */
  readonly issuer: string | undefined
  readonly authorizationEndpoint: string | undefined
  readonly tokenEndpoint: string | undefined
  readonly revocationEndpoint: string | undefined
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly clientAuthentication: 'Basic' | 'Post'
  readonly scopes: readonly string[]
  /** RFC 8707 */
  readonly resources: readonly string[]
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>
  readonly redirectUri: string
}

/** The grant of a user at the authorization server of an upstream server. */
export interface Grant {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** In seconds since 1970; undefined if the server does not say. */
  readonly expires: number | undefined
  /** When it is renewed, early enough that a failed renewal does not end it yet. */
  readonly renewal: number | undefined
}

export interface ConsentSecrets {
  readonly state: string
  readonly verifier: string
}

/** Timeout of requests to the authorization server, in seconds. */
const TIMEOUT = 10
/** Seconds before expiry at which a token is renewed; at most half of its lifetime. */
const EARLY = 60
/** Milliseconds until metadata are read again. */
const METADATA_AGE = 3_600_000

/** The gateway as a client of the authorization server of an upstream server. */
export class UpstreamClient {
  readonly #settings: UpstreamClientSettings
  #config: Promise<client.Configuration> | undefined
  #at = 0

  constructor(settings: UpstreamClientSettings) {
    this.#settings = settings
  }

  /** The URL at which a user consents. */
  async authorizationUrl({ state, verifier }: ConsentSecrets): Promise<URL> {
    const { redirectUri, scopes, parameters } = this.#settings
    const asked = this.#resources({
      ...parameters,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    })
    if (scopes.length > 0) asked.set('scope', scopes.join(' '))
    return client.buildAuthorizationUrl(await this.#configuration(), asked)
  }

  /** `query` is what the browser returns with. Throws if anything about it is wrong. */
  async exchange(query: string, { state, verifier }: ConsentSecrets): Promise<Grant> {
    const url = new URL(this.#settings.redirectUri)
    url.search = query
    const checks = { expectedState: state, pkceCodeVerifier: verifier }
    const config = await this.#configuration()
    return grantOf(
      await client.authorizationCodeGrant(config, url, checks, this.#resources({})),
      undefined,
    )
  }

  /** Undefined if the grant has ended and the user has to consent again. Throws if unknown. */
  async refresh(refreshToken: string): Promise<Grant | undefined> {
    const config = await this.#configuration()
    try {
      const tokens = await client.refreshTokenGrant(config, refreshToken, this.#resources({}))
      return grantOf(tokens, refreshToken)
    } catch (error) {
      if (error instanceof client.ResponseBodyError && error.error === 'invalid_grant') {
        return undefined
      }
      throw error
    }
  }

  /** RFC 7009, if the server supports it. A failure does not affect what is forgotten here. */
  async revoke(token: string): Promise<void> {
    const config = await this.#configuration()
    if (config.serverMetadata().revocation_endpoint === undefined) return
    await client.tokenRevocation(config, token)
  }

  #resources(parameters: Readonly<Record<string, string>>): URLSearchParams {
    const all = new URLSearchParams(parameters)
    for (const resource of this.#settings.resources) all.append('resource', resource)
    return all
  }

  /** Read once for concurrent requests. After a failure, the next request tries again. */
  #configuration(): Promise<client.Configuration> {
    const before = this.#config
    if (before !== undefined && Date.now() - this.#at < METADATA_AGE) return before
    this.#at = Date.now()
    const reading = this.#read()
    this.#config = reading
    reading.catch(() => {
      if (this.#config === reading) this.#config = before
    })
    return reading
  }

  async #read(): Promise<client.Configuration> {
    const { issuer, authorizationEndpoint, tokenEndpoint, revocationEndpoint } = this.#settings
    const { clientId, clientSecret, clientAuthentication } = this.#settings
    const authentication =
      clientSecret === undefined
        ? client.None()
        : clientAuthentication === 'Post'
          ? client.ClientSecretPost(clientSecret)
          : client.ClientSecretBasic(clientSecret)
    if (issuer !== undefined) {
      const execute = isInsecure(issuer) ? [client.allowInsecureRequests] : []
      const url = new URL(issuer)
      const options = { execute, timeout: TIMEOUT, algorithm: 'oauth2' } as const
      try {
        return await client.discovery(url, clientId, {}, authentication, options)
      } catch {
        const { algorithm: _, ...openId } = options
        return client.discovery(url, clientId, {}, authentication, openId)
      }
    }
    const server = {
      issuer: new URL(tokenEndpoint ?? '').origin,
      authorization_endpoint: authorizationEndpoint ?? '',
      token_endpoint: tokenEndpoint ?? '',
      ...(revocationEndpoint === undefined ? {} : { revocation_endpoint: revocationEndpoint }),
    }
    const config = new client.Configuration(server, clientId, {}, authentication)
    config.timeout = TIMEOUT
    if (isInsecure(server.token_endpoint)) client.allowInsecureRequests(config)
    return config
  }
}

export function consentSecrets(): ConsentSecrets {
  return { state: client.randomState(), verifier: client.randomPKCECodeVerifier() }
}

function grantOf(tokens: client.TokenEndpointResponse, before: string | undefined): Grant {
  const { access_token: accessToken, token_type: type, expires_in: life } = tokens
  if (type.toLowerCase() !== 'bearer') throw new Error('the token is not a bearer token')
  const expires = life === undefined ? undefined : Math.floor(Date.now() / 1_000) + life
  const renewal = expires && expires - Math.min(EARLY, Math.floor((life ?? 0) / 2))
  // RFC 6749 §6: without a new refresh token, the old one remains in use.
  return { accessToken, refreshToken: tokens.refresh_token ?? before, expires, renewal }
}

/** The schema ensures that such an address is on this machine. */
function isInsecure(url: string): boolean {
  return new URL(url).protocol === 'http:'
}
