import { createHash, randomBytes } from 'node:crypto'
import type { JWTPayload } from 'jose'
import {
  type CookieOptions,
  clearChunks,
  readChunks,
  readCookies,
  writeChunks,
  writeCookie,
} from './cookies.ts'
import {
  type LoginSecrets,
  loginSecrets,
  type OidcProvider,
  payloadOf,
  payloadText,
  type Tokens,
} from './provider.ts'
import type { RevokedSessions } from './revoked-sessions.ts'
import type { SealedJson } from './sealed-json.ts'

export interface SessionOptions {
  readonly provider: OidcProvider
  readonly sealed: SealedJson
  readonly revoked: RevokedSessions
  /** Where the provider redirects the browser to. Its origin is that of the gateway. */
  readonly redirectUri: string
  /** The name that its cookies contain. */
  readonly name: string
  /** Browsers send its cookies only below this path; by default `/`. */
  readonly path?: string
  /** Runs work only once, even if several processes have the same session. */
  readonly once?: <T>(key: string, work: () => Promise<T>) => Promise<T>
}

/** The session of a logged-in user. */
export interface Session {
  readonly claims: JWTPayload
  /** The claims as the provider wrote them. */
  readonly payload: string
  /** Cookies to send with the response, if the session was refreshed. */
  readonly cookies: readonly string[]
}

/** A redirect for the browser. */
export interface Redirect {
  readonly location: string
  readonly cookies: readonly string[]
}

/** Why a login failed. `detail` is for the log and is not shown to the browser. */
export interface LoginFailure {
  readonly status: 400 | 502
  readonly message: string
  readonly detail: string
}

interface Flow extends LoginSecrets {
  readonly returnTo: string
  readonly expires: number
}

interface Stored {
  readonly id: string
  readonly idToken: string
  readonly refreshToken?: string | undefined
  /** When the tokens are refreshed, in seconds since 1970. */
  readonly expires: number
  /** When the session ends, regardless of the provider. */
  readonly ends: number
}

/** In seconds. */
const FLOW_AGE = 600
const SESSION_AGE = 43_200
/** Tokens are refreshed this long before they expire, so a failure does not end the session yet. */
const EARLY = 30
/** Max number of concurrent logins of one browser, one for each tab. */
const MAX_FLOWS = 5

/**
 * Logins by the authorization code flow. Browsers keep all of the state, encrypted, so a session is
 * valid on every replica that has the same key.
 */
export class OidcSessions {
  readonly #options: SessionOptions
  readonly #isSecure: boolean
  readonly #prefix: string
  /** Concurrent requests of one page share one refresh. */
  readonly #refreshing = new Map<string, Promise<Tokens>>()

  constructor(options: SessionOptions) {
    this.#options = options
    this.#isSecure = options.redirectUri.startsWith('https:')
    // Browsers accept a name with this prefix only from this host, and not from a sibling; only with
    // the path `/`, though.
    const isWhole = (options.path ?? '/') === '/'
    const prefix = isWhole ? '__Host-' : '__Secure-'
    this.#prefix = `${this.#isSecure ? prefix : ''}${options.name}`
  }

  async begin(returnTo: string, header: string | undefined): Promise<Redirect | LoginFailure> {
    const secrets = loginSecrets()
    const flow: Flow = { ...secrets, returnTo: localPath(returnTo), expires: now() + FLOW_AGE }
    let url: URL
    try {
      url = await this.#options.provider.authorizationUrl(secrets)
    } catch (error) {
      return failure(502, 'cannot reach the identity provider', error)
    }
    const name = this.#flowName(flow.state)
    const value = this.#options.sealed.seal(flow, name)
    const old = [...readCookies(header).keys()].filter((one) => one.startsWith(this.#flowPrefix))
    return {
      location: url.href,
      cookies: [
        ...old.slice(0, Math.max(0, old.length - MAX_FLOWS + 1)).map((one) => this.#clear(one)),
        writeCookie(name, value, this.#cookie(FLOW_AGE)),
      ],
    }
  }

  /** `query` is the query of the request, including the question mark. */
  async finish(query: string, header: string | undefined): Promise<Redirect | LoginFailure> {
    const cookies = readCookies(header)
    const name = this.#flowName(new URLSearchParams(query).get('state') ?? '')
    const flow = this.#options.sealed.open(cookies.get(name) ?? '', name) as Flow | undefined
    if (flow === undefined || flow.expires < now()) {
      return failure(
        400,
        'this sign-in is unknown or has expired: start again',
        'no sign-in is in progress',
      )
    }
    let tokens: Tokens
    try {
      tokens = await this.#options.provider.exchange(query, flow)
    } catch (error) {
      return failure(400, 'the sign-in failed: start again', error)
    }
    // Always a new session: a session that the browser already has is not continued.
    const session = { id: randomBytes(16).toString('base64url'), ends: now() + SESSION_AGE }
    const written = this.#write({ ...session, ...storedOf(tokens) }, cookies)
    if (written === undefined) {
      return failure(502, 'the tokens from the identity provider are too large', 'over the limit')
    }
    return { location: flow.returnTo, cookies: [...written, this.#clear(name)] }
  }

  /** Undefined if no user is logged in. */
  async read(header: string | undefined): Promise<Session | undefined> {
    const cookies = readCookies(header)
    const stored = this.#stored(cookies)
    if (stored === undefined || stored.ends < now()) return undefined
    const claims = payloadOf(stored.idToken)
    if (await this.#options.revoked.has({ id: stored.id, ...identityOf(claims) })) return undefined
    const payload = payloadText(stored.idToken)
    if (stored.expires - EARLY > now()) return { claims, payload, cookies: [] }
    const { refreshToken } = stored
    if (refreshToken !== undefined) {
      try {
        const tokens = await this.#refreshed(refreshToken, stored.idToken, claims.sub)
        const written = this.#write({ ...stored, ...storedOf(tokens) }, cookies)
        if (written !== undefined) {
          return { claims: tokens.claims, payload: payloadText(tokens.idToken), cookies: written }
        }
      } catch {
        // The tokens may still be valid for a moment.
      }
    }
    return stored.expires > now() ? { claims, payload, cookies: [] } : undefined
  }

  /** Ends the session here, and returns where to end it at the provider. */
  async logout(header: string | undefined, returnTo: string): Promise<Redirect> {
    const cookies = readCookies(header)
    const options = this.#cookie(0)
    const cleared = clearChunks(this.#sessionName, cookies, options)
    const stored = this.#stored(cookies)
    const home = localPath(returnTo)
    if (stored === undefined) return { location: home, cookies: cleared }
    await this.#options.revoked.add({ id: stored.id }, stored.ends)
    const back = new URL(home, this.#options.redirectUri).href
    const url = await this.#options.provider.logoutUrl(stored.idToken, back).catch(() => undefined)
    return { location: url?.href ?? home, cookies: cleared }
  }

  /** Handles a logout that the provider announces. */
  async logoutByProvider(token: string): Promise<LoginFailure | undefined> {
    try {
      const claims = await this.#options.provider.logoutToken(token)
      const { sid, sub } = identityOf(claims)
      // If a session is named, only that one ends; otherwise all sessions of the subject.
      const who = sid === undefined ? { sub } : { sid }
      await this.#options.revoked.add({ ...who, before: now() }, now() + SESSION_AGE)
      return undefined
    } catch (error) {
      return failure(400, 'the logout token is not valid', error)
    }
  }

  #stored(cookies: ReadonlyMap<string, string>): Stored | undefined {
    const value = readChunks(this.#sessionName, cookies)
    if (value === undefined) return undefined
    return this.#options.sealed.open(value, this.#sessionName) as Stored | undefined
  }

  #write(stored: Stored, before: ReadonlyMap<string, string>): readonly string[] | undefined {
    const options = this.#cookie(Math.max(1, stored.ends - now()))
    const value = this.#options.sealed.seal(stored, this.#sessionName)
    return writeChunks(this.#sessionName, value, before, options)
  }

  async #refreshed(refreshToken: string, idToken: string, subject: unknown): Promise<Tokens> {
    const known = this.#refreshing.get(refreshToken)
    if (known !== undefined) return known
    const { provider, once = (_, work) => work() } = this.#options
    const made = once(refreshToken, () => provider.refresh(refreshToken, idToken, subject))
    this.#refreshing.set(refreshToken, made)
    // Requests that were sent with the old cookies share the same refresh.
    const forget = () => {
      setTimeout(() => this.#refreshing.delete(refreshToken), EARLY * 1_000).unref()
    }
    made.then(forget, forget)
    return made
  }

  #cookie(maxAge: number): CookieOptions {
    return { isSecure: this.#isSecure, maxAge, path: this.#options.path }
  }

  get #sessionName(): string {
    return `${this.#prefix}-session`
  }

  get #flowPrefix(): string {
    return `${this.#prefix}-login-`
  }

  /** One for each login, so that two tabs do not use each other's. */
  #flowName(state: string): string {
    return this.#flowPrefix + createHash('sha256').update(state).digest('hex').slice(0, 16)
  }

  #clear(name: string): string {
    return writeCookie(name, '', this.#cookie(0))
  }
}

function storedOf({ idToken, refreshToken, expires }: Tokens) {
  return { idToken, refreshToken, expires }
}

function identityOf(claims: JWTPayload) {
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : undefined)
  return { sid: text('sid'), sub: text('sub'), issued: claims.iat }
}

/** A path on this origin, whatever a link contains: `//host` and `/\host` lead elsewhere. */
function localPath(text: string): string {
  const isPath = /^\/(?![/\\])[!-~]*$/.test(text) && !text.includes('\\')
  return isPath && text.length <= 2_048 ? text : '/'
}

function failure(status: 400 | 502, message: string, error: unknown): LoginFailure {
  return { status, message, detail: detailOf(error) }
}

/** The message of the library and that of its cause: `invalid response` alone says little. */
function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
