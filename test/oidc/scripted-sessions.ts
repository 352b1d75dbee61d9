import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, mock } from 'node:test'
import { OidcProvider } from '../../src/oidc/provider.ts'
import { keysOf, type Revocation } from '../../src/oidc/revoked-sessions.ts'
import { sealedJson } from '../../src/oidc/sealed-json.ts'
import {
  OidcSessions,
  type Redirect,
  type Session,
  type SessionOptions,
} from '../../src/oidc/sessions.ts'
import {
  CookieJar,
  NOW,
  type ScriptedProvider,
  startScriptedProvider,
} from './scripted-provider.ts'

export const SECRET = '0123456789abcdef'.repeat(4)
/** Seconds that a session lasts, and before the expiry of tokens when they are renewed. */
export const [SESSION, EARLY] = [43_200, 30]
/** The time at which each test begins. */
export const START = 1_800_000_000

/** One browser, which signs in at a provider. The clock stands still until `pass`. */
export class SessionsFixture {
  provider!: ScriptedProvider
  redirectUri = ''
  jar = new CookieJar()
  /** Claims of ID tokens, and members of responses, that replace the usual ones. */
  claims: Readonly<Record<string, unknown>> = {}
  reply: Readonly<Record<string, unknown>> = {}
  revoked: { readonly who: Revocation; readonly until: number }[] = []
  /** That of the last sign-in. */
  nonce = ''

  constructor() {
    before(async () => {
      this.provider = await startScriptedProvider()
    })
    after(() => this.provider?.close())
    beforeEach(() => {
      mock.timers.enable({ apis: ['Date'], now: START * 1_000 })
      this.provider.metadata = {}
      this.provider.requests.length = 0
      this.provider.respondWith = async (form) => ({ body: await this.tokens(form) })
      this.redirectUri = 'https://app.example/oauth2/callback'
      this.jar = new CookieJar()
      this.claims = {}
      this.reply = {}
      this.revoked = []
    })
    afterEach(() => mock.timers.reset())
  }

  async tokens(form: URLSearchParams, more: object = {}) {
    const { provider, nonce } = this
    const isRefresh = form.get('grant_type') === 'refresh_token'
    const usual = { iss: provider.issuer, aud: 'app', sub: 'ed', iat: NOW(), exp: NOW() + 3_600 }
    const once = isRefresh ? {} : { nonce }
    const id_token = await provider.sign({ ...usual, ...once, ...this.claims, ...more })
    return { access_token: 'a', token_type: 'bearer', expires_in: 600, id_token, ...this.reply }
  }

  open(more: Partial<SessionOptions> = {}): OidcSessions {
    const { redirectUri, provider, revoked } = this
    const client = { clientId: 'app', clientSecret: 'secret', scopes: ['openid', 'email'] }
    return new OidcSessions({
      provider: new OidcProvider({ issuer: provider.issuer, ...client, redirectUri }),
      sealed: sealedJson(SECRET, 'test'),
      revoked: {
        add: async (who, until) => void revoked.push({ who, until }),
        has: async ({ issued, ...session }) =>
          revoked.some(
            ({ who }) =>
              keysOf(who).some((key) => keysOf(session).includes(key)) &&
              (who.before ?? Number.POSITIVE_INFINITY) >= (issued ?? 0),
          ),
      },
      redirectUri,
      name: 'own',
      ...more,
    })
  }

  async begin(sessions: OidcSessions, returnTo = '/', jar = this.jar) {
    const begun = await sessions.begin(returnTo, jar.header)
    assert.ok('location' in begun, JSON.stringify(begun))
    jar.set(begun.cookies)
    const { searchParams } = new URL(begun.location)
    this.nonce = searchParams.get('nonce') ?? ''
    return { ...begun, query: `?code=c&state=${searchParams.get('state')}`, searchParams }
  }

  async login(sessions: OidcSessions, returnTo = '/'): Promise<Redirect> {
    const { query } = await this.begin(sessions, returnTo)
    const done = await sessions.finish(query, this.jar.header)
    assert.ok('location' in done, JSON.stringify(done))
    this.jar.set(done.cookies)
    return done
  }

  read(sessions: OidcSessions): Promise<Session | undefined> {
    return sessions.read(this.jar.header)
  }

  /** Seconds pass. */
  pass(seconds: number): void {
    mock.timers.tick(seconds * 1_000)
  }

  get tokenRequests() {
    return this.provider.at('/token')
  }
}

export const subjectOf = (session: Session | undefined) => session?.claims.sub
