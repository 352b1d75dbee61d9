import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, mock } from 'node:test'
import { MemoryUserTokens } from '../../src/exchange/user-token-store.ts'
import { OidcProvider } from '../../src/oidc/provider.ts'
import { sealedJson } from '../../src/oidc/sealed-json.ts'
import { UpstreamClient } from '../../src/oidc/upstream-client.ts'
import {
  type FoundToken,
  type PageOutcome,
  type TokenOwner,
  UserTokens,
} from '../../src/oidc/user-tokens.ts'
import {
  CookieJar,
  NOW,
  type ScriptedProvider,
  startScriptedProvider,
} from './scripted-provider.ts'

const SECRET = '0123456789abcdef'.repeat(4)
const CALLBACK = 'https://app.example/connect/tools/callback'

export const CONNECTED = [200, 'You are connected. You can close this window.']

interface Settings {
  readonly name?: string
  readonly userClaim?: string
  readonly redirectUri?: string
}

/** One browser, a provider for sign-in, and a server. The clock stands still until `pass`. */
export class ConsentFixture {
  people!: ScriptedProvider
  server!: ScriptedProvider
  store = new MemoryUserTokens()
  jar = new CookieJar()
  /** The claims of those who sign in, and members of token responses of the server. */
  claims: Readonly<Record<string, unknown>> = {}
  reply: Readonly<Record<string, unknown>> = {}
  #nonce = ''

  constructor() {
    before(async () => {
      this.people = await startScriptedProvider()
      this.server = await startScriptedProvider()
    })
    after(() => {
      this.people?.close()
      this.server?.close()
    })
    beforeEach(() => {
      mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
      this.store = new MemoryUserTokens(() => Date.now())
      this.jar = new CookieJar()
      this.claims = { sub: 'ann' }
      this.reply = {}
      for (const provider of [this.people, this.server]) {
        provider.metadata = {}
        provider.requests.length = 0
      }
      this.people.respondWith = () => this.#idToken()
      let count = 0
      this.server.respondWith = () => ({
        body: { access_token: `token-${++count}`, token_type: 'Bearer', ...this.reply },
      })
    })
    afterEach(() => mock.timers.reset())
  }

  async #idToken() {
    const { people, claims } = this
    const times = { iat: NOW(), exp: NOW() + 600 }
    const all = { iss: people.issuer, aud: 'app', nonce: this.#nonce, ...times, ...claims }
    return { body: { access_token: 'a', token_type: 'bearer', id_token: await people.sign(all) } }
  }

  get ann(): TokenOwner {
    return { issuer: this.people.issuer, subject: 'ann' }
  }

  /** Seconds pass. */
  pass(seconds: number): void {
    mock.timers.tick(seconds * 1_000)
  }

  open({ name = 'tools', userClaim = 'sub', redirectUri = CALLBACK }: Settings = {}): UserTokens {
    const client = { clientId: 'app', clientSecret: undefined, scopes: ['openid'] }
    const signedIn = new URL('signed-in', redirectUri).href
    return new UserTokens({
      client: new UpstreamClient({
        ...client,
        issuer: this.server.issuer,
        authorizationEndpoint: undefined,
        tokenEndpoint: undefined,
        revocationEndpoint: undefined,
        clientAuthentication: 'Basic',
        resources: [],
        parameters: {},
        redirectUri,
      }),
      signIn: new OidcProvider({ ...client, issuer: this.people.issuer, redirectUri: signedIn }),
      userClaim,
      sealed: sealedJson(SECRET, name),
      store: this.store,
      redirectUri,
      name,
    })
  }

  /** The query with which the browser returns from the page to which it was redirected. */
  followed(outcome: PageOutcome | undefined): string {
    assert.ok(outcome !== undefined && 'location' in outcome, JSON.stringify(outcome))
    this.jar.set(outcome.cookies)
    const { searchParams } = new URL(outcome.location)
    this.#nonce = searchParams.get('nonce') ?? this.#nonce
    return `?code=c&state=${searchParams.get('state')}`
  }

  /** The page that the browser shows. */
  shown(outcome: PageOutcome | undefined): readonly [status: number, message: string] {
    assert.ok(outcome !== undefined && 'status' in outcome, JSON.stringify(outcome))
    this.jar.set(outcome.cookies)
    return [outcome.status, outcome.message]
  }

  /** All pages, from the link to the stored token. */
  async consent(tokens: UserTokens) {
    const link = linkOf(await tokens.find(this.ann))
    const back = this.followed(await tokens.connect(queryOf(link), this.jar.header))
    const granted = this.followed(await tokens.signedIn(back, this.jar.header))
    return this.shown(await tokens.finish(granted, this.jar.header))
  }

  get tokenRequests() {
    return this.server.at('/token')
  }
}

export function linkOf(found: FoundToken): string {
  return found.kind === 'consent' ? found.link : assert.fail(found.kind)
}

export const tokenOf = (found: FoundToken) => (found.kind === 'token' ? found.token : found.kind)
export const queryOf = (link: string) => new URL(link).search
