import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { PORTCULLIS } from '../programs.ts'
import { assertAccessible, openPage, settled, takePicture } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

const run = promisify(execFile)
const claims = Buffer.from('{"sub":"alice","team":"eng"}').toString('base64url')
const JWT = `eyJhbGciOiJub25lIn0.${claims}.x`

/** Types one letter per task, so that the page renders in between. */
const typing = (text: string) => `new Promise((resolve) => {
  const letters = ${JSON.stringify([...text])}
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    const letter = letters.shift()
    if (letter === undefined) return setTimeout(resolve, 500)
    document.execCommand('insertText', false, letter)
    port2.postMessage(0)
  }
  port2.postMessage(0)
})`

describe('an operator of a read-only gateway', { skip: WITHOUT_BROWSER }, () => {
  let gateway: UiGateway
  let browser: Browser

  before(async () => {
    gateway = await startUiGateway({ config: '  decisions: { allowed: 1, show: [request] }\n' })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  it('sees at / what guards each route, the unprotected first', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.admin}/`)
    assert.equal(page.url(), gateway.ui)
    const guarding = page.getByRole('region', { name: 'Guards' })
    await guarding.getByText('Unprotected').waitFor()
    assert.match(await guarding.innerText(), /Unprotected\s+public[\s\S]*Guarded\s+api/)
    await page.getByText('Read-only').waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('sees charts in a browser whose language Intl does not support', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}settings`)
    const language =
      "Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })"
    await page.addInitScript(language)
    for (const name of ['', 'llm']) {
      await page.goto(`${gateway.ui}${name}`)
      await page.locator('h1').waitFor({ timeout: 60_000 })
    }
    await page.goto(gateway.ui)
    await page.locator('.uplot').first().waitFor({ timeout: 60_000 })
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('filters the map for open routes', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}map`)
    assert.equal(await page.locator('[data-protection]').count(), 2)
    await page.getByLabel('Only unguarded').check()
    assert.equal(await page.locator('[data-protection]').count(), 1)
    await page.locator('[data-protection=unprotected]').getByText('any /public*').waitFor()
    await context.close()
  })

  it('watches decisions, looks up the reason for one, and makes a test of one that passes', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}decisions`)
    // It appears without a reload: the page is already open.
    assert.equal(await gateway.get('/orders/live', { 'x-team': 'ops' }), 403)
    const row = page.locator('a', { hasText: 'GET /orders/live' })
    await row.waitFor()
    await row.click()
    await page.waitForSelector('h1:text("GET /orders/live")')
    await page.locator('.atom.tone-bad', { hasText: "['x-team'] == 'eng' is false" }).waitFor()
    await page.getByRole('button', { name: 'Create a test from this decision' }).click()
    const text = await page.locator('section[aria-label=Test] pre').innerText()
    const file = join(dirname(gateway.file), 'made.yaml')
    writeFileSync(file, text)
    const { stdout } = await run(process.execPath, [PORTCULLIS, 'test', file])
    assert.match(stdout, /1 passed/)
    await page.getByRole('button', { name: /Explain with the current configuration/ }).click()
    await page.locator('main').getByText('Denied', { exact: true }).nth(1).waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('gets suggested rules that admit the recorded requests, and sees what they would deny', async () => {
    assert.equal(await gateway.get('/orders/7', { 'x-team': 'eng' }), 200)
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}suggest`)
    const box = page.getByRole('region', { name: 'Rules for api' })
    await box.getByText(/admit all \d+ admitted requests/).waitFor()
    await box.getByText(/^allow: request\.method == 'GET'/).waitFor()
    await box
      .getByText(/Would deny this request, which is admitted now: /)
      .first()
      .waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('filters decisions by verdict and text, and keeps the filter in the address', async () => {
    await gateway.get('/admin/x')
    await gateway.get('/orders/y')
    const { page, context } = await openPage(browser, `${gateway.ui}decisions?verdict=denied`)
    await page.locator('a', { hasText: '/admin/x' }).waitFor()
    await page.getByRole('textbox', { name: 'Text' }).fill('/admin/x')
    await page.locator('a', { hasText: '/orders/y' }).waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Policy' }).fill('nobody')
    await page.getByText('No matching decisions').waitFor()
    assert.match(page.url(), /verdict=denied&text=%2Fadmin%2Fx&policy=nobody/)
    await context.close()
  })

  it('tries a request with a JWT, and steps through the rules', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}sandbox`)
    await page.getByRole('textbox', { name: 'Request', exact: true }).fill('GET /orders')
    await page.getByRole('textbox', { name: 'Headers' }).fill('x-team: eng')
    await page.getByRole('textbox', { name: 'JWT or claims' }).fill('no token')
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByText('Neither a JWT').waitFor()
    await page.getByRole('textbox', { name: 'JWT or claims' }).fill(JWT)
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByText('Forwarded to the backend').waitFor()
    await page.getByText("request.path = '/orders'").waitFor()
    await page
      .locator('.atom.tone-good', { hasText: "request.headers['x-team'] == 'eng'" })
      .waitFor()
    await page.getByRole('button', { name: 'Step through' }).click()
    // Later steps have no values yet; the steps are in the order of evaluation.
    for (const [index, words, tone] of [
      [1, 'Deny is false', 'good'],
      [2, 'Require is true', 'good'],
      [3, 'Allow is true', 'good'],
      [4, 'Allow is false', 'bad'],
    ] as const) {
      await page.getByText(`Rule ${index} of 4: ${words}`).waitFor()
      assert.equal(await page.locator('.atom').count(), index)
      const current = page.locator('.box-current .atom')
      assert.match((await current.getAttribute('class')) ?? '', new RegExp(`tone-${tone}`), words)
      if (index < 4) await page.getByRole('button', { name: 'Next rule' }).click()
    }
    await page.getByRole('button', { name: 'Previous rule' }).click()
    await page.getByText('Rule 3 of 4: Allow is true').waitFor()
    await assertAccessible(page, 'the steps of a request')
    await takePicture(page, 'steps')
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('starts from a recorded request with its attributes', async () => {
    assert.equal(await gateway.get('/orders/again', { 'x-team': 'sales' }), 403)
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}sandbox`)
    await page.getByRole('combobox', { name: 'Start from a recent request' }).click()
    await page.getByRole('option', { name: /GET \/orders\/again · denied/ }).click()
    const request = page.getByRole('textbox', { name: 'Request', exact: true })
    assert.equal(await request.inputValue(), 'GET /orders/again')
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByText('Denied', { exact: true }).first().waitFor()
    await page
      .locator('.atom.tone-bad', { hasText: "request.headers['x-team'] == 'eng'" })
      .waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('loses no input that is typed faster than the page renders', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    const first = page.getByLabel('Condition of rule 1')
    await first.fill('')
    await first.focus()
    const text = Array.from({ length: 120 }, (_, n) => `a${n}`).join(' ')
    await page.evaluate(typing(text))
    assert.equal(await first.innerText(), text)
    // The page has received it, too, and not only the editor.
    await page.getByText('1 mistake to fix first').waitFor()
    for (const team of ['ops', 'sales', 'legal', 'eng2', 'board']) {
      const rule = `request.headers['x-team'] == '${team}'`
      await first.fill(rule)
      await page.getByRole('button', { name: 'See the effect' }).click({ trial: true })
      assert.equal(await first.innerText(), rule)
    }
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('sees what to do if the gateway does not respond, and continues once it does', async () => {
    const { page, context } = await openPage(browser, gateway.ui)
    await page.route('**/api/**', (route) => route.abort())
    await page.getByRole('link', { name: 'History' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'The operation failed' })
    await alert.getByText('The gateway does not respond. Is it still running?').waitFor()
    await alert.getByText('Restart it; this page reconnects automatically.').waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await page.getByText('The history of a file is in its repository.').waitFor()
    await context.close()
  })

  it('sees mistakes while writing a rule, and completions for its stage', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    const first = page.getByLabel('Condition of rule 1')
    await first.fill('request.path == 1')
    await page
      .getByText(/PC01\d\d/)
      .first()
      .waitFor()
    await page.getByText('1 mistake to fix first').waitFor()
    assert.equal(await page.getByRole('button', { name: 'See the effect' }).isEnabled(), false)
    await first.fill('')
    await first.pressSequentially('request.me')
    await page.locator('.cm-tooltip-autocomplete', { hasText: 'method' }).waitFor()
    // Belongs to another stage, so it is not offered.
    await page.keyboard.press('Escape')
    await first.fill('')
    await first.pressSequentially('mc')
    await page
      .getByText(/PC01\d\d/)
      .first()
      .waitFor()
    assert.equal(await page.locator('.cm-tooltip-autocomplete', { hasText: /^mcp/ }).count(), 0)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('sees the effect of a rule, and gets text for the file instead of a way to save', async () => {
    await gateway.get('/orders', { 'x-team': 'ops' })
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}policies/routes/api`)
    await page.getByText('This gateway is read-only').waitFor()
    await page.getByLabel('Condition of rule 3').fill("request.headers['x-team'] == 'ops'")
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('The configuration stays valid').waitFor()
    await page.getByText('Newly admitted').first().waitFor()
    await page.getByText(/recorded requests \d+ would be decided differently/).waitFor()
    await page.locator('pre', { hasText: "== 'ops'" }).waitFor()
    await assertAccessible(page, 'the effect of a change')
    await takePicture(page, 'effect')
    assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
    await settled(page)
    await context.close()
    assert.deepEqual(wrong, [])
  })
})

describe('an operator of a gateway open to other machines', { skip: WITHOUT_BROWSER }, () => {
  let gateway: UiGateway
  let browser: Browser

  before(async () => {
    gateway = await startUiGateway({ host: '0.0.0.0', config: '  adminAllowRemote: true\n' })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  it('signs in with the token that the gateway printed', async () => {
    const [, token = ''] = /shown only once\): (\S+)/.exec(gateway.out()) ?? []
    assert.notEqual(token, '')
    const { page, context } = await openPage(browser, gateway.ui)
    await page.getByText('Sign in to Portcullis').waitFor()
    const field = page.locator('input')
    await field.fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The gateway rejected this token.').waitFor()
    await field.fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForSelector('h1:text("Overview")')
    await page.getByRole('region', { name: 'Guards' }).getByText('Unprotected').waitFor()
    await context.close()
  })
})
