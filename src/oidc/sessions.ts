import { createHash, randomBytes } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { clearChunks, readChunks, readCookies, writeChunks, writeCookie } from './cookies.ts'
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
  /** Where the provider sends the browser back to; its origin is that of the gateway. */
  readonly redirectUri: string
  /** What its cookies are called. */
  readonly name: string
  /** Does what must be done once, though several processes have the same session. */
  readonly once?: <T>(key: string, work: () => Promise<T>) => Promise<T>
}

/** Who is logged in. */
export interface Session {
  readonly claims: JWTPayload
  /** The claims as the provider wrote them. */
  readonly payload: string
  /** To be sent with the response: the session was refreshed. */
  readonly cookies: readonly string[]
}

/** What a browser is sent. */
export interface Redirect {
  readonly location: string
  readonly cookies: readonly string[]
}

/** Why a login did not come about: `detail` is for the log, and tells nothing to the browser. */
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
  /** Seconds since 1970: the tokens are refreshed then. */
  readonly expires: number
  /** The session ends then, whatever the provider says. */
  readonly ends: number
}

/** Seconds. */
const FLOW_AGE = 600
const SESSION_AGE = 43_200
/** Tokens are refreshed so long before they expire, so that a failure is no end yet. */
const EARLY = 30
/** Logins of one browser that are under way at once, one for each tab. */
const MAX_FLOWS = 5

/**
 * Logins by the authorization code flow. Browsers keep all of it, encrypted, so that a session holds
 * on every replica that has the same key.
 */
export class OidcSessions {
  readonly #options: SessionOptions
  readonly #isSecure: boolean
  readonly #prefix: string
  /** Several requests of one page need one refresh. */
  readonly #refreshing = new Map<string, Promise<Tokens>>()

  constructor(options: SessionOptions) {
    this.#options = options
    this.#isSecure = options.redirectUri.startsWith('https:')
    // Browsers take a name that begins so from this host alone, and not from one beside it.
    this.#prefix = `${this.#isSecure ? '__Host-' : ''}${options.name}`
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
        writeCookie(name, value, { isSecure: this.#isSecure, maxAge: FLOW_AGE }),
      ],
    }
  }

  /** `query`: of the request, with its question mark. */
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
    // Always a session of its own: one that somebody brought along is not gone on with.
    const session = { id: randomBytes(16).toString('base64url'), ends: now() + SESSION_AGE }
    const written = this.#write({ ...session, ...storedOf(tokens) }, cookies)
    if (written === undefined) {
      return failure(502, 'the tokens from the identity provider are too large', 'over the limit')
    }
    return { location: flow.returnTo, cookies: [...written, this.#clear(name)] }
  }

  /** Undefined: nobody is logged in. */
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
        // The tokens may hold for a moment yet.
      }
    }
    return stored.expires > now() ? { claims, payload, cookies: [] } : undefined
  }

  /** Ends the session here, and says where to end it at the provider. */
  async logout(header: string | undefined, returnTo: string): Promise<Redirect> {
    const cookies = readCookies(header)
    const options = { isSecure: this.#isSecure, maxAge: 0 }
    const cleared = clearChunks(this.#sessionName, cookies, options)
    const stored = this.#stored(cookies)
    const home = localPath(returnTo)
    if (stored === undefined) return { location: home, cookies: cleared }
    await this.#options.revoked.add({ id: stored.id }, stored.ends)
    const back = new URL(home, this.#options.redirectUri).href
    const url = await this.#options.provider.logoutUrl(stored.idToken, back).catch(() => undefined)
    return { location: url?.href ?? home, cookies: cleared }
  }

  /** A logout that the provider tells of. */
  async logoutByProvider(token: string): Promise<LoginFailure | undefined> {
    try {
      const claims = await this.#options.provider.logoutToken(token)
      const { sid, sub } = identityOf(claims)
      // A session that is named is meant alone, and all of the subject otherwise.
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
    const options = { isSecure: this.#isSecure, maxAge: Math.max(1, stored.ends - now()) }
    const value = this.#options.sealed.seal(stored, this.#sessionName)
    return writeChunks(this.#sessionName, value, before, options)
  }

  async #refreshed(refreshToken: string, idToken: string, subject: unknown): Promise<Tokens> {
    const known = this.#refreshing.get(refreshToken)
    if (known !== undefined) return known
    const { provider, once = (_, work) => work() } = this.#options
    const made = once(refreshToken, () => provider.refresh(refreshToken, idToken, subject))
    this.#refreshing.set(refreshToken, made)
    // Requests that were on their way with the old cookies are served by the same refresh.
    const forget = () => {
      setTimeout(() => this.#refreshing.delete(refreshToken), EARLY * 1_000).unref()
    }
    made.then(forget, forget)
    return made
  }

  get #sessionName(): string {
    return `${this.#prefix}-session`
  }

  get #flowPrefix(): string {
    return `${this.#prefix}-login-`
  }

  /** One for each login: two tabs do not take each other's. */
  #flowName(state: string): string {
    return this.#flowPrefix + createHash('sha256').update(state).digest('hex').slice(0, 16)
  }

  #clear(name: string): string {
    return writeCookie(name, '', { isSecure: this.#isSecure, maxAge: 0 })
  }
}

function storedOf({ idToken, refreshToken, expires }: Tokens) {
  return { idToken, refreshToken, expires }
}

function identityOf(claims: JWTPayload) {
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : undefined)
  return { sid: text('sid'), sub: text('sub'), issued: claims.iat }
}

/** A path of this origin, whatever a link says: `//host` and `/\host` lead elsewhere. */
function localPath(text: string): string {
  const isPath = /^\/(?![/\\])[!-~]*$/.test(text) && !text.includes('\\')
  return isPath && text.length <= 2_048 ? text : '/'
}

function failure(status: 400 | 502, message: string, error: unknown): LoginFailure {
  return { status, message, detail: detailOf(error) }
}

/** The words of the library, and those of what is below it: `invalid response` says little. */
function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
