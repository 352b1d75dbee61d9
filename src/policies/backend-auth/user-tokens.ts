/** The gateway as a client of the authorization server of a backend, as a policy names it. */
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

/** Whose token it is: the issuer of the token that the gateway verified, and the user there. */
export interface TokenOwner {
  readonly issuer: string
  readonly subject: string
}

export type FoundToken =
  | {
      readonly kind: 'token'
      readonly token: string
      /** The backend did not accept it: it is not sent again. Returns where the user consents. */
      rejected(): Promise<string>
    }
  | { readonly kind: 'consent'; readonly link: string }
  | { readonly kind: 'unavailable'; readonly detail: string }

/** What a browser is sent. `detail` is for the log alone. */
export type PageOutcome =
  | { readonly location: string; readonly cookies: readonly string[] }
  | {
      readonly status: number
      readonly message: string
      readonly detail: string
      readonly cookies: readonly string[]
    }

/** Tokens of users for one backend. Of pages: undefined for what belongs to others. */
export interface UserTokens {
  find(owner: TokenOwner): Promise<FoundToken>
  connect(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  signedIn(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  finish(query: string, cookies: string | undefined): Promise<PageOutcome | undefined>
  disconnect(cookies: string | undefined): Promise<PageOutcome>
}

/** Undefined: they would be kept where nobody can read them again, for want of a key. */
export type OpenUserTokens = (settings: UserTokenSettings) => UserTokens | undefined
