import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import {
  EARLY,
  SESSION,
  SessionsFixture,
  START,
  subjectOf,
} from '../../test/oidc/scripted-sessions.ts'

describe('sessions that are renewed', () => {
  const fixture = new SessionsFixture()

  it('are renewed neither too early nor too late, and end when their tokens do', async () => {
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(600 - EARLY - 1)
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    // Without a refresh token, nothing can be renewed.
    fixture.pass(EARLY)
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    assert.equal(fixture.tokenRequests.length, 1)
    fixture.pass(1)
    assert.equal(await fixture.read(sessions), undefined)
  })

  it('are renewed with their refresh token, once for concurrent requests', async () => {
    fixture.reply = { refresh_token: 'r1' }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(600 - EARLY - 1)
    await fixture.read(sessions)
    assert.equal(fixture.tokenRequests.length, 1, 'not yet')
    fixture.pass(1)
    fixture.claims = { level: 2 }
    fixture.reply = { refresh_token: 'r2' }
    const sessionsRead = await Promise.all([
      fixture.read(sessions),
      fixture.read(sessions),
      fixture.read(sessions),
    ])
    assert.deepEqual(
      sessionsRead.map((session) => [session?.claims['level'], session?.cookies.length]),
      [1, 2, 3].map(() => [2, 1]),
    )
    assert.deepEqual(JSON.parse(sessionsRead[0]?.payload ?? '').level, 2)
    const [, request] = fixture.tokenRequests
    assert.deepEqual([fixture.tokenRequests.length, request?.form.get('refresh_token')], [2, 'r1'])
    // Late requests with the old cookies share it, too.
    assert.equal((await fixture.read(sessions))?.claims['level'], 2)
    assert.equal(fixture.tokenRequests.length, 2)
    fixture.jar.set(sessionsRead[0]?.cookies ?? [])
    fixture.pass(600 - EARLY - 1)
    assert.deepEqual((await fixture.read(sessions))?.cookies, [], 'the new tokens are fresh')
    fixture.pass(1)
    await fixture.read(sessions)
    assert.equal(fixture.tokenRequests.at(-1)?.form.get('refresh_token'), 'r2')
  })

  it('are renewed again with the same refresh token after the old tokens have expired', async () => {
    fixture.reply = { refresh_token: 'r1' }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(600 - EARLY)
    const timers = mock.method(globalThis, 'setTimeout')
    fixture.jar.set((await fixture.read(sessions))?.cookies ?? [])
    fixture.pass(600 - EARLY)
    await fixture.read(sessions)
    assert.equal(fixture.tokenRequests.length, 2)
    const forgetting = timers.mock.calls.filter(({ arguments: [, ms] }) => ms === EARLY * 1_000)
    timers.mock.restore()
    assert.equal(forgetting.length, 1)
    forgetting[0]?.arguments[0]()
    await fixture.read(sessions)
    assert.equal(fixture.tokenRequests.length, 3)
  })

  it('are renewed through the lock that several processes share', async () => {
    fixture.reply = { refresh_token: 'r1' }
    const keys: string[] = []
    const sessions = fixture.open({
      once: (key, work) => {
        keys.push(key)
        return work()
      },
    })
    await fixture.login(sessions)
    assert.deepEqual(keys, [])
    fixture.pass(600 - EARLY)
    await Promise.all([fixture.read(sessions), fixture.read(sessions)])
    assert.deepEqual(keys, ['r1'])
  })

  it('keep the ID token and the refresh token that a renewal does not replace', async () => {
    fixture.reply = { refresh_token: 'r1' }
    await fixture.login(fixture.open())
    for (const round of [1, 2, 3]) {
      fixture.pass(600 - EARLY)
      fixture.reply = { id_token: undefined, refresh_token: undefined }
      const session = await fixture.read(fixture.open())
      assert.equal(subjectOf(session), 'ed')
      assert.equal(session?.cookies.length, 1)
      fixture.jar.set(session?.cookies ?? [])
      assert.equal(fixture.tokenRequests.length, 1 + round)
      assert.equal(fixture.tokenRequests.at(-1)?.form.get('refresh_token'), 'r1')
    }
  })

  for (const [what, change] of [
    ['fails', () => ({ status: 400, body: { error: 'invalid_grant' } })],
    [
      'has another subject',
      async (form: URLSearchParams) => ({ body: await fixture.tokens(form, { sub: 'eve' }) }),
    ],
    [
      'is for another client',
      async (form: URLSearchParams) => ({ body: await fixture.tokens(form, { aud: 'b' }) }),
    ],
  ] as const) {
    it(`whose renewal ${what} last until their tokens expire`, async () => {
      fixture.reply = { refresh_token: 'r1' }
      const sessions = fixture.open()
      await fixture.login(sessions)
      fixture.provider.respondWith = change
      fixture.pass(600 - 1)
      const session = await fixture.read(sessions)
      assert.deepEqual([subjectOf(session), session?.cookies], ['ed', []])
      fixture.pass(1)
      assert.equal(await fixture.read(fixture.open()), undefined)
    })
  }

  it('end after half a day, however often they are renewed', async () => {
    fixture.reply = { refresh_token: 'r', expires_in: SESSION * 2 }
    fixture.claims = { exp: START + 3 * SESSION }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(SESSION)
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    fixture.pass(1)
    assert.equal(await fixture.read(sessions), undefined)
  })

  it('have renewed cookies for what is left of them', async () => {
    fixture.reply = { refresh_token: 'r1', expires_in: SESSION }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(SESSION - EARLY)
    const [line = ''] = (await fixture.read(sessions))?.cookies ?? []
    assert.match(line, new RegExp(`; Max-Age=${EARLY};`))
    fixture.pass(EARLY)
    const [last = ''] = (await fixture.read(fixture.open()))?.cookies ?? []
    // 0 would remove the cookie while the session is still valid.
    assert.match(last, /; Max-Age=1;/)
  })

  it('without a lifetime of the tokens expire with the ID token', async () => {
    fixture.reply = { expires_in: undefined }
    fixture.claims = { exp: START + 100 }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.pass(99)
    assert.equal(subjectOf(await fixture.read(sessions)), 'ed')
    fixture.pass(1)
    assert.equal(await fixture.read(sessions), undefined)
  })

  it('that stop fitting when they are renewed last until their tokens expire', async () => {
    fixture.reply = { refresh_token: 'r1' }
    const sessions = fixture.open()
    await fixture.login(sessions)
    fixture.claims = { groups: Array.from({ length: 2_000 }, (_, n) => `group-${n}`) }
    fixture.pass(599)
    const session = await fixture.read(sessions)
    assert.deepEqual([subjectOf(session), session?.cookies], ['ed', []])
    fixture.pass(1)
    assert.equal(await fixture.read(sessions), undefined)
  })
})
