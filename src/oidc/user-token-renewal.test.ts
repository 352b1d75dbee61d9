import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { ConsentFixture, tokenOf } from '../../test/oidc/scripted-consent.ts'

describe('tokens of users that expire', () => {
  const fixture = new ConsentFixture()

  it('without a refresh token are sent until then, and removed after that', async () => {
    fixture.reply = { expires_in: 600 }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(599)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    fixture.pass(1)
    assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
    assert.equal(fixture.store.size, 0)
  })

  it('at an unknown time are sent until the server rejects them', async () => {
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(10 * 365 * 86_400)
    const found = await tokens.find(fixture.ann)
    assert.ok(found.kind === 'token')
    assert.match(await found.rejected(), /\/connect\?ticket=/)
    assert.equal(fixture.store.size, 0)
    assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
  })

  it('are renewed a minute before, once for concurrent requests', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(539)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    fixture.pass(1)
    fixture.reply = { expires_in: 600, refresh_token: 'r2' }
    const all = await Promise.all([1, 2, 3].map(() => tokens.find(fixture.ann)))
    assert.deepEqual(all.map(tokenOf), ['token-2', 'token-2', 'token-2'])
    assert.deepEqual(
      fixture.tokenRequests.map(({ form }) => form.get('refresh_token')),
      [null, 'r1'],
    )
    fixture.pass(540)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-3')
    assert.equal(fixture.tokenRequests.at(-1)?.form.get('refresh_token'), 'r2')
  })

  it('are renewed after the server rejected them, and not sent again', async () => {
    fixture.reply = { refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    const found = await tokens.find(fixture.ann)
    assert.ok(found.kind === 'token')
    assert.match(await found.rejected(), /\/connect\?ticket=/)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-2')
    // A late rejection of the old token does not affect the new one.
    await found.rejected()
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-2')
  })

  it('require consent again if the server has ended the grant', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.server.respondWith = () => ({ status: 400, body: { error: 'invalid_grant' } })
    fixture.pass(540)
    assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
    assert.equal(fixture.store.size, 0)
  })

  it('are sent until then if their renewal fails, and are unavailable after that', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.server.respondWith = () => ({ status: 503, body: {} })
    fixture.pass(599)
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    fixture.pass(20)
    const found = await tokens.find(fixture.ann)
    assert.ok(found.kind === 'unavailable', found.kind)
    assert.match(found.detail, /^cannot renew the token: /)
  })

  it('stay disconnected if their user disconnects while they are renewed', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(600)
    const { respondWith } = fixture.server
    fixture.server.respondWith = async (form) => {
      for (const [key] of fixture.store.entries()) await fixture.store.remove(key)
      return respondWith(form)
    }
    assert.equal((await tokens.find(fixture.ann)).kind, 'consent')
    assert.equal(fixture.store.size, 0)
  })

  it('are renewed by one of several processes; the others send the old one meanwhile', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(599)
    for (const [key, { version }] of fixture.store.entries())
      assert.ok(await fixture.store.claim(key, version))
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-1')
    assert.equal(fixture.tokenRequests.length, 1)
  })

  it('are awaited for a while if another process renews them', async () => {
    fixture.reply = { expires_in: 600, refresh_token: 'r1' }
    const tokens = fixture.open()
    await fixture.consent(tokens)
    fixture.pass(600)
    const [[key, { version }] = assert.fail()] = fixture.store.entries()
    assert.ok(await fixture.store.claim(key, version))
    const waits: (number | undefined)[] = []
    const timers = mock.method(globalThis, 'setTimeout', ((done: () => void, ms?: number) => {
      waits.push(ms)
      queueMicrotask(done)
    }) as typeof setTimeout)
    try {
      assert.equal((await tokens.find(fixture.ann)).kind, 'unavailable')
      assert.deepEqual([waits.length, new Set(waits)], [50, new Set([100])])
      assert.equal(fixture.tokenRequests.length, 1)
      waits.length = 0
      // The other process dies. Its claim ends, and another one renews the token.
      fixture.pass(15)
    } finally {
      timers.mock.restore()
    }
    assert.equal(tokenOf(await tokens.find(fixture.ann)), 'token-2')
  })
})
