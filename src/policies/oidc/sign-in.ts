/** One client of an OpenID provider, as configured in a policy. */
export interface SignInSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** Undefined: that of the process. */
  readonly cookieSecret: string | undefined
  /** The name prefix of its cookies, shared by all policies that share sessions. */
  readonly name: string
}

/** Browser sessions of users; `cookies` is the Cookie header of the request. */
export interface SignIn {
  begin(returnTo: string, cookies: string | undefined): Promise<SignInOutcome>
  /** `query`: including the question mark. */
  finish(query: string, cookies: string | undefined): Promise<SignInOutcome>
  /** Undefined: there is no session. */
  read(cookies: string | undefined): Promise<SignedIn | undefined>
  logout(cookies: string | undefined, returnTo: string): Promise<SignInRedirect>
  logoutByProvider(token: string): Promise<SignInProblem | undefined>
}

export interface SignedIn {
  /** The claims of the ID token, as JSON. */
  readonly payload: string
  /** Cookies to set in the response: the session was renewed. */
  readonly cookies: readonly string[]
}

export interface SignInRedirect {
  readonly location: string
  readonly cookies: readonly string[]
}

/** `message` is for the browser, `detail` for the log only. */
export interface SignInProblem {
  readonly status: number
  readonly message: string
  readonly detail: string
}

export type SignInOutcome = SignInRedirect | SignInProblem

/** Undefined: there is no usable cookie key. */
export type OpenSignIn = (settings: SignInSettings) => SignIn | undefined
