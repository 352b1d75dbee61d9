import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { freePort } from '../cli/running.ts'
import { type StoredGateway, startGateway } from '../storage/gateways.ts'
import { CLIENT, startProvider, type TestProvider } from './provider.ts'

const TIMEOUT_MS = 60_000

describe('sign-in with a real browser', { skip: WITHOUT_BROWSER }, () => {
  let browser: Browser
  let provider: TestProvider
  let appProvider: TestProvider
  let app: string
  let gateway: StoredGateway
  let base: string

  before(async () => {
    const adminPort = await freePort()
    base = `http://127.0.0.1:${adminPort}`
    provider = await startProvider({ gateways: [base] })
    const appPort = await freePort()
    app = `http://127.0.0.1:${appPort}`
    appProvider = await startProvider({ gateways: [app], folder: '/oauth2' })
    const oidc = {
      issuer: provider.issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      redirectUri: `${base}/api/auth/callback`,
    }
    const signIn = {
      ...oidc,
      issuer: appProvider.issuer,
      redirectUri: `${app}/oauth2/callback`,
    }
    gateway = await startGateway(undefined, {
      adminPort,
      port: appPort,
      routes: `- name: app
  policies:
    oidc: ${JSON.stringify(signIn)}
    authorization: { rules: [{ allow: "jwt.sub == 'alice'" }] }
    directResponse:
      status: 200
      headers: { content-type: "'text/html'" }
      body: '<h1>welcome</h1><a href="/oauth2/logout">sign out</a>'
`,
      environment: { OIDC_COOKIE_SECRET: randomBytes(32).toString('hex') },
      config: { adminAuth: { oidc, roles: { admin: "jwt.sub == 'alice'" } } },
    })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.remove()
    await provider?.close()
    await appProvider?.close()
  })

  async function signIn(page: Page, person: string): Promise<void> {
    await page.goto(`${base}/api/auth/login?returnTo=/api/session`)
    await page.fill('input[name=login]', person)
    await page.fill('input[name=password]', 'x')
    await page.click('button[type=submit]')
    await page.click('button[type=submit]')
    await page.waitForURL(`${base}/api/session`)
  }

  const session = (page: Page) =>
    page.goto(`${base}/api/session`).then(async (reply) => ({
      status: reply?.status(),
      body: JSON.parse((await reply?.text()) ?? '{}') as Readonly<Record<string, unknown>>,
    }))

  it('signs in and out, and other pages cannot do so on its behalf', async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(TIMEOUT_MS)
    const page = await context.newPage()
    assert.equal((await session(page)).status, 401)
    await signIn(page, 'alice')
    const { status, body } = await session(page)
    assert.deepEqual([status, body['name'], body['role']], [200, 'alice', 'admin'])
    const own = (await context.cookies(base)).filter(({ name }) => name.includes('portcullis'))
    assert.ok(own.length > 0)
    for (const { httpOnly, sameSite } of own) assert.deepEqual([httpOnly, sameSite], [true, 'Lax'])

    // Cookies belong to the host, not the port: a page on another port sends them, too.
    const attacker = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end(`<form method="post" action="${base}/api/auth/logout"><button>b</button></form>`)
    })
    attacker.listen(0, '127.0.0.1')
    await once(attacker, 'listening')
    const evil = await context.newPage()
    await evil.goto(`http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`)
    const [reply] = await Promise.all([
      evil.waitForResponse((one) => one.url().endsWith('/api/auth/logout')),
      evil.click('button'),
    ])
    assert.equal(reply.status(), 403)
    await evil.goto(`http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`)
    const stolen = await evil.evaluate(
      (url) =>
        fetch(url, { credentials: 'include' }).then(
          (one) => one.text(),
          () => 'blocked',
        ),
      `${base}/api/session`,
    )
    assert.equal(stolen, 'blocked')
    attacker.closeAllConnections()
    attacker.close()
    assert.equal((await session(page)).status, 200)

    await page.goto(`${base}/`)
    await page.evaluate(() => fetch('/api/auth/logout', { method: 'POST', redirect: 'manual' }))
    assert.equal((await session(page)).status, 401)
    await context.close()
  })

  it('starts in the Admin UI, and returns to the requested page', async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(2 * TIMEOUT_MS)
    const page = await context.newPage()
    await page.goto(`${base}/ui/decisions`)
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.fill('input[name=login]', 'alice')
    await page.fill('input[name=password]', 'x')
    await page.click('button[type=submit]')
    await page.click('button[type=submit]')
    await page.waitForURL(`${base}/ui/decisions`)
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).waitFor()
    await context.close()
  })

  it('signs in to an application, and out again, while scripts of pages get 401', async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(TIMEOUT_MS)
    const page = await context.newPage()
    await page.goto(`${app}/orders?page=2`)
    await page.fill('input[name=login]', 'alice')
    await page.fill('input[name=password]', 'x')
    await page.click('button[type=submit]')
    await page.click('button[type=submit]')
    await page.waitForURL(`${app}/orders?page=2`)
    await page.getByRole('heading', { name: 'welcome' }).waitFor()
    const status = (path: string) =>
      page.evaluate((url) => fetch(url).then((one) => one.status), path)
    assert.equal(await status('/orders'), 200)
    await page.getByRole('link', { name: 'sign out' }).click()
    await page.waitForURL(`${appProvider.issuer}/**`)
    await page.getByRole('button', { name: /sign me out|yes/i }).click()
    await page.waitForURL((url) => url.origin !== appProvider.issuer || !/end/.test(url.pathname))
    const own = (await context.cookies(app)).filter(({ name }) => name.includes('session'))
    assert.deepEqual(
      own.filter(({ name }) => name.startsWith('portcullis')),
      [],
    )
    const reply = await context.request.get(`${app}/orders`, { maxRedirects: 0 })
    assert.equal(reply.status(), 401)
    await context.close()
  })

  it('a person without a role signs in, and may do nothing', async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(TIMEOUT_MS)
    const page = await context.newPage()
    await signIn(page, 'mallory')
    const { status, body } = await session(page)
    assert.equal(status, 403)
    assert.match(String(body['detail']), /mallory has no role/)
    await context.close()
  })
})
