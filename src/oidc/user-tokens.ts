import { createHash, randomBytes } from 'node:crypto'
import { readCookies, writeCookie } from './cookies.ts'
import { type LoginSecrets, loginSecrets, type OidcProvider } from './provider.ts'
import type { SealedJson } from './sealed-json.ts'
import {
  type ConsentSecrets,
  consentSecrets,
  type Grant,
  type UpstreamClient,
} from './upstream-client.ts'

export interface UserTokensOptions {
  readonly client: UpstreamClient
  /** The provider at which users who open a link prove their identity. */
  readonly signIn: OidcProvider
  /** The claim that identifies a user, in the client's token and in that of the sign-in. */
  readonly userClaim: string
  readonly sealed: SealedJson
  readonly store: TokenStore
  /** Where the authorization server redirects browsers to. */
  readonly redirectUri: string
  /** The same for the same client at the same server, and for no other. */
  readonly name: string
}

/** Mirrors `UserTokenStore` of `exchange`, which this folder does not depend on. */
interface TokenStore {
  read(key: string): Promise<Stored | undefined>
  write(key: string, token: Stored): Promise<void>
  replace(key: string, version: string, token: Stored): Promise<boolean>
  claim(key: string, version: string): Promise<boolean>
  remove(key: string, version?: string): Promise<void>
}

interface Stored {
  readonly sealed: string
  readonly version: string
}

/** The user that tokens belong to. */
export interface TokenOwner {
  readonly issuer: string
  readonly subject: string
}

export type FoundToken =
  | {
      readonly kind: 'token'
      readonly token: string
      /** Called if the server rejects it: it is not sent again. Returns where the user consents. */
      rejected(): Promise<string>
    }
  | { readonly kind: 'consent'; readonly link: string }
  | { readonly kind: 'unavailable'; readonly detail: string }

export type PageOutcome =
  | { readonly location: string; readonly cookies: readonly string[] }
  | {
      readonly status: number
      readonly message: string
      /** Only for the log. */
      readonly detail: string
      readonly cookies: readonly string[]
    }

/** The state of a browser: it signs in, and then the user consents. */
type Flow =
  | (LoginSecrets & {
      readonly at: 'sign-in'
      readonly does: 'connect' | 'disconnect'
      /** The user who must sign in; undefined if any user may. */
      readonly owner: TokenOwner | undefined
      readonly expires: number
    })
  | (ConsentSecrets & {
      readonly at: 'consent'
      readonly owner: TokenOwner
      readonly expires: number
    })

interface Ticket {
  readonly owner: TokenOwner
  readonly expires: number
}

/** Seconds that a link is valid, and that a browser may take after that. */
const FLOW_AGE = 900
const NEVER = Number.POSITIVE_INFINITY
/** Milliseconds between checks for a renewal by another process, and the max number of checks. */
const LOOK = 100
const MAX_LOOKS = 50

/**
 * Tokens of users for an upstream server. A user consents once in a browser, and proves by signing
 * in that the link is theirs. Without that, an attacker could connect another user's account to
 * their own.
 */
export class UserTokens {
  readonly #options: UserTokensOptions
  readonly #isSecure: boolean
  readonly #prefix: string
  /** Concurrent requests of one user share one renewal. */
  readonly #renewing = new Map<string, Promise<FoundToken | undefined>>()

  constructor(options: UserTokensOptions) {
    this.#options = options
    this.#isSecure = options.redirectUri.startsWith('https:')
    this.#prefix = `${this.#isSecure ? '__Host-' : ''}portcullis-consent-${options.name}-`
  }

  async find(owner: TokenOwner): Promise<FoundToken> {
    const key = this.#keyOf(owner)
    const { store } = this.#options
    for (let look = 0; look < MAX_LOOKS; look++) {
      const stored = await store.read(key)
      const grant = stored && this.#open(key, stored)
      if (stored === undefined || grant === undefined) return this.#consent(owner)
      const { expires = NEVER, renewal = expires, refreshToken } = grant
      if (renewal > now()) return this.#token(owner, key, stored, grant)
      if (refreshToken === undefined) {
        if (expires > now()) return this.#token(owner, key, stored, grant)
        await store.remove(key, stored.version)
        return this.#consent(owner)
      }
      const renewed = await this.#renewed(owner, key, stored, refreshToken)
      if (renewed !== undefined && (renewed.kind !== 'unavailable' || expires <= now())) {
        return renewed
      }
      // Another process renews it, or renewal failed; the token may still be valid for a moment.
      if (expires > now()) return this.#token(owner, key, stored, grant)
      await new Promise((done) => setTimeout(done, LOOK))
    }
    return { kind: 'unavailable', detail: 'the token was not renewed in time' }
  }

  /** Connects by a link, or without one. Undefined if the link is for another client or server. */
  async connect(query: string, cookies: string | undefined): Promise<PageOutcome | undefined> {
    const sealed = new URLSearchParams(query).get('ticket')
    if (sealed === null) return this.#signIn('connect', undefined, cookies)
    const ticket = this.#options.sealed.open(sealed, TICKET) as Ticket | undefined
    if (ticket === undefined) return undefined
    if (ticket.expires < now()) return said(400, TOO_OLD, 'the link has expired')
    return this.#signIn('connect', ticket.owner, cookies)
  }

  disconnect(cookies: string | undefined): Promise<PageOutcome> {
    return this.#signIn('disconnect', undefined, cookies)
  }

  /** Undefined if the browser has no such sign-in in progress. */
  async signedIn(query: string, cookies: string | undefined): Promise<PageOutcome | undefined> {
    const [name, flow] = this.#flow(query, cookies, 'sign-in')
    if (flow?.at !== 'sign-in') return undefined
    const { signIn, userClaim } = this.#options
    const clear = [this.#clear(name)]
    let owner: TokenOwner
    try {
      const { claims } = await signIn.exchange(query, flow)
      const subject = claims[userClaim]
      if (typeof subject !== 'string') throw new Error(`the claim ${userClaim} is missing`)
      owner = { issuer: claims.iss ?? '', subject }
    } catch (error) {
      return said(400, 'The sign-in failed. Open the link again.', detailOf(error), clear)
    }
    if (flow.does === 'disconnect') return this.#disconnected(owner, clear)
    if (flow.owner !== undefined && !isSame(owner, flow.owner)) {
      const message = 'This link belongs to another user. No account was connected.'
      return said(403, message, 'another user opened the link', clear)
    }
    const secrets = consentSecrets()
    try {
      const url = await this.#options.client.authorizationUrl(secrets)
      const next = { ...secrets, at: 'consent', owner, expires: now() + FLOW_AGE } as const
      return { location: url.href, cookies: [...clear, this.#remember(next)] }
    } catch (error) {
      return said(502, UNREACHABLE, detailOf(error), clear)
    }
  }

  /** Undefined if the browser has no such consent in progress. */
  async finish(query: string, cookies: string | undefined): Promise<PageOutcome | undefined> {
    const [name, flow] = this.#flow(query, cookies, 'consent')
    if (flow?.at !== 'consent') return undefined
    const { client, store } = this.#options
    const clear = [this.#clear(name)]
    let grant: Grant
    try {
      grant = await client.exchange(query, flow)
    } catch (error) {
      return said(
        400,
        'The server denied access. No account was connected.',
        detailOf(error),
        clear,
      )
    }
    const key = this.#keyOf(flow.owner)
    try {
      await store.write(key, this.#seal(key, grant))
    } catch (error) {
      return said(503, 'The connection cannot be stored. Try again later.', detailOf(error), clear)
    }
    return said(200, 'You are connected. You can close this window.', '', clear)
  }

  async #disconnected(owner: TokenOwner, cookies: readonly string[]): Promise<PageOutcome> {
    const { store, client } = this.#options
    const key = this.#keyOf(owner)
    try {
      const stored = await store.read(key)
      await store.remove(key)
      const grant = stored && this.#open(key, stored)
      const token = grant?.refreshToken ?? grant?.accessToken
      if (token !== undefined) await client.revoke(token).catch(() => {})
    } catch (error) {
      return said(503, 'The connection cannot be removed. Try again later.', detailOf(error))
    }
    return said(200, 'You are disconnected. You can close this window.', '', cookies)
  }

  async #signIn(
    does: 'connect' | 'disconnect',
    owner: TokenOwner | undefined,
    cookies: string | undefined,
  ): Promise<PageOutcome> {
    const secrets = loginSecrets()
    let url: URL
    try {
      url = await this.#options.signIn.authorizationUrl(secrets)
    } catch (error) {
      return said(502, UNREACHABLE, detailOf(error))
    }
    const own = [...readCookies(cookies).keys()].filter((one) => one.startsWith(this.#prefix))
    const flow = { ...secrets, at: 'sign-in', does, owner, expires: now() + FLOW_AGE } as const
    const old = own.slice(0, Math.max(0, own.length - MAX_FLOWS + 1))
    const cleared = old.map((one) => this.#clear(one))
    return { location: url.href, cookies: [...cleared, this.#remember(flow)] }
  }

  #token(owner: TokenOwner, key: string, { version }: Stored, grant: Grant): FoundToken {
    const { store } = this.#options
    const rejected = async () => {
      // A renewed token may be accepted; without a refresh token, the user has to consent again.
      if (grant.refreshToken === undefined) await store.remove(key, version)
      else await store.replace(key, version, this.#seal(key, { ...grant, expires: 0, renewal: 0 }))
      return this.#link(owner)
    }
    return { kind: 'token', token: grant.accessToken, rejected }
  }

  #consent(owner: TokenOwner): FoundToken {
    return { kind: 'consent', link: this.#link(owner) }
  }

  #link(owner: TokenOwner): string {
    const ticket: Ticket = { owner, expires: now() + FLOW_AGE }
    const url = new URL('connect', this.#options.redirectUri)
    url.searchParams.set('ticket', this.#options.sealed.seal(ticket, TICKET))
    return url.href
  }

  #renewed(
    owner: TokenOwner,
    key: string,
    stored: Stored,
    refreshToken: string,
  ): Promise<FoundToken | undefined> {
    const known = this.#renewing.get(key)
    if (known !== undefined) return known
    const renewing = this.#renew(owner, key, stored, refreshToken).finally(() =>
      this.#renewing.delete(key),
    )
    this.#renewing.set(key, renewing)
    return renewing
  }

  /** Undefined if another process renews it, or if something else is stored by now. */
  async #renew(
    owner: TokenOwner,
    key: string,
    { version }: Stored,
    refreshToken: string,
  ): Promise<FoundToken | undefined> {
    const { store, client } = this.#options
    if (!(await store.claim(key, version))) return undefined
    let grant: Grant | undefined
    try {
      grant = await client.refresh(refreshToken)
    } catch (error) {
      return { kind: 'unavailable', detail: `cannot renew the token: ${detailOf(error)}` }
    }
    if (grant === undefined) {
      await store.remove(key, version)
      return this.#consent(owner)
    }
    const next = this.#seal(key, grant)
    // A user who disconnected in the meantime stays disconnected.
    if (!(await store.replace(key, version, next))) return undefined
    return this.#token(owner, key, next, grant)
  }

  #seal(key: string, grant: Grant): Stored {
    const version = randomBytes(12).toString('base64url')
    return { sealed: this.#options.sealed.seal(grant, recordOf(key)), version }
  }

  /** Undefined if it was sealed with another key, or belongs to another user. */
  #open(key: string, { sealed }: Stored): Grant | undefined {
    return this.#options.sealed.open(sealed, recordOf(key)) as Grant | undefined
  }

  /** The key reveals nothing about the user. */
  #keyOf({ issuer, subject }: TokenOwner): string {
    return digestOf(JSON.stringify([this.#options.name, issuer, subject]))
  }

  #remember(flow: Flow): string {
    const name = this.#flowName(flow.state)
    const value = this.#options.sealed.seal(flow, name)
    return writeCookie(name, value, { isSecure: this.#isSecure, maxAge: FLOW_AGE })
  }

  #flow(query: string, header: string | undefined, at: Flow['at']) {
    const name = this.#flowName(new URLSearchParams(query).get('state') ?? '')
    const value = readCookies(header).get(name) ?? ''
    const flow = this.#options.sealed.open(value, name) as Flow | undefined
    const isGood = flow !== undefined && flow.at === at && flow.expires >= now()
    return [name, isGood ? flow : undefined] as const
  }

  /** One for each browser window, so that two windows do not use each other's. */
  #flowName(state: string): string {
    return this.#prefix + createHash('sha256').update(state).digest('hex').slice(0, 16)
  }

  #clear(name: string): string {
    return writeCookie(name, '', { isSecure: this.#isSecure, maxAge: 0 })
  }
}

function isSame(one: TokenOwner, other: TokenOwner): boolean {
  return one.issuer === other.issuer && one.subject === other.subject
}

const TICKET = 'consent ticket'
const MAX_FLOWS = 5
const TOO_OLD = 'This link has expired. Repeat your request to get a new one.'
const UNREACHABLE = 'The sign-in server cannot be reached. Try again later.'

function recordOf(key: string): string {
  return `user token ${key}`
}

function said(
  status: number,
  message: string,
  detail: string,
  cookies: readonly string[] = [],
): PageOutcome {
  return { status, message, detail, cookies }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** The message of the library and that of its cause. */
function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause, message } = error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
