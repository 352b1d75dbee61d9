import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { CLIENT_KEY, type FullGateway, startFullGateway } from './full-gateway.ts'
import { assertAccessible, openPage, settled } from './pages.ts'

/** Models and tools of a gateway with a real provider and a real MCP server behind it. */
describe('an operator of models and tools', { skip: WITHOUT_BROWSER }, () => {
  let gateway: FullGateway
  let browser: Browser

  before(async () => {
    gateway = await startFullGateway()
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  it('sees models, keys and budgets, tries one, and sees what it cost', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}llm`)
    const models = page.getByRole('region', { name: /^Models of / })
    for (const name of ['small', 'large']) {
      await models.getByRole('cell', { name, exact: true }).waitFor()
    }
    const keys = page.getByRole('region', { name: 'Keys and budgets' })
    await keys.getByRole('row', { name: /owner: "alice" small Never/ }).waitFor()
    await keys.getByText('10 requests per day').waitFor()
    const rates = page.getByRole('region', { name: 'Rates' })
    await rates
      .getByRole('row', { name: 'small openai 1000000 2000000 config.modelCatalog[0]' })
      .waitFor()
    assert.ok(!(await page.content()).includes(CLIENT_KEY))
    await models.getByRole('textbox', { name: 'Prompt' }).fill('hello')
    await models.getByRole('button', { name: 'Send' }).click()
    await models.getByText(/^Status 401 after/).waitFor()
    await models
      .getByRole('textbox', { name: /headers/i })
      .fill(`authorization: Bearer ${CLIENT_KEY}`)
    await models.getByRole('button', { name: 'Send' }).click()
    await models.getByText(/^Status 200 after/).waitFor()
    await models.locator('pre', { hasText: 'Grüße' }).waitFor()
    await page.reload()
    await settled(page)
    await page
      .getByRole('region', { name: 'Calls' })
      .getByText(/small.*: 1$/)
      .waitFor()
    const cost = page.getByRole('region', { name: 'Cost in US dollars' })
    await cost.getByText(/small.*: [1-9]/).waitFor()
    await page.locator('.uplot').first().waitFor()
    await keys.getByText('1 request (10 %)').waitFor()
    await assertAccessible(page, 'models')
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('sees the tools that a client sees and the policies that guard them, and calls one', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}mcp`)
    const backend = page.getByRole('region', { name: /^MCP backend / })
    await backend.getByText('notes', { exact: true }).waitFor()
    await backend.getByText("mcp.tool.name == 'list_notes'").first().waitFor()
    const list = backend.getByRole('button', { name: 'List the tools that this client sees' })
    await list.click()
    await backend.getByRole('button', { name: /^Call .*list_notes/ }).waitFor()
    assert.equal(await backend.getByRole('button', { name: /delete_note/ }).count(), 0)
    await backend.getByRole('button', { name: /^Call .*list_notes/ }).click()
    await backend.locator('pre', { hasText: 'team/plan' }).waitFor()
    await backend.getByRole('textbox', { name: /headers/i }).fill('x-team: eng')
    await list.click()
    await backend.getByRole('button', { name: /^Call .*delete_note/ }).waitFor()
    await assertAccessible(page, 'tools')
    await context.close()
    assert.deepEqual(wrong, [])
  })
})
