import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { freePort } from '../cli/running.ts'
import { CLIENT, startProvider, type TestProvider } from '../oidc/provider.ts'
import { type StoredGateway, startGateway } from '../storage/gateways.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { openPage } from './pages.ts'

const ROUTES = `- name: api
  matches: [{ path: { pathPrefix: / } }]
  policies:
    authorization: { rules: [allow: "request.headers['x-team'] == 'eng'"] }
    directResponse: { status: 200, body: hello }
`

describe('roles in the UI', { skip: WITHOUT_BROWSER || SKIPPED }, () => {
  let server: TestServer
  let provider: TestProvider
  let gateway: StoredGateway
  let browser: Browser
  let base: string

  before(async () => {
    server = await sharedServer()
    const adminPort = await freePort()
    base = `http://127.0.0.1:${adminPort}`
    provider = await startProvider({ gateways: [base] })
    const oidc = {
      issuer: provider.issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      redirectUri: `${base}/api/auth/callback`,
    }
    const roles = { admin: "jwt.sub == 'alice'", viewer: "jwt.sub == 'victor'" }
    gateway = await startGateway(await server.database(), {
      adminPort,
      routes: ROUTES,
      environment: { OIDC_COOKIE_SECRET: randomBytes(32).toString('hex') },
      config: { adminAuth: { oidc, roles } },
    })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.remove()
    await provider?.close()
  })

  async function signedIn(person: string, path: string) {
    const opened = await openPage(browser, `${base}/ui/${path}`)
    const { page } = opened
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.fill('input[name=login]', person)
    await page.fill('input[name=password]', 'x')
    await page.click('button[type=submit]')
    await page.click('button[type=submit]')
    await page.waitForURL(`${base}/ui/${path}`)
    return opened
  }

  function confirmAll(page: Page): void {
    page.removeAllListeners('dialog')
    page.on('dialog', (dialog) => void dialog.accept())
  }

  async function addRule(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await page.getByLabel('Condition of rule 2').click()
    await page.keyboard.type("request.path == '/open'")
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('The configuration stays valid').waitFor()
    await page.getByText('recorded', { exact: false }).first().waitFor()
  }

  it('a viewer tries changes, and gets no way to store them', async () => {
    const { page, context } = await signedIn('victor', 'policies/routes/api')
    await page.getByText('victor (viewer)').waitFor()
    await addRule(page)
    await page.getByText('you need the role editor to save changes').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
    await page.goto(`${base}/ui/settings`)
    assert.ok(await page.getByLabel('Log level').first().isDisabled())
    await page.goto(`${base}/ui/config`)
    await page.getByText('you need the role editor to change it').waitFor()
    assert.equal(await page.getByRole('button', { name: 'See the effect' }).count(), 0)
    // The gateway enforces the role, too.
    const status = await page.evaluate(() =>
      fetch('/api/logging', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"level":"debug"}',
      }).then((reply) => reply.status),
    )
    assert.equal(status, 403)
    confirmAll(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Portcullis' }).waitFor()
    await context.close()
  })

  it('an admin saves the same change', async () => {
    const { page, context } = await signedIn('alice', 'policies/routes/api')
    await page.getByText('alice (admin)').waitFor()
    assert.equal(await gateway.get('/open'), 403)
    await addRule(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Revision 1').first().waitFor()
    await page.goto(`${base}/ui/history`)
    await page.getByText('by alice', { exact: false }).first().waitFor()
    await page.goto(`${base}/ui/settings`)
    // Waits until it is enabled: the role is known a moment after the page loads.
    await page.getByLabel('Log level').first().click({ trial: true })
    await context.close()
  })

  it('nobody signs out of unsaved changes without a question', async () => {
    const { page, context, wrong } = await signedIn('alice', 'policies/routes/api')
    await page.getByLabel('Condition of rule 1').fill("request.path == '/draft'")
    const leave = page.getByRole('button', { name: 'Sign out' })
    await leave.click()
    const dialogs = wrong.filter((one) => one.startsWith('dialog'))
    assert.deepEqual(dialogs, ['dialog: Discard the unsaved changes to routes/api?'])
    assert.equal(
      await page.getByLabel('Condition of rule 1').innerText(),
      "request.path == '/draft'",
    )
    confirmAll(page)
    await leave.click()
    await page.getByRole('link', { name: 'Sign in with your account' }).waitFor()
    assert.equal(await page.evaluate("sessionStorage.getItem('portcullis-drafts')"), null)
    await context.close()
  })
})
