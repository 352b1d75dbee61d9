import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { until } from '../cli/running.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { assertAccessible, openPage, takePicture } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

/** Pastes the text as an operator would; if typed, the editor would indent it. */
const pasting = (text: string) => `
  const clipboardData = new DataTransfer()
  clipboardData.setData('text/plain', ${JSON.stringify(text)})
  const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
  document.activeElement.dispatchEvent(paste)`

describe('an operator of a gateway with a database', { skip: WITHOUT_BROWSER || SKIPPED }, () => {
  let server: TestServer
  let gateway: UiGateway
  let browser: Browser
  const ops = { 'x-team': 'ops' }

  before(async () => {
    server = await sharedServer()
    gateway = await startUiGateway({ database: await server.database() })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  it('changes a rule, sees the effect, saves it, and it is enforced', async () => {
    assert.equal(await gateway.get('/orders', ops), 403)
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    await page.getByLabel('Condition of rule 3').fill("request.headers['x-team'] == 'ops'")
    const save = page.getByRole('button', { name: 'Save' })
    await save.waitFor()
    assert.equal(await save.isEnabled(), false, 'before its effect was seen')
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    await page.getByLabel('Comment for the history').fill('ops instead of eng')
    await save.click()
    await page.getByText('Revision 1', { exact: true }).waitFor()
    await until('the rule is enforced', async () => (await gateway.get('/orders', ops)) === 200)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('sees for each field which line of the file or which edit it comes from', async () => {
    const opened = await openPage(browser, `${gateway.ui}policies/routes/api`)
    const origins = opened.page.getByRole('region', { name: 'Where it comes from' })
    const fromOf = (field: string) =>
      origins.getByRole('row', { name: field }).getByRole('cell').last().innerText()
    const lineOf = (text: string) => {
      const lines = readFileSync(gateway.file, 'utf8').split('\n')
      return lines.findLastIndex((one) => one.includes(text)) + 1
    }
    assert.match(
      await fromOf('policies.authorization.rules'),
      new RegExp(
        `^Revision 1 by local, .*, instead of line ${lineOf('rules:')} of the file\\s+ops instead of eng$`,
      ),
    )
    const backends = lineOf('  backends: [{ backend: example }]')
    assert.equal(await fromOf('backends'), `The file, line ${backends}`)
    await assertAccessible(opened.page, 'where fields come from')
    await takePicture(opened.page, 'fields')
    await opened.context.close()
    assert.deepEqual(opened.wrong, [])
    const { page, context } = await openPage(browser, `${gateway.ui}policies/routes/public`)
    const row = page.getByRole('row', { name: 'All fields' })
    assert.match(await row.innerText(), /The file, line \d+/)
    await context.close()
  })

  it('sees that the file has changed since the edit of the same value', async () => {
    const before = readFileSync(gateway.file, 'utf8')
    writeFileSync(gateway.file, before.replace("== 'eng'", "== 'sales'"))
    const { page, context } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    const row = page.getByRole('row', { name: 'policies.authorization.rules' })
    await row.getByText('The file changed since').waitFor()
    await page.goto(`${gateway.ui}config`)
    await page.getByText('1 where the file has changed since the edit').waitFor()
    writeFileSync(gateway.file, before)
    await context.close()
    await until('the file is as it was', async () => (await gateway.get('/orders', ops)) === 200)
  })

  it('sees what someone else stored meanwhile, and loses nothing', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    await page.getByLabel('Condition of rule 2').fill("request.method == 'GET'")
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    const path = `${gateway.admin}/api/config/resources/routes/api`
    const current = await fetch(path)
    const { value } = (await current.json()) as { value: { policies: object } }
    const theirs = { ...value, policies: { ...value.policies, timeout: { requestTimeout: '7s' } } }
    const stored = await fetch(path, {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        'if-match': String(current.headers.get('etag')),
      },
      body: JSON.stringify(theirs),
    })
    assert.equal(stored.status, 200, await stored.text())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('It has been changed in the meantime', { exact: false }).waitFor()
    await page.locator('pre', { hasText: 'requestTimeout: 7s' }).waitFor()
    await context.close()
  })

  it('sees who changed what, and rolls back', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}history`)
    const first = page.getByRole('region', { name: 'Revision 1' })
    await first.getByText('ops instead of eng').waitFor()
    await first.locator('[data-change=removed]', { hasText: "== 'eng'" }).waitFor()
    await first.locator('[data-change=added]', { hasText: "== 'ops'" }).waitFor()
    await first.getByRole('button', { name: 'Roll back to revision 1' }).click()
    await first.getByRole('button', { name: 'Yes, roll back' }).click()
    await page.getByRole('region', { name: 'Revision 3' }).getByText('rollback to 1').waitFor()
    const reply = await fetch(`${gateway.admin}/api/config/resources/routes/api`)
    assert.doesNotMatch(await reply.text(), /requestTimeout/)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('edits the whole configuration as YAML, with keys completed by its schema', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}config`)
    const editor = page.getByLabel('Configuration as YAML')
    await editor.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('\n')
    await page.keyboard.type('back')
    await page.locator('.cm-tooltip-autocomplete', { hasText: 'backends' }).waitFor()
    await page.keyboard.press('Escape')
    const reply = await fetch(`${gateway.admin}/api/config/effective?format=yaml`)
    await page.keyboard.press('Control+A')
    const edited = (await reply.text()).replace('pathPrefix: /public', 'pathPrefix: /open')
    await page.evaluate(pasting(edited))
    // Longer than the health polling interval of the page, which must not start the comparison
    // again.
    let looks = 0
    await page.route('**/api/policies/diff', async (route) => {
      looks++
      await sleep(6_000)
      await route.continue()
    })
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('The configuration stays valid').waitFor()
    // The page shows what it is waiting for, and that it is still working.
    const all = page.getByRole('region', { name: 'Effect of the change' })
    await all.getByRole('heading', { name: 'All requests' }).waitFor()
    await all.getByRole('status').getByText('Looking …').waitFor()
    await page.getByRole('button', { name: 'Save 1 resource' }).click()
    assert.equal(looks, 1)
    await page.getByText('Revision 4').first().waitFor()
    await until('the route moved', async () => (await gateway.get('/open')) === 200)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('saves only the text whose effect was shown', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}config`)
    const editor = page.getByLabel('Configuration as YAML')
    const reply = await fetch(`${gateway.admin}/api/config/effective?format=yaml`)
    const text = await reply.text()
    const paste = async (path: string) => {
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.evaluate(pasting(text.replace('pathPrefix: /open', `pathPrefix: ${path}`)))
    }
    await paste('/first')
    await page.route('**/api/policies/replay', async (route) => {
      // Pasted while the effect of the previous text is still computed.
      await paste('/second')
      await route.continue()
    })
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page
      .getByText(/recorded requests \d+ would be decided|no decisions are recorded/)
      .waitFor()
    await sleep(200)
    assert.equal(await page.getByRole('button', { name: 'Save 1 resource' }).isEnabled(), false)
    await context.close()
  })
})
