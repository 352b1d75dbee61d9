import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CookieJar } from '../../test/oidc/scripted-provider.ts'
import { SECRET, SESSION, SessionsFixture, subjectOf } from '../../test/oidc/scripted-sessions.ts'
import { OidcProvider } from './provider.ts'
import { sealedJson } from './sealed-json.ts'

/** Seconds that a sign-in may take. */
const FLOW = 600

describe('sessions of users', () => {
  const fixture = new SessionsFixture()

  it('begin with a redirect that only this browser can complete', async () => {
    const { location, cookies, searchParams } = await fixture.begin(fixture.open())
    assert.equal(location.split('?')[0], `${fixture.provider.issuer}/authorize`)
    const {
      state,
      nonce: once,
      code_challenge: challenge,
      ...rest
    } = Object.fromEntries(searchParams)
    assert.deepEqual(rest, {
      client_id: 'app',
      redirect_uri: fixture.redirectUri,
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
    })
    for (const random of [state, once, challenge]) assert.match(random ?? '', /^[\w-]{43}$/)
    assert.equal(cookies.length, 1)
    assert.match(
      cookies[0] ?? '',
      /^__Host-own-login-[0-9a-f]{16}=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    assert.ok(!cookies[0]?.includes(state ?? ''))
  })

  it('are valid until they end, with the claims as the provider wrote them', async () => {
    fixture.claims = { groups: ['a', 'b'], level: 7 }
    const sessions = fixture.open()
    const { location, cookies } = await fixture.login(sessions, '/page?a=b')
    assert.equal(location, '/page?a=b')
    assert.deepEqual(
      fixture.jar.names,
      ['__Host-own-session.0'],
      'the cookie of the sign-in is removed',
    )
    assert.match(cookies[0] ?? '', new RegExp(`; Max-Age=${SESSION}; .*Secure$`))
    const session = await fixture.read(sessions)
    assert.deepEqual([session?.claims['groups'], session?.claims['level']], [['a', 'b'], 7])
    assert.deepEqual(JSON.parse(session?.payload ?? ''), session?.claims)
    assert.deepEqual(session?.cookies, [])
    assert.equal(subjectOf(await fixture.read(fixture.open())), 'ed', 'on every replica')
    assert.equal(await sessions.read(undefined), undefined)
    const [request] = fixture.tokenRequests
    assert.deepEqual(
      ['grant_type', 'code', 'redirect_uri'].map((name) => request?.form.get(name)),
      ['authorization_code', 'c', fixture.redirectUri],
    )
    assert.match(request?.form.get('code_verifier') ?? '', /^[\w-]{43}$/)
  })

  it('have cookies without the attributes of TLS if the gateway has none', async () => {
    fixture.redirectUri = 'http://127.0.0.1:8080/oauth2/callback'
    const { cookies } = await fixture.login(fixture.open())
    assert.deepEqual(fixture.jar.names, ['own-session.0'])
    for (const line of cookies) assert.doesNotMatch(line, /Secure|__Host/)
  })

  for (const [seconds, isValid] of [
    [0, true],
    [FLOW, true],
    [FLOW + 1, false],
  ] as const) {
    it(`a sign-in of ${seconds} seconds ${isValid ? 'succeeds' : 'is rejected'}`, async () => {
      const sessions = fixture.open()
      const { query } = await fixture.begin(sessions)
      fixture.pass(seconds)
      const done = await sessions.finish(query, fixture.jar.header)
      if (isValid) assert.ok('location' in done, JSON.stringify(done))
      else {
        assert.deepEqual(done, {
          status: 400,
          message: 'this sign-in is unknown or has expired: start again',
          detail: 'no sign-in is in progress',
        })
        assert.equal(fixture.tokenRequests.length, 0, 'the code is not used')
      }
    })
  }

  it('do not begin in a browser with other cookies, with another state, or with changed cookies', async () => {
    const sessions = fixture.open()
    const first = await fixture.begin(sessions)
    const [name = ''] = fixture.jar.names
    const otherJar = new CookieJar()
    const other = await fixture.begin(sessions, '/', otherJar)
    const changed = fixture.jar.with(name, (value) =>
      value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
    )
    const moved = fixture.jar.with(name, () => otherJar.header.split('=')[1] ?? '')
    for (const [query, header] of [
      [first.query, undefined],
      [first.query, otherJar.header],
      [other.query, fixture.jar.header],
      [first.query, changed],
      [first.query, moved],
      ['?code=c', fixture.jar.header],
      ['', fixture.jar.header],
    ] as const) {
      const done = await sessions.finish(query, header)
      assert.ok('status' in done && done.status === 400, `${query} ${header}`)
    }
    assert.equal(fixture.tokenRequests.length, 0)
  })

  it('of another name or another key are not read', async () => {
    await fixture.login(fixture.open())
    for (const more of [
      { sealed: sealedJson(SECRET, 'other') },
      { sealed: sealedJson(SECRET.replace('0', '1'), 'test') },
      { name: 'other' },
    ]) {
      assert.equal(await fixture.read(fixture.open(more)), undefined)
    }
    // A sign-in in progress is no session, although the same key sealed it.
    const begun = new CookieJar()
    await fixture.begin(fixture.open(), '/', begun)
    const value = begun.header.split('=')[1]
    assert.equal(await fixture.open().read(`__Host-own-session.0=1.${value}`), undefined)
  })

  it('that were changed are not read', async () => {
    const sessions = fixture.open()
    await fixture.login(sessions)
    const [name = ''] = fixture.jar.names
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    for (const change of [
      (value: string) => value.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      (value: string) => value.slice(0, -4),
      (value: string) => `${value}AAAA`,
      (value: string) => value.replace('1.', '2.'),
      () => '',
    ]) {
      assert.equal(await sessions.read(fixture.jar.with(name, change)), undefined)
    }
  })

  it('with tokens that do not fit into cookies do not begin', async () => {
    fixture.claims = { groups: Array.from({ length: 2_000 }, (_, n) => `group-${n}`) }
    const sessions = fixture.open()
    const { query } = await fixture.begin(sessions)
    assert.deepEqual(await sessions.finish(query, fixture.jar.header), {
      status: 502,
      message: 'the tokens from the identity provider are too large',
      detail: 'over the limit',
    })
  })

  it('of several parts replace the parts of the session before', async () => {
    fixture.claims = { groups: Array.from({ length: 400 }, (_, n) => `group-${n}`) }
    const sessions = fixture.open()
    await fixture.login(sessions)
    assert.ok(fixture.jar.names.length > 1)
    fixture.claims = {}
    await fixture.login(sessions)
    assert.deepEqual(fixture.jar.names, ['__Host-own-session.0'])
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
  })

  it('begin in five tabs at the same time; older sign-ins of the browser are forgotten', async () => {
    const sessions = fixture.open()
    const tabs: { readonly query: string; readonly once: string }[] = []
    fixture.jar.set(['other=1; Path=/'])
    for (let tab = 0; tab < 7; tab++) {
      const { query } = await fixture.begin(sessions)
      tabs.push({ query, once: fixture.nonce })
      assert.equal(fixture.jar.names.length, 1 + Math.min(tab + 1, 5))
    }
    const statuses: (number | string)[] = []
    for (const { query, once } of tabs) {
      fixture.nonce = once
      const done = await sessions.finish(query, fixture.jar.header)
      statuses.push('location' in done ? done.location : done.status)
    }
    assert.deepEqual(statuses, [400, 400, '/', '/', '/', '/', '/'])
  })

  it('a provider that cannot be reached: 502, with the cause for the log', async () => {
    const sessions = fixture.open({
      provider: new OidcProvider({
        issuer: 'http://127.0.0.1:1',
        clientId: 'app',
        clientSecret: undefined,
        redirectUri: fixture.redirectUri,
        scopes: ['openid'],
      }),
    })
    const failed = await sessions.begin('/', undefined)
    assert.ok('status' in failed)
    assert.deepEqual([failed.status, failed.message], [502, 'cannot reach the identity provider'])
    assert.match(failed.detail, /.+: .+/)
  })
})
