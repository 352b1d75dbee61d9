import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CONNECTED,
  ConsentFixture,
  linkOf,
  queryOf,
  tokenOf,
} from '../../test/oidc/scripted-consent.ts'
import type { UserTokens } from './user-tokens.ts'

/** Seconds that a link is valid, and each step after it. */
const AGE = 900

describe('tokens of users', () => {
  const fixture = new ConsentFixture()

  it('are found after consent, for this user at this server alone, on every replica', async () => {
    const tokens = fixture.open()
    const link = linkOf(await tokens.find(fixture.ann))
    assert.match(link, /^https:\/\/app\.example\/connect\/tools\/connect\?ticket=[\w-]+$/)
    assert.deepEqual(await fixture.consent(tokens), CONNECTED)
    assert.deepEqual(fixture.jar.names, [], 'no cookie is left')
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    assert.equal(tokenOf(await fixture.open().find(fixture.ann)), 'token-1')
    for (const owner of [
      { ...fixture.ann, subject: 'bob' },
      { ...fixture.ann, issuer: fixture.server.issuer },
      { issuer: `${fixture.people.issuer}","ann`, subject: '' },
    ]) {
      assert.equal((await tokens.find(owner)).kind, 'consent', JSON.stringify(owner))
    }
    assert.equal((await fixture.open({ name: 'other' }).find(fixture.ann)).kind, 'consent')
    for (const [key, { sealed }] of fixture.store.entries()) {
      assert.match(key, /^[\w-]{43}$/)
      assert.doesNotMatch(sealed, /token-1/)
    }
  })

  it('lead through both providers, with cookies of this host and path', async () => {
    const tokens = fixture.open()
    const link = linkOf(await tokens.find(fixture.ann))
    const begun = await tokens.connect(queryOf(link), undefined)
    assert.ok(begun !== undefined && 'location' in begun)
    assert.ok(begun.location.startsWith(`${fixture.people.issuer}/authorize?`))
    const cookie =
      /^__Host-portcullis-consent-tools-[0-9a-f]{16}=[\w-]+; Path=\/; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/
    assert.equal(begun.cookies.length, 1)
    assert.match(begun.cookies[0] ?? '', cookie)
    const known = await tokens.signedIn(fixture.followed(begun), fixture.jar.header)
    assert.ok(known !== undefined && 'location' in known)
    assert.ok(known.location.startsWith(`${fixture.server.issuer}/authorize?`))
    assert.equal(known.cookies.length, 2)
    assert.match(known.cookies[0] ?? '', /Max-Age=0;.*Secure$/)
    assert.match(known.cookies[1] ?? '', cookie)
    const plain = await fixture
      .open({ redirectUri: 'http://127.0.0.1/c/callback' })
      .disconnect(undefined)
    assert.match(plain.cookies[0] ?? '', /^portcullis-consent-tools-.*SameSite=Lax$/)
  })

  for (const [seconds, isValid] of [
    [AGE, true],
    [AGE + 1, false],
  ] as const) {
    it(`a link of ${seconds} seconds ${isValid ? 'is valid' : 'has expired'}`, async () => {
      const tokens = fixture.open()
      const link = linkOf(await tokens.find(fixture.ann))
      fixture.pass(seconds)
      const outcome = await tokens.connect(queryOf(link), undefined)
      if (isValid) fixture.followed(outcome)
      else {
        const message = 'This link has expired. Repeat your request to get a new one.'
        assert.deepEqual(fixture.shown(outcome), [400, message])
      }
    })

    it(`a sign-in and a consent of ${seconds} seconds ${isValid ? 'succeed' : 'fail'}`, async () => {
      const tokens = fixture.open()
      const back = fixture.followed(await tokens.connect('', undefined))
      fixture.pass(seconds)
      const known = await tokens.signedIn(back, fixture.jar.header)
      if (!isValid) {
        assert.equal(known, undefined)
        const again = fixture.followed(await tokens.connect('', undefined))
        const granted = fixture.followed(await tokens.signedIn(again, fixture.jar.header))
        fixture.pass(seconds)
        assert.equal(await tokens.finish(granted, fixture.jar.header), undefined)
      } else {
        const granted = fixture.followed(known)
        fixture.pass(seconds)
        assert.deepEqual(fixture.shown(await tokens.finish(granted, fixture.jar.header)), CONNECTED)
      }
    })
  }

  it('need a link that this gateway issued for this server', async () => {
    const tokens = fixture.open()
    const query = queryOf(linkOf(await tokens.find(fixture.ann)))
    const other = queryOf(linkOf(await fixture.open({ name: 'other' }).find(fixture.ann)))
    for (const wrong of ['?ticket=', '?ticket=x', `${query.slice(0, -2)}AA`, other]) {
      assert.equal(await tokens.connect(wrong, undefined), undefined, wrong)
    }
  })

  it('are not connected by another user who opens the link', async () => {
    const tokens = fixture.open()
    const query = queryOf(linkOf(await tokens.find(fixture.ann)))
    for (const own of [{ sub: 'bob' }, { sub: 'Ann' }]) {
      fixture.claims = own
      const back = fixture.followed(await tokens.connect(query, fixture.jar.header))
      assert.deepEqual(fixture.shown(await tokens.signedIn(back, fixture.jar.header)), [
        403,
        'This link belongs to another user. No account was connected.',
      ])
      assert.deepEqual(fixture.jar.names, [])
    }
    assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
    const elsewhere = linkOf(await tokens.find({ ...fixture.ann, issuer: 'https://other.example' }))
    fixture.claims = { sub: 'ann' }
    const back = fixture.followed(await tokens.connect(queryOf(elsewhere), fixture.jar.header))
    assert.equal(fixture.shown(await tokens.signedIn(back, fixture.jar.header))[0], 403)
  })

  it('without a link belong to whoever signs in, by the configured claim', async () => {
    const tokens = fixture.open({ userClaim: 'email' })
    fixture.claims = { sub: 'x', email: 'ann' }
    const back = fixture.followed(await tokens.connect('', undefined))
    const granted = fixture.followed(await tokens.signedIn(back, fixture.jar.header))
    assert.deepEqual(fixture.shown(await tokens.finish(granted, fixture.jar.header)), CONNECTED)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    for (const email of [undefined, 7, null, ['ann']]) {
      fixture.claims = { sub: 'ann', email }
      const again = fixture.followed(await tokens.connect('', undefined))
      const outcome = await tokens.signedIn(again, fixture.jar.header)
      assert.deepEqual(fixture.shown(outcome), [400, 'The sign-in failed. Open the link again.'])
      assert.ok(outcome !== undefined && 'detail' in outcome)
      assert.equal(outcome.detail, 'the claim email is missing')
    }
  })

  it('do not accept one step for another, nor cookies of another window', async () => {
    const tokens = fixture.open()
    const back = fixture.followed(await tokens.connect('', undefined))
    assert.equal(await tokens.finish(back, fixture.jar.header), undefined)
    assert.equal(await tokens.signedIn(back, undefined), undefined)
    assert.equal(await tokens.signedIn(`${back}x`, fixture.jar.header), undefined)
    assert.equal(await tokens.signedIn('?code=c', fixture.jar.header), undefined)
    const [name = ''] = fixture.jar.names
    const changed = fixture.jar.with(name, (value) =>
      value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
    )
    assert.equal(await tokens.signedIn(back, changed), undefined)
    const granted = fixture.followed(await tokens.signedIn(back, fixture.jar.header))
    assert.equal(await tokens.signedIn(granted, fixture.jar.header), undefined)
    assert.equal(
      await fixture.open({ name: 'other' }).finish(granted, fixture.jar.header),
      undefined,
    )
    assert.deepEqual(fixture.shown(await tokens.finish(granted, fixture.jar.header)), CONNECTED)
    assert.equal(await tokens.finish(granted, fixture.jar.header), undefined, 'only once')
  })

  it('are connected in five windows at the same time; older ones of the browser are forgotten', async () => {
    const tokens = fixture.open()
    fixture.jar.set(['other=1; Path=/'])
    for (let window = 1; window <= 7; window++) {
      fixture.followed(await tokens.connect('', fixture.jar.header))
      assert.equal(fixture.jar.names.length, 1 + Math.min(window, 5))
    }
    assert.equal(fixture.jar.names[0], 'other')
  })

  for (const [what, break_, status] of [
    ['denies access', () => ({ status: 400, body: { error: 'invalid_grant' } }), 400],
    ['sends no bearer token', () => ({ body: { access_token: 'a', token_type: 'mac' } }), 400],
  ] as const) {
    it(`are not stored if the server ${what}`, async () => {
      fixture.server.respondWith = break_
      const [code, message] = await fixture.consent(fixture.open())
      assert.equal(code, status)
      assert.equal(message, 'The server denied access. No account was connected.')
      assert.equal(fixture.store.size, 0)
    })
  }

  it('report stores and providers that fail, and say nothing of it to the browser', async () => {
    const tokens = fixture.open()
    const back = fixture.followed(await tokens.connect('', undefined))
    fixture.server.metadata = { issuer: 'https://attacker.example' }
    assert.deepEqual(fixture.shown(await tokens.signedIn(back, fixture.jar.header)), [
      502,
      'The sign-in server cannot be reached. Try again later.',
    ])
    fixture.server.metadata = {}
    fixture.people.metadata = { issuer: 'https://attacker.example' }
    const outcome = await fixture.open().connect('', undefined)
    assert.equal(fixture.shown(outcome)[0], 502)
    assert.ok(outcome !== undefined && 'detail' in outcome && outcome.detail !== '')
    fixture.people.metadata = {}
    fixture.store.write = () =>
      Promise.reject(new Error('disk full', { cause: new Error('ENOSPC') }))
    const again = fixture.followed(await tokens.connect('', undefined))
    const granted = fixture.followed(await tokens.signedIn(again, fixture.jar.header))
    const failed = await tokens.finish(granted, fixture.jar.header)
    assert.deepEqual(fixture.shown(failed), [
      503,
      'The connection cannot be stored. Try again later.',
    ])
    assert.ok(failed !== undefined && 'detail' in failed)
    assert.equal(failed.detail, 'disk full: ENOSPC')
  })

  describe('when their user disconnects', () => {
    async function disconnect(tokens: UserTokens) {
      const back = fixture.followed(await tokens.disconnect(fixture.jar.header))
      return fixture.shown(await tokens.signedIn(back, fixture.jar.header))
    }
    const DISCONNECTED = [200, 'You are disconnected. You can close this window.']

    for (const [what, own, revoked] of [
      ['the refresh token', { refresh_token: 'r1' }, 'r1'],
      ['without one, the token', {}, 'token-1'],
    ] as const) {
      it(`are removed, and the server revokes ${what}`, async () => {
        fixture.reply = own
        const tokens = fixture.open()
        await fixture.consent(tokens)
        assert.deepEqual(await disconnect(tokens), DISCONNECTED)
        assert.deepEqual(fixture.jar.names, [])
        assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
        assert.deepEqual(
          fixture.server.at('/revoke').map(({ form }) => form.get('token')),
          [revoked],
        )
      })
    }

    it('are not revoked if there are none, or those of another user', async () => {
      const tokens = fixture.open()
      await fixture.consent(tokens)
      fixture.claims = { sub: 'bob' }
      assert.deepEqual(await disconnect(tokens), DISCONNECTED)
      assert.equal(fixture.server.at('/revoke').length, 0)
      assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    })

    it('are removed even if the server cannot revoke them', async () => {
      await fixture.consent(fixture.open())
      fixture.server.metadata = { issuer: 'https://attacker.example' }
      assert.deepEqual(await disconnect(fixture.open()), DISCONNECTED)
      assert.equal(fixture.store.size, 0)
    })

    it('are not said to be removed if the store fails', async () => {
      const tokens = fixture.open()
      await fixture.consent(tokens)
      fixture.store.remove = () => Promise.reject(new Error('disk full'))
      assert.deepEqual(await disconnect(tokens), [
        503,
        'The connection cannot be removed. Try again later.',
      ])
    })
  })
})
