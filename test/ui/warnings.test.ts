import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { until } from '../cli/running.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { openPage } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

/** The reader, the compiler and lint each report a warning about this file. */
const TEXT = `gateways:
  default: { port: PORT }
routes:
- name: wide
  policies:
    directResponse: { status: 200 }
    authorization:
      rules:
      - allow: 'true'
    timeout: { request: 10s }
policies:
- name: slow
  target: { route: wide }
  traffic:
    timeout: { request: 60s }
`
const LINTED = {
  name: 'linted',
  matches: [{ path: { exact: '/linted' } }],
  policies: { authorization: { rules: [{ allow: 'true' }] }, directResponse: { status: 201 } },
}

describe('warnings of the overview', { skip: WITHOUT_BROWSER || SKIPPED }, () => {
  let server: TestServer
  let gateway: UiGateway
  let browser: Browser

  before(async () => {
    server = await sharedServer()
    gateway = await startUiGateway({ database: await server.database(), text: TEXT })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  it('are shown once, with the place to edit', async () => {
    const reply = await fetch(`${gateway.admin}/api/config/resources/routes/linted`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(LINTED),
    })
    assert.equal(reply.status, 200, await reply.text())
    const isLinted = async () => {
      const reply = await fetch(`${gateway.admin}/api/lint`)
      return ((await reply.json()) as { readonly isComplete: boolean }).isComplete
    }
    await until('it is served', async () => (await gateway.get('/linted')) === 201)
    await until('it is linted', async () => isLinted())
    const { page, context, wrong } = await openPage(browser, gateway.ui)
    const warnings = page.getByRole('region', { name: 'Warnings' })
    await warnings.getByText('database routes/linted').first().waitFor()
    await warnings
      .getByText(/^gateway\.yaml:\d+:\d+$/)
      .first()
      .waitFor()
    const shown = (await warnings.getByRole('listitem').allInnerTexts()).map((text) =>
      text.replaceAll(/\s+/g, ' ').replace(/gateway\.yaml:\d+:(\d+)/, 'the file, column $1'),
    )
    const rest = 'this is always true it does not depend on the request'
    const [overridden, ...others] = shown.toSorted()
    assert.match(overridden ?? '', /^error AZ009 .*`timeout` of `slow` has no effect at /)
    assert.deepEqual(others, [
      `warning PC0110 database routes/linted policies.authorization.rules[0].allow ${rest}`,
      `warning PC0110 the file, column 17 ${rest}`,
    ])
    await context.close()
    assert.deepEqual(wrong, [])
  })
})
