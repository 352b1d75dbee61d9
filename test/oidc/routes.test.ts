import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { freePort, until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from '../storage/gateways.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { FormBrowser, send } from './browser.ts'
import { CLIENT, startProvider, type TestProvider } from './provider.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** The request that the backend received, as it echoes it. */
interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

describe('sign-in on routes', { skip: SKIPPED }, () => {
  let server: TestServer
  let provider: TestProvider
  let backend: Server
  let gateways: readonly StoredGateway[]
  let bases: readonly string[]
  const secret = randomBytes(32).toString('hex')

  before(async () => {
    server = await sharedServer()
    const database = await server.database()
    backend = createServer(({ url, headers }, response) => {
      response.end(JSON.stringify({ url, headers }))
    })
    backend.listen(0, '127.0.0.1')
    await once(backend, 'listening')
    const host = `127.0.0.1:${(backend.address() as AddressInfo).port}`
    const ports = await Promise.all([freePort(), freePort()])
    bases = ports.map((port) => `http://127.0.0.1:${port}`)
    provider = await startProvider({
      gateways: bases,
      backChannel: bases[0] as string,
      folder: '/oauth2',
    })
    provider.people.set('many', { groups: Array.from({ length: 400 }, (_, n) => `group-${n}-xyz`) })
    provider.people.set('late', { groups: ['team-a'] })
    gateways = await Promise.all(
      ports.map((port, index) => {
        const oidc = JSON.stringify({
          issuer: provider.issuer,
          clientId: CLIENT.id,
          clientSecret: CLIENT.secret,
          redirectUri: `http://127.0.0.1:${port}/oauth2/callback`,
        })
        // Replicas of one application share one address; those of this test have two ports.
        const at = index === 0 ? oidc : oidc.replace(`:${port}/`, `:${ports[0]}/`)
        return startGateway(database, {
          port,
          workers: index === 0 ? 2 : 1,
          environment: { OIDC_COOKIE_SECRET: secret },
          routes: `- name: open
  matches: [{ path: { pathPrefix: /open } }]
  policies:
    oidc: ${at.replace(/}$/, ', "mode": "Optional"}')}
    authorization: { rules: [{ deny: "jwt.sub == 'mallory'" }] }
  backends: [{ host: "${host}" }]
- name: team
  matches: [{ path: { pathPrefix: /team } }]
  policies:
    oidc: ${at}
    authorization: { rules: [{ allow: "'team-a' in jwt.groups" }] }
  backends: [{ host: "${host}" }]
- name: app
  policies: { oidc: ${at} }
  backends: [{ host: "${host}" }]
`,
        })
      }),
    )
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await provider?.close()
    backend?.closeAllConnections()
    backend?.close()
  })

  const at = (path: string, gateway = 0) => `${bases[gateway]}${path}`
  const jarOf = (browser: FormBrowser, gateway = 0) => browser.cookies(bases[gateway] as string)

  /** A browser with the same cookies: cookies of a host are sent to each of its ports. */
  function copyOf(cookies: ReadonlyMap<string, string>, gateway = 0): FormBrowser {
    const copy = new FormBrowser()
    for (const [name, value] of cookies) jarOf(copy, gateway).set(name, value)
    return copy
  }

  async function signedIn(person: string, path = '/page?a=b'): Promise<FormBrowser> {
    const browser = new FormBrowser()
    const begun = await browser.fetch(at(path), { headers: HTML })
    assert.equal(begun.status, 303, await begun.text())
    const back = await browser.signIn(begun.headers.get('location') ?? '', person)
    const done = await browser.fetch(back)
    assert.equal(done.status, 303, await done.text())
    assert.equal(done.headers.get('location'), path)
    return browser
  }

  async function seen(browser: FormBrowser, path: string, gateway = 0): Promise<Seen | number> {
    const reply = await browser.fetch(at(path, gateway))
    const text = await reply.text()
    return reply.status === 200 ? JSON.parse(text) : reply.status
  }

  /** On fresh connections, so that each worker gets a request. */
  async function statuses(cookies: ReadonlyMap<string, string>, gateway: number) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return Promise.all(
      Array.from({ length: 12 }, async () => {
        const reply = await send(at('/page', gateway), { headers: { cookie } })
        await reply.text()
        return reply.status
      }),
    )
  }

  for (const [who, init, expected] of [
    ['a browser that opens a page', { headers: HTML }, 303],
    [
      'a browser that says so',
      { headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' } },
      303,
    ],
    ['a script of a page', { headers: { ...HTML, 'sec-fetch-mode': 'cors' } }, 401],
    ['a script of an old browser', { headers: { ...HTML, 'x-requested-with': 'fetch' } }, 401],
    ['a program', { headers: { accept: '*/*' } }, 401],
    ['a program that wants JSON', { headers: { accept: 'application/json' } }, 401],
    ['a form', { method: 'POST', headers: HTML }, 401],
  ] as const) {
    it(`${who} without a session: ${expected}`, async () => {
      const reply = await send(at('/page'), init)
      assert.equal(reply.status, expected)
      const location = reply.headers.get('location')
      if (expected === 303) assert.ok(location?.startsWith(`${provider.issuer}/auth?`))
      else assert.equal(location, null)
      if (expected === 401) assert.ok(reply.headers.has('www-authenticate'))
    })
  }

  it('the code flow has state, nonce and PKCE', async () => {
    const reply = await send(at('/page'), { headers: HTML })
    const { searchParams } = new URL(reply.headers.get('location') ?? '')
    for (const name of ['state', 'nonce', 'code_challenge']) assert.ok(searchParams.get(name), name)
    assert.equal(searchParams.get('code_challenge_method'), 'S256')
    assert.equal(searchParams.get('response_type'), 'code')
  })

  it('the backend gets the request and other cookies, but nothing of the session', async () => {
    const browser = await signedIn('ed')
    jarOf(browser).set('theme', 'dark')
    const got = await seen(browser, '/page?x=1')
    assert.ok(typeof got === 'object', String(got))
    assert.equal(got.url, '/page?x=1')
    assert.equal(got.headers['cookie'], 'theme=dark')
  })

  it('rules read the claims as `jwt`, and an optional sign-in leaves it unset', async () => {
    const late = await signedIn('late')
    assert.equal(typeof (await seen(late, '/team')), 'object')
    assert.equal(await seen(await signedIn('ed'), '/team'), 403)
    assert.equal(typeof (await seen(new FormBrowser(), '/open')), 'object')
    assert.equal(await seen(await signedIn('mallory'), '/open'), 403)
  })

  it('a session is valid on every worker and replica, until it is logged out anywhere', async () => {
    const browser = await signedIn('ed')
    const kept = new Map(jarOf(browser))
    for (const gateway of [0, 1]) {
      assert.deepEqual([...new Set(await statuses(kept, gateway))], [200], `gateway ${gateway}`)
    }
    const foreign = await browser.fetch(at('/oauth2/logout'), {
      method: 'POST',
      headers: { origin: 'http://attacker.example' },
    })
    assert.equal(foreign.status, 403)
    const linked = await browser.fetch(at('/oauth2/logout'), {
      headers: { 'sec-fetch-site': 'cross-site' },
    })
    assert.equal(linked.status, 403)
    const out = await browser.fetch(at('/oauth2/logout'), { method: 'POST' })
    assert.equal(out.status, 303, await out.text())
    const location = new URL(out.headers.get('location') ?? '')
    assert.equal(location.origin, provider.issuer)
    assert.ok(location.searchParams.has('id_token_hint'))
    assert.equal(jarOf(browser).size, 0)
    // Copied cookies are useless: immediately on this replica, and soon on the other one.
    assert.deepEqual([...new Set(await statuses(kept, 0))], [401])
    await until('the other replica knows', async () =>
      (await statuses(kept, 1)).every((status) => status === 401),
    )
  })

  it('a logout at the provider ends the session on every worker and replica', async () => {
    const browser = await signedIn('ed')
    const kept = new Map(jarOf(browser))
    const html = await (await browser.fetch(`${provider.issuer}/session/end`)).text()
    const [, xsrf = ''] = /name="xsrf"[^>]*value="([^"]+)"/.exec(html) ?? []
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(html) ?? []
    const body = new URLSearchParams({ xsrf, logout: 'yes' })
    await browser.fetch(action, { method: 'POST', body })
    for (const gateway of [0, 1]) {
      await until(`gateway ${gateway} knows`, async () =>
        (await statuses(kept, gateway)).every((status) => status === 401),
      )
    }
  })

  for (const [what, init, expected] of [
    ['a forged token', { body: new URLSearchParams({ logout_token: 'a.b.c' }) }, 400],
    ['no token', { body: new URLSearchParams() }, 400],
    ['JSON', { body: '{}', headers: { 'content-type': 'application/json' } }, 400],
    ['a body that is too large', { body: 'x'.repeat(4 * 1024 * 1024) }, 413],
  ] as const) {
    it(`a back-channel logout with ${what}: ${expected}`, async () => {
      const reply = await send(at('/oauth2/backchannel-logout'), { method: 'POST', ...init })
      assert.equal(reply.status, expected, await reply.text())
    })
  }

  it('a modified session is rejected, and so is one of another policy', async () => {
    const browser = await signedIn('ed')
    const jar = jarOf(browser)
    const [name, value] = [...jar].find(([one]) => /session\.0$/.test(one)) ?? ['', '']
    for (const place of [2, 20, Math.floor(value.length / 2), value.length - 2]) {
      const other = value[place] === 'A' ? 'B' : 'A'
      jar.set(name, value.slice(0, place) + other + value.slice(place + 1))
      assert.equal(await seen(browser, '/page'), 401, `at ${place}`)
    }
    jar.delete(name)
    jar.set(name.replace(/-oidc-[0-9a-f]+-/, '-oidc-000000000000-'), value)
    assert.equal(await seen(browser, '/page'), 401)
  })

  it('sessions of more than 4 KiB are split into cookies that browsers accept', async () => {
    const browser = await signedIn('many')
    const own = [...jarOf(browser)].filter(([name]) => /session/.test(name))
    assert.ok(own.length >= 2, `${own.length} cookies`)
    for (const [name, value] of own) assert.ok(name.length + value.length < 4_000)
    assert.equal(typeof (await seen(browser, '/page')), 'object')
    jarOf(browser).delete(own[1]?.[0] ?? '')
    assert.equal(await seen(browser, '/page'), 401)
  })

  it('two tabs sign in independently', async () => {
    const browser = new FormBrowser()
    const begun = ['/a', '/b'].map((path) => browser.fetch(at(path), { headers: HTML }))
    const [one, two] = (await Promise.all(begun)).map((reply) => reply.headers.get('location'))
    for (const [url, path] of [
      [two, '/b'],
      [one, '/a'],
    ] as const) {
      const done = await browser.fetch(await browser.signIn(url ?? '', 'ed'))
      assert.equal(done.status, 303, await done.text())
      assert.equal(done.headers.get('location'), path)
    }
  })

  it('a response of the provider is valid once, for its own login, from its own issuer', async () => {
    const login = at('/oauth2/login')
    const browser = new FormBrowser()
    const back = await browser.signIn(login, 'ed')
    const change = (name: string, value: string) => {
      const url = new URL(back)
      url.searchParams.set(name, value)
      return url.href
    }
    const stateOf = async (who: FormBrowser) => {
      const reply = await who.fetch(login)
      return new URL(reply.headers.get('location') ?? '').searchParams.get('state') ?? ''
    }
    const rejected = async (url: string, who: FormBrowser, why: string) => {
      const reply = await who.fetch(url)
      assert.equal(reply.status, 400, why)
      assert.doesNotMatch(reply.headers.getSetCookie().join(), /session/, why)
    }
    await rejected(change('state', await stateOf(new FormBrowser())), browser, 'another browser')
    await rejected(change('state', ''), browser, 'no state')
    await rejected(back, new FormBrowser(), 'a browser that did not begin it')
    await rejected(change('iss', 'http://attacker.example'), browser, 'another issuer')
    // The flow of the other tab has another nonce and another verifier.
    await rejected(change('state', await stateOf(browser)), browser, 'the code of another tab')
    const again = new FormBrowser()
    const url = await again.signIn(login, 'ed')
    const saved = new Map(jarOf(again))
    assert.equal((await again.fetch(url)).status, 303)
    await rejected(url, copyOf(saved), 'a code that was used')
  })

  it('redirects only to its own pages', async () => {
    for (const [returnTo, expected] of [
      ['/fine?x=1', '/fine?x=1'],
      ['//attacker.example', '/'],
      ['https://attacker.example', '/'],
      ['/\\attacker.example', '/'],
    ] as const) {
      const browser = new FormBrowser()
      const login = at(`/oauth2/login?returnTo=${encodeURIComponent(returnTo)}`)
      const done = await browser.fetch(await browser.signIn(login, 'ed'))
      assert.equal(done.headers.get('location'), expected)
    }
  })

  it('stays signed in after the tokens expire, by one refresh for all workers', async () => {
    const browser = await signedIn('brief')
    const old = new Map(jarOf(browser))
    const before = provider.refreshes()
    let replies: readonly Response[] = []
    await until('a refresh', async () => {
      const cookie = [...old].map(([name, value]) => `${name}=${value}`).join('; ')
      // Using a refresh token twice ends the session at most providers.
      replies = await Promise.all(
        Array.from({ length: 12 }, () => send(at('/page'), { headers: { cookie } })),
      )
      for (const one of replies) assert.equal(one.status, 200, await one.text())
      return replies.every((one) => one.headers.getSetCookie().length > 0)
    })
    for (const one of replies) assert.match(one.headers.getSetCookie().join(), /session/)
    assert.equal(provider.refreshes() - before, 1)
  })

  it('keys of the provider may change', async () => {
    await provider.rotateKeys()
    assert.equal(typeof (await seen(await signedIn('ed'), '/page')), 'object')
  })

  it('secrets are in no log, dump or metric', async () => {
    const [first] = gateways as readonly [StoredGateway]
    const dump = await first.api('GET', '/config/model')
    const text = dump.text + (await first.metrics()) + gateways.map((one) => one.out()).join()
    assert.ok(!text.includes(secret))
    assert.ok(!text.includes(CLIENT.secret))
    assert.match(text, /portcullis_authentication_failures_total\{[^}]*method="oidc"/)
  })
})
