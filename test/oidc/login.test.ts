import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { freePort, until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from '../storage/gateways.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { FormBrowser } from './browser.ts'
import { CLIENT, startProvider, type TestProvider } from './provider.ts'

const ROLES = {
  viewer: 'true',
  editor: "'platform' in jwt.groups",
  admin: "jwt.email == 'root@example.com' && jwt.email_verified",
}

describe('sign-in to the admin API', { skip: SKIPPED }, () => {
  let server: TestServer
  let database: string
  let provider: TestProvider
  let gateways: readonly StoredGateway[]
  let bases: readonly string[]
  const secret = randomBytes(32).toString('hex')

  before(async () => {
    server = await sharedServer()
    database = await server.database()
    const ports = await Promise.all([freePort(), freePort()])
    bases = ports.map((port) => `http://127.0.0.1:${port}`)
    const [first = ''] = bases
    provider = await startProvider({ gateways: bases, backChannel: first })
    provider.people.set('ed', { groups: ['platform'] })
    provider.people.set('root', { email: 'root@example.com', email_verified: true, groups: [] })
    provider.people.set('liar', { email: 'root@example.com', email_verified: false, groups: [] })
    provider.people.set('many', { groups: Array.from({ length: 400 }, (_, n) => `group-${n}-xyz`) })
    gateways = await Promise.all(
      ports.map((port) =>
        startGateway(database, {
          adminPort: port,
          environment: { OIDC_COOKIE_SECRET: secret },
          config: {
            adminAuth: {
              oidc: {
                issuer: provider.issuer,
                clientId: CLIENT.id,
                clientSecret: CLIENT.secret,
                redirectUri: `http://127.0.0.1:${port}/api/auth/callback`,
              },
              roles: ROLES,
            },
          },
        }),
      ),
    )
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await provider?.close()
  })

  const at = (path: string, gateway = 0) => `${bases[gateway]}/api${path}`

  async function signedIn(person: string): Promise<FormBrowser> {
    const browser = new FormBrowser()
    const back = await browser.signIn(at('/auth/login?returnTo=/api/session'), person)
    const done = await browser.fetch(back)
    assert.equal(done.status, 303, await done.text())
    assert.equal(done.headers.get('location'), '/api/session')
    return browser
  }

  async function whoIs(browser: FormBrowser, gateway = 0) {
    const reply = await browser.fetch(at('/session', gateway))
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
  }

  const put = (browser: FormBrowser, name: string, more: Record<string, string> = {}) =>
    browser.fetch(at(`/config/resources/routes/${name}`), {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...more },
      body: JSON.stringify({
        name,
        matches: [{ path: { exact: `/${name}` } }],
        policies: { directResponse: { status: 202 } },
      }),
    })

  it('API clients get 401 and the address of the sign-in page, never a redirect', async () => {
    const reply = await fetch(at('/config'), { redirect: 'manual' })
    assert.equal(reply.status, 401)
    assert.equal(((await reply.json()) as { login?: string }).login, '/api/auth/login')
    assert.match(reply.headers.get('www-authenticate') ?? '', /Bearer/)
  })

  it('a session is valid on each replica, until it is logged out anywhere', async () => {
    const browser = await signedIn('ed')
    for (const gateway of [0, 1]) {
      const { [gateway]: base = '' } = bases
      // Cookies belong to the host, whatever the port; the jar of this test separates ports.
      for (const [name, value] of browser.cookies(bases[0] as string)) {
        browser.cookies(base).set(name, value)
      }
      const { status, body } = await whoIs(browser, gateway)
      assert.equal(status, 200)
      assert.deepEqual([body['name'], body['role']], ['ed', 'editor'])
    }
    const kept = new Map(browser.cookies(bases[0] as string))
    const foreign = await browser.fetch(at('/auth/logout'), {
      method: 'POST',
      headers: { origin: 'http://attacker.example' },
    })
    assert.equal(foreign.status, 403)
    assert.equal((await whoIs(browser)).status, 200)
    const out = await browser.fetch(at('/auth/logout'), { method: 'POST' })
    assert.equal(out.status, 303)
    const location = new URL(out.headers.get('location') ?? '')
    assert.equal(location.origin, provider.issuer)
    assert.ok(location.searchParams.has('id_token_hint'))
    assert.equal((await whoIs(browser)).status, 401)
    // Cookies that were copied before the logout are useless.
    for (const gateway of [0, 1]) {
      const thief = new FormBrowser()
      for (const [name, value] of kept) thief.cookies(bases[gateway] as string).set(name, value)
      assert.equal((await whoIs(thief, gateway)).status, 401, `at gateway ${gateway}`)
    }
  })

  it('the expressions compute roles from the claims, and an error gives no role', async () => {
    const viewer = await signedIn('vi')
    assert.deepEqual((await whoIs(viewer)).body['role'], 'viewer')
    assert.equal((await put(viewer, 'by-viewer')).status, 403)
    const liar = await signedIn('liar')
    assert.deepEqual((await whoIs(liar)).body['role'], 'viewer')
    const editor = await signedIn('ed')
    assert.equal((await put(editor, 'by-editor')).status, 200)
    const level = {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"level":"info"}',
    }
    assert.equal((await editor.fetch(at('/logging'), level)).status, 403)
    const root = await signedIn('root')
    assert.deepEqual((await whoIs(root)).body['role'], 'admin')
    assert.equal((await root.fetch(at('/logging'), level)).status, 200)
    const history = (await (await root.fetch(at('/config/history'))).json()) as {
      readonly changes: readonly { readonly author: string }[]
    }
    assert.match(JSON.stringify(history), /"author":"ed"/)
    const audited = /audit.*caller=ed.*\/api\/config\/resources\/routes\/by-editor/
    await until('the line of the audit', () => audited.test(gateways[0]?.out() ?? ''))
  })

  it('no operation is open to a role without permission', async () => {
    const { paths } = (await (
      await (await signedIn('root')).fetch(at('/openapi.json'))
    ).json()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, { description: string }>>>>
    }
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { description }]) => ({
        method: method.toUpperCase(),
        path: path.replace('/api', '').replace('{kind}', 'routes').replace('{id}', 'home'),
        role: /`(viewer|editor|admin)`/.exec(description)?.[1] ?? '',
      })),
    )
    const body = { 'content-type': 'application/json', 'content-length': '2' }
    const headers = { ...body, 'x-role': 'admin', 'if-match': '*' }
    for (const [person, denied] of [
      ['vi', ['editor', 'admin']],
      ['ed', ['admin']],
    ] as const) {
      const browser = await signedIn(person)
      const closed = operations.filter(({ role }) => denied.some((one) => one === role))
      assert.ok(closed.length >= denied.length * 2, `${closed.length}`)
      for (const { method, path } of closed) {
        const reply = await browser.fetch(at(path), { method, headers, body: '{}' })
        assert.equal(reply.status, 403, `${person}: ${method} ${path}`)
        assert.match(await reply.text(), /this requires the role/)
      }
    }
    assert.ok(operations.every(({ role }) => role !== ''))
  })

  it('a session that was planted before sign-in is not the session after it', async () => {
    const attacker = await signedIn('vi')
    const planted = new Map(attacker.cookies(bases[0] as string))
    const victim = new FormBrowser()
    for (const [name, value] of planted) victim.cookies(bases[0] as string).set(name, value)
    const back = await victim.signIn(at('/auth/login?returnTo=/api/session'), 'ed')
    assert.equal((await victim.fetch(back)).status, 303)
    assert.equal((await whoIs(victim)).body['name'], 'ed')
    // The attacker still has only their own session.
    assert.equal((await whoIs(attacker)).body['name'], 'vi')
    for (const [name, value] of victim.cookies(bases[0] as string)) {
      assert.notEqual(value, planted.get(name), name)
    }
    // An invented session is invalid, whatever it contains.
    const invented = new FormBrowser()
    for (const [name] of planted) invented.cookies(bases[0] as string).set(name, 'chosen-by-me')
    assert.equal((await whoIs(invented)).status, 401)
  })

  it('a page of another origin cannot use the session', async () => {
    const editor = await signedIn('ed')
    for (const headers of [
      { origin: 'http://attacker.example' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
      { 'content-type': 'text/plain' },
    ]) {
      const { status } = await put(editor, 'forged', headers as Record<string, string>)
      assert.ok(status === 403 || status === 415, JSON.stringify(headers))
    }
  })

  it('sessions of more than 4 KiB are split into cookies that browsers accept', async () => {
    const browser = await signedIn('many')
    const own = [...browser.cookies(bases[0] as string)].filter(([name]) => /session/.test(name))
    assert.ok(own.length >= 2, `${own.length} cookies`)
    for (const [name, value] of own) assert.ok(name.length + value.length < 4_000)
    assert.equal((await whoIs(browser)).status, 200)
    browser.cookies(bases[0] as string).delete(own[1]?.[0] ?? '')
    assert.equal((await whoIs(browser)).status, 401, 'one that is incomplete is none')
  })

  it('a modified session is rejected', async () => {
    const browser = await signedIn('ed')
    const jar = browser.cookies(bases[0] as string)
    const [name, value] = [...jar].find(([one]) => /session\.0$/.test(one)) ?? ['', '']
    for (const at of [2, 20, Math.floor(value.length / 2), value.length - 2]) {
      const other = value[at] === 'A' ? 'B' : 'A'
      jar.set(name, value.slice(0, at) + other + value.slice(at + 1))
      assert.equal((await whoIs(browser)).status, 401, `at ${at}`)
    }
    jar.set(name, value)
    assert.equal((await whoIs(browser)).status, 200)
  })

  it('two tabs sign in independently', async () => {
    const browser = new FormBrowser()
    const first = await browser.fetch(at('/auth/login?returnTo=/a'))
    const second = await browser.fetch(at('/auth/login?returnTo=/b'))
    const [one, two] = [first, second].map((reply) => reply.headers.get('location') ?? '')
    for (const [url = '', path] of [
      [two, '/b'],
      [one, '/a'],
    ] as const) {
      const done = await browser.fetch(await browser.signIn(url, 'ed'))
      assert.equal(done.status, 303, await done.text())
      assert.equal(done.headers.get('location'), path)
    }
  })

  it('a response of the provider is valid once, for its own login, from its own issuer', async () => {
    const browser = new FormBrowser()
    const back = await browser.signIn(at('/auth/login'), 'ed')
    const jar = browser.cookies(bases[0] as string)
    const before = new Map(jar)
    const change = (name: string, value: string) => {
      const url = new URL(back)
      url.searchParams.set(name, value)
      return url.href
    }
    const other = await new FormBrowser().fetch(at('/auth/login'))
    const foreign = new URL(other.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const rejected = async (url: string, who: FormBrowser, why: string) => {
      const reply = await who.fetch(url)
      assert.equal(reply.status, 400, why)
      assert.doesNotMatch(reply.headers.getSetCookie().join(), /session/, why)
    }
    await rejected(change('state', foreign), browser, 'the state of another browser')
    await rejected(change('state', ''), browser, 'no state')
    await rejected(back, new FormBrowser(), 'a browser that did not begin it')
    await rejected(change('iss', 'http://attacker.example'), browser, 'another issuer')
    const tab = await browser.fetch(at('/auth/login'))
    const own = new URL(tab.headers.get('location') ?? '').searchParams.get('state') ?? ''
    await rejected(change('state', own), browser, 'the code of another tab')
    const again = new FormBrowser()
    const url = await again.signIn(at('/auth/login'), 'ed')
    const saved = new Map(again.cookies(bases[0] as string))
    assert.equal((await again.fetch(url)).status, 303)
    for (const [name, value] of saved) again.cookies(bases[0] as string).set(name, value)
    await rejected(url, again, 'a code that was used')
    assert.ok(before.size > 0)
  })

  it('redirects only to its own pages', async () => {
    for (const returnTo of [
      '//attacker.example',
      'https://attacker.example',
      '/\\attacker.example',
    ]) {
      const browser = new FormBrowser()
      const login = at(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`)
      const done = await browser.fetch(await browser.signIn(login, 'ed'))
      assert.equal(done.headers.get('location'), '/')
    }
  })

  it('stays signed in after the tokens expire, by a refresh, also when several requests need one', async () => {
    const browser = await signedIn('brief')
    const jar = browser.cookies(bases[0] as string)
    const old = new Map(jar)
    let replies: readonly Response[] = []
    await until('a refresh', async () => {
      const copies = [1, 2, 3].map(() => {
        const copy = new FormBrowser()
        for (const [name, value] of old) copy.cookies(bases[0] as string).set(name, value)
        return copy
      })
      replies = await Promise.all(copies.map((one) => one.fetch(at('/session'))))
      for (const one of replies) assert.equal(one.status, 200, await one.text())
      return replies.every((one) => one.headers.getSetCookie().length > 0)
    })
    for (const one of replies) assert.match(one.headers.getSetCookie().join(), /session/)
  })

  it('keys of the provider may change', async () => {
    await provider.rotateKeys()
    const browser = await signedIn('ed')
    assert.equal((await whoIs(browser)).status, 200)
  })

  it('a logout at the provider ends the session on all replicas', async () => {
    const browser = await signedIn('ed')
    for (const [name, value] of browser.cookies(bases[0] as string)) {
      browser.cookies(bases[1] as string).set(name, value)
    }
    const out = await browser.fetch(`${provider.issuer}/session/end`)
    const html = await out.text()
    const [, xsrf = ''] = /name="xsrf"[^>]*value="([^"]+)"/.exec(html) ?? []
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(html) ?? []
    await browser.fetch(action, {
      method: 'POST',
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    })
    // The tokens are still valid for a while: the logout message of the provider ends the session.
    await until('the gateway is told', async () => {
      const text = "select 1 from portcullis_revoked_sessions where key like 'sid:%'"
      return (await server.query(text, [], database)).length > 0
    })
    for (const gateway of [0, 1]) assert.equal((await whoIs(browser, gateway)).status, 401)
    const forged = await fetch(at('/auth/backchannel-logout'), {
      method: 'POST',
      body: new URLSearchParams({ logout_token: 'a.b.c' }),
    })
    assert.equal(forged.status, 400)
  })

  it('secrets are in no log, and in no response', async () => {
    const dump = await (await signedIn('root')).fetch(at('/config/model'))
    const text = (await dump.text()) + gateways.map((one) => one.out()).join()
    assert.ok(!text.includes(secret))
    assert.ok(!text.includes(CLIENT.secret))
  })
})
