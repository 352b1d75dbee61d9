import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CookieJar, NOW } from '../../test/oidc/scripted-provider.ts'
import { SESSION, SessionsFixture, START, subjectOf } from '../../test/oidc/scripted-sessions.ts'

describe('sessions that users or providers end', () => {
  const fixture = new SessionsFixture()

  for (const [returnTo, location] of [
    ['/', '/'],
    ['/a/b?c=d#e', '/a/b?c=d#e'],
    ['//attacker.example', '/'],
    ['/\\attacker.example', '/'],
    ['/a\\b', '/'],
    ['https://attacker.example/', '/'],
    ['a', '/'],
    ['', '/'],
    ['/a b', '/'],
    ['/a\nb', '/'],
    ['/ü', '/'],
    [`/${'x'.repeat(2_047)}`, `/${'x'.repeat(2_047)}`],
    [`/${'x'.repeat(2_048)}`, '/'],
  ] as const) {
    const shown = returnTo.length > 99 ? `${returnTo.length} characters` : JSON.stringify(returnTo)
    it(`a sign-in and a logout that return to ${shown} lead to a page of the gateway`, async () => {
      fixture.provider.metadata = { end_session_endpoint: undefined }
      const sessions = fixture.open()
      assert.equal((await fixture.login(sessions, returnTo)).location, location)
      assert.equal((await sessions.logout(fixture.jar.header, returnTo)).location, location)
      assert.equal((await sessions.logout(undefined, returnTo)).location, location)
    })
  }

  it('end when the user logs out: cookies, copies of them, and at the provider', async () => {
    const sessions = fixture.open()
    await fixture.login(sessions)
    const copy = fixture.jar.header
    const { location, cookies } = await sessions.logout(fixture.jar.header, '/bye?x=1')
    const url = new URL(location)
    assert.equal(`${url.origin}${url.pathname}`, `${fixture.provider.issuer}/logout`)
    assert.equal(url.searchParams.get('post_logout_redirect_uri'), 'https://app.example/bye?x=1')
    const hint = url.searchParams.get('id_token_hint') ?? ''
    assert.equal(
      JSON.parse(Buffer.from(hint.split('.')[1] ?? '', 'base64url').toString()).sub,
      'ed',
    )
    fixture.jar.set(cookies)
    assert.deepEqual(fixture.jar.names, [])
    assert.equal(await sessions.read(copy), undefined)
    assert.equal(fixture.revoked.length, 1)
    assert.equal(fixture.revoked[0]?.until, START + SESSION)
    assert.match(fixture.revoked[0]?.who.id ?? '', /^[\w-]{22}$/)
    await fixture.login(sessions)
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed', 'a new session is another one')
  })

  it('without a session, a logout removes cookies and ends nothing', async () => {
    const garbage = new CookieJar().set(['__Host-own-session.0=1.x; Path=/', 'other=1; Path=/'])
    const { location, cookies } = await fixture.open().logout(garbage.header, '/')
    assert.equal(location, '/')
    assert.deepEqual(garbage.set(cookies).names, ['other'])
    for (const line of cookies) assert.match(line, /Secure$/)
    assert.deepEqual(fixture.revoked, [])
  })

  describe('end when the provider says so', () => {
    const EVENT = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const token = (more: Readonly<Record<string, unknown>> = {}) =>
      fixture.provider.sign({
        iss: fixture.provider.issuer,
        aud: 'app',
        iat: NOW(),
        exp: NOW() + 120,
        jti: 'j',
        sub: 'ed',
        events: EVENT,
        ...more,
      })

    it('all of a subject, but not later ones', async () => {
      const sessions = fixture.open()
      await fixture.login(sessions)
      assert.equal(await sessions.logoutByProvider(await token()), undefined)
      assert.deepEqual(fixture.revoked, [
        { who: { sub: 'ed', before: START }, until: START + SESSION },
      ])
      assert.equal(await fixture.read(sessions), undefined)
      fixture.pass(1)
      await fixture.login(sessions)
      assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    })

    it('one that is named', async () => {
      const sessions = fixture.open()
      fixture.claims = { sid: 's1' }
      await fixture.login(sessions)
      const other = fixture.jar
      fixture.jar = new CookieJar()
      fixture.claims = { sid: 's2' }
      await fixture.login(sessions)
      assert.equal(await sessions.logoutByProvider(await token({ sid: 's1' })), undefined)
      assert.equal(await sessions.read(other.header), undefined)
      assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
      assert.equal(
        await sessions.logoutByProvider(await token({ sid: 's2', sub: undefined })),
        undefined,
      )
      assert.equal(await fixture.read(sessions), undefined)
    })

    for (const [what, more] of [
      ['no event', { events: undefined }],
      [
        'an event that is no object',
        { events: { ...EVENT, [Object.keys(EVENT)[0] as string]: true } },
      ],
      ['another event', { events: { other: {} } }],
      ['a nonce', { nonce: 'n' }],
      ['no ID', { jti: undefined }],
      ['neither a subject nor a session', { sub: undefined }],
      ['a session that is no text', { sub: undefined, sid: 7 }],
      ['another issuer', { iss: 'https://attacker.example' }],
      ['another audience', { aud: 'other' }],
      ['no time of issue', { iat: undefined }],
      ['too great an age', { iat: START - 331, exp: START + 60 }],
    ] as const) {
      it(`but not for a token with ${what}`, async () => {
        const sessions = fixture.open()
        await fixture.login(sessions)
        const problem = await sessions.logoutByProvider(await token(more))
        assert.deepEqual(
          [problem?.status, problem?.message],
          [400, 'the logout token is not valid'],
        )
        assert.notEqual(problem?.detail, '')
        assert.deepEqual(fixture.revoked, [])
        assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
      })
    }

    it('with a token that is almost too old', async () => {
      const old = await token({ iat: START - 330, exp: START - 1 })
      assert.equal(await fixture.open().logoutByProvider(old), undefined)
    })
  })
})
