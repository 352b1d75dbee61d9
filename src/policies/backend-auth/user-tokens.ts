/** The gateway as a client of a backend's authorization server, as configured in a policy. */
export interface UserTokenSettings {
  readonly issuer: string | undefined
  readonly authorizationEndpoint: string | undefined
  readonly tokenEndpoint: string | undefined
  readonly revocationEndpoint: string | undefined
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly clientAuthentication: 'Basic' | 'Post'
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly parameters: Readonly<Record<string, string>>
  readonly redirectUri: string
  readonly userClaim: string
  readonly signIn: {
    readonly issuer: string
    readonly clientId: string
    readonly clientSecret: string | undefined
    readonly redirectUri: string
    readonly scopes: readonly string[]
  }
}

/** The owner of a token: the issuer of the token that the gateway verified, and its subject. */
export interface TokenOwner {
  readonly issuer: string
  readonly subject: string
}

export type FoundToken =
  | {
      readonly kind: 'token'
      readonly token: string
      /** Discards a token that the backend rejected. Returns the URL at which the user consents. */
      rejected(): Promise<string>
    }
  | { readonly kind: 'consent'; readonly link: string }
  | { readonly kind: 'unavailable'; readonly detail: string }

/** The response to a browser. `detail` is for the log only. */
export type PageOutcome =
  | { readonly location: string; readonly cookies: readonly string[] }
  | {
      readonly status: number
      readonly message: string
      readonly detail: string
      readonly cookies: readonly string[]
    }

/** User tokens for one backend. Pages return undefined if the request belongs to another policy. */
export interface UserTokens {
  find(owner: TokenOwner): Promise<FoundToken>
  connect(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  signedIn(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  finish(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  disconnect(cookies: string | undefined): Promise<PageOutcome>
}

/** Undefined: without an encryption key, the tokens could not be read again. */
export type OpenUserTokens = (settings: UserTokenSettings) => UserTokens | undefined
