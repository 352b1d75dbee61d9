import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { until } from '../cli/running.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { assertAccessible, openPage, takePicture } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

const OPS = "request.headers['x-team'] == 'ops'"

describe('changes that are not saved yet', { skip: WITHOUT_BROWSER || SKIPPED }, () => {
  let server: TestServer
  let gateway: UiGateway
  let token: string
  let browser: Browser
  const ops = { 'x-team': 'ops' }

  before(async () => {
    server = await sharedServer()
    // Beyond loopback the admin API requires its token.
    gateway = await startUiGateway({
      database: await server.database(),
      host: '0.0.0.0',
      config: '  adminAllowRemote: true\n',
    })
    token = /shown only once\): (\S+)/.exec(gateway.out())?.[1] ?? assert.fail(gateway.out())
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  const address = (path: string) => `${gateway.ui.replace('0.0.0.0', '127.0.0.1')}${path}`
  const rule = (page: Page, number: number) => page.getByLabel(`Condition of rule ${number}`)

  async function signIn(page: Page): Promise<void> {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  async function open(path: string) {
    const opened = await openPage(browser, address(path))
    await signIn(opened.page)
    return opened
  }

  async function stored(path: string, method: string, body?: unknown): Promise<Response> {
    const url = `${gateway.admin.replace('0.0.0.0', '127.0.0.1')}/api/config/resources/${path}`
    const headers: Record<string, string> = { authorization: `Bearer ${token}` }
    if (method === 'GET') return fetch(url, { headers })
    const current = await fetch(url, { headers })
    headers['if-match'] = String(current.headers.get('etag'))
    headers['content-type'] = 'application/json'
    return fetch(url, { method, headers, body: JSON.stringify(body) })
  }

  it('survive other pages, a reload and a lost session, and are saved then', async () => {
    assert.equal(await gateway.get('/orders', ops), 403)
    const { page, context, wrong } = await open('policies/routes/api')
    await rule(page, 3).fill(OPS)
    await page.getByRole('link', { name: 'Decisions', exact: true }).click()
    const note = page.getByRole('alert').filter({ hasText: 'Unsaved changes' })
    await note.getByRole('link', { name: 'routes/api' }).waitFor()
    await page.getByRole('heading', { name: 'Decisions', exact: true }).waitFor()
    await assertAccessible(page, 'unsaved changes')
    await takePicture(page, 'unsaved-changes')
    await page.reload()
    await note.getByRole('link', { name: 'routes/api' }).click()
    assert.equal(await rule(page, 3).innerText(), OPS)
    // The session is lost: the next request of the page gets 401.
    await page.evaluate("sessionStorage.setItem('portcullis-token', 'expired')")
    await page.getByRole('heading', { name: 'Sign in to Portcullis' }).waitFor()
    await signIn(page)
    await rule(page, 3).waitFor()
    assert.equal(await rule(page, 3).innerText(), OPS)
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Revision 1', { exact: true }).waitFor()
    await until('the rule is enforced', async () => (await gateway.get('/orders', ops)) === 200)
    await page.getByText('Nothing changed yet.').waitFor()
    await page.getByRole('link', { name: 'Decisions', exact: true }).click()
    await page.getByRole('heading', { name: 'Decisions', exact: true }).waitFor()
    assert.equal(await note.count(), 0)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('are gone after they were undone', async () => {
    const { page, context } = await open('policies/routes/api')
    await rule(page, 2).fill("request.method == 'PUT'")
    await page.getByRole('button', { name: 'Undo all changes' }).click()
    await page.getByText('Nothing changed yet.').waitFor()
    await page.reload()
    await page.getByText('Nothing changed yet.').waitFor()
    await context.close()
  })

  it('of a resource show what was stored meanwhile, and replace it only if told so', async () => {
    const { page, context } = await open('policies/routes/api')
    await rule(page, 2).fill("request.method == 'GET'")
    const { value } = (await (await stored('routes/api', 'GET')).json()) as {
      value: { policies: object }
    }
    const theirs = { ...value, policies: { ...value.policies, timeout: { requestTimeout: '7s' } } }
    assert.equal((await stored('routes/api', 'PUT', theirs)).status, 200)
    await page.reload()
    const note = page.getByRole('alert').filter({ hasText: 'since you began to edit it' })
    await note.locator('[data-change=added]', { hasText: 'requestTimeout: 7s' }).waitFor()
    await takePicture(page, 'outdated-draft')
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('It has been changed in the meantime', { exact: false }).waitFor()
    await note.getByRole('button', { name: 'Replace them with my version' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    const isTheirs = async () =>
      /requestTimeout/.test(await (await stored('routes/api', 'GET')).text())
    await until('it is replaced', async () => !(await isTheirs()))
    await context.close()
  })

  it('of the whole configuration never undo what was stored meanwhile', async () => {
    const { page, context } = await open('config')
    const editor = page.getByLabel('Configuration as YAML')
    await editor.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('\n# a draft\n')
    await page.getByRole('link', { name: 'Map', exact: true }).click()
    await page.getByRole('alert').getByRole('link', { name: 'configuration' }).waitFor()
    const { value } = (await (await stored('routes/public', 'GET')).json()) as { value: object }
    const matches = [{ path: { pathPrefix: '/open' } }]
    assert.equal((await stored('routes/public', 'PUT', { ...value, matches })).status, 200)
    await page.getByRole('alert').getByRole('link', { name: 'configuration' }).click()
    const note = page.getByRole('alert').filter({ hasText: 'since you began to edit it' })
    await note.getByText('routes/public').waitFor()
    await note.getByText('You changed other resources: saving stores these alone.').waitFor()
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('No resource differs.').waitFor()
    await note.getByRole('button', { name: 'Discard my changes' }).click()
    await page.getByText('pathPrefix: /open').waitFor()
    await context.close()
  })

  it('of a resource that was deleted meanwhile can still be read', async () => {
    const route = { name: 'extra', matches: [{ path: { pathPrefix: '/extra' } }] }
    const url = `${gateway.admin.replace('0.0.0.0', '127.0.0.1')}/api/config/resources/routes/extra`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const rules = [{ allow: 'true' }]
    const body = JSON.stringify({
      ...route,
      policies: { authorization: { rules }, directResponse: { status: 200 } },
    })
    const made = await fetch(url, {
      method: 'PUT',
      headers: { ...headers, 'if-none-match': '*' },
      body,
    })
    assert.equal(made.status, 200, await made.text())
    const { page, context } = await open('policies/routes/extra')
    await rule(page, 1).fill(OPS)
    await page.getByText('Nothing changed yet.').waitFor({ state: 'hidden' })
    assert.equal((await stored('routes/extra', 'DELETE')).status, 200)
    await page.reload()
    await page.locator('pre', { hasText: 'ops' }).waitFor()
    await page.getByRole('button', { name: 'Discard my changes' }).click()
    await page.locator('pre', { hasText: 'ops' }).waitFor({ state: 'hidden' })
    await context.close()
  })

  it('are not needed to go back: edits of a resource are removed, with their effect', async () => {
    const { page, context, wrong } = await open('policies/routes/public')
    await page.getByRole('button', { name: 'Revert to the file' }).click()
    await page.getByText('The configuration stays valid').waitFor()
    await assertAccessible(page, 'revert to the file')
    await page.getByRole('button', { name: 'Yes, revert' }).click()
    await page.getByRole('region', { name: 'Revert to the file' }).waitFor({ state: 'hidden' })
    const { origin } = (await (await stored('routes/public', 'GET')).json()) as { origin: string }
    assert.equal(origin, 'baseline')
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('are not needed to go back: the first stored change is rolled back, too', async () => {
    const { page, context, wrong } = await open('history')
    const first = page.getByRole('region', { name: 'Revision 0' })
    await first.getByRole('button', { name: 'Roll back to revision 0' }).click()
    await first.getByRole('button', { name: 'Yes, roll back' }).click()
    await page.getByText('rollback to 0').waitFor()
    await until('the file is served', async () => (await gateway.get('/orders', ops)) === 403)
    await context.close()
    assert.deepEqual(wrong, [])
  })
})
