import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { serveExampleMcp } from '../../src/cli/example-mcp.ts'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { until } from '../cli/running.ts'
import { type ModelProvider, startModelProvider } from '../proxy/model-provider.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { assertAccessible, openPage, takePicture } from './pages.ts'
import { ROUTES, startUiGateway, type UiGateway } from './ui-gateway.ts'

// Strings that the browser evaluates: tests have no document.
const FOCUSED = `(document.activeElement?.getAttribute('aria-label') ??
  document.activeElement?.innerText)?.trim()`
const MAX_TABS = 120

describe('adding things in the Admin UI', { skip: WITHOUT_BROWSER || SKIPPED }, () => {
  let server: TestServer
  let gateway: UiGateway
  let browser: Browser
  let provider: ModelProvider
  let tools: Server

  before(async () => {
    server = await sharedServer()
    provider = await startModelProvider('openai')
    tools = createServer((request, response) => {
      if (!serveExampleMcp(request, response)) response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => tools.listen(0, '127.0.0.1', resolve))
    gateway = await startUiGateway({
      database: await server.database(),
      text: ROUTES,
      env: { PORTCULLIS_STORAGE_KEY: randomBytes(32).toString('hex') },
    })
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
    await provider?.close()
    tools?.close()
    tools?.closeAllConnections()
  })

  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })

  async function save(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText(/^Saved as revision \d+$/).waitFor()
  }

  /** Undoes what a test stored, where the page says that it was saved. */
  async function undo(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText(/^Saved as revision \d+$/).waitFor({ state: 'detached' })
  }

  async function callModel(token: string): Promise<number> {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'hello' }] }),
    })
    await response.text()
    return response.status
  }

  async function listTools(): Promise<string> {
    const response = await fetch(`${gateway.origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    return response.text()
  }

  const toolServer = () => `http://127.0.0.1:${(tools.address() as AddressInfo).port}/mcp`

  const stored = async (path: string): Promise<unknown> => {
    const response = await fetch(`${gateway.admin}/api/config/resources/${path}`)
    return ((await response.json()) as { readonly value: unknown }).value
  }

  it('adds a model with a key and a budget by clicks, and takes it back where it was saved', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}llm`)
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.postData() ?? ''))
    await page.getByRole('link', { name: 'Add a model', exact: true }).first().click()
    await field(page, 'models[0].name').fill('small')
    await field(page, 'models[0].params.apiKey').fill('sk-provider')
    await page.getByRole('combobox', { name: 'Add a field to models[0].params' }).click()
    await page.getByRole('option', { name: 'hostOverride' }).click()
    await field(page, 'models[0].params.hostOverride').fill(`127.0.0.1:${provider.port}`)
    await page.getByRole('button', { name: 'Add a key', exact: true }).click()
    await field(page, 'policies.apiKey.keys[0].metadata.owner').fill('alice')
    await page.getByRole('button', { name: /^Generate a key for/ }).click()
    const key = await page.locator('[data-new-key]').innerText()
    await page.getByRole('button', { name: 'Add a budget', exact: true }).click()
    await takePicture(page, 'add-model')
    await assertAccessible(page, 'the form of a model')
    await save(page)
    await takePicture(page, 'add-model-saved')
    await assertAccessible(page, 'the form of a model that was saved')
    await until('the model is served', async () => (await callModel(key)) === 200)
    assert.equal(await callModel('another'), 401)
    // The key itself is not sent; its hash is.
    assert.ok(!sent.some((body) => body.includes(key)))
    assert.ok(sent.some((body) => body.includes('sha256:')))
    // What is stored can be edited again: an expression called `key` is no secret.
    await field(page, 'policies.budgets[0].key').getByText('apiKey.owner').waitFor()
    await page.getByText('Stored; not shown.').waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.goBack()
    await field(page, 'models[0].name').waitFor()
    assert.equal(await page.locator('[data-new-key]').count(), 0, 'a key is shown once')
    await undo(page)
    await until('the model is gone', async () => (await callModel(key)) === 403)
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('adds an MCP server by clicks, and its tools are served', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}mcp`)
    await page.getByRole('link', { name: 'Add an MCP server', exact: true }).first().click()
    await field(page, 'targets[0].name').fill('notes')
    await field(page, 'targets[0].mcp.host').fill(toolServer())
    await takePicture(page, 'add-mcp')
    await save(page)
    await until('the tools are served', async () => /list_notes/.test(await listTools()))
    await undo(page)
    await until('the tools are gone', async () => !/list_notes/.test(await listTools()))
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('adds a model and an MCP server by keyboard alone', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}llm`)
    const { keyboard } = page
    const reach = async (label: string | RegExp) => {
      for (let i = 0; i < MAX_TABS; i++) {
        const focused = String(await page.evaluate(FOCUSED))
        if (typeof label === 'string' ? focused === label : label.test(focused)) return
        await keyboard.press('Tab')
      }
      assert.fail(`Tab does not come to ${label}`)
    }
    const press = async (label: string | RegExp) => {
      await reach(label)
      await keyboard.press('Enter')
    }
    const write = async (label: string, text: string) => {
      await page.locator(`[aria-label="${label}"]`).waitFor()
      await reach(label)
      await keyboard.type(text)
    }
    await press('Add a model')
    await write('models[0].name', 'small')
    await write('models[0].params.apiKey', 'sk-provider')
    await reach('Add a field to models[0].params')
    await keyboard.type('hostOv')
    await page.getByRole('option', { name: 'hostOverride' }).waitFor()
    await keyboard.press('Enter')
    await write('models[0].params.hostOverride', `127.0.0.1:${provider.port}`)
    await press('See the effect')
    await page.getByText('All replicas apply it at once.').waitFor()
    await press('Save')
    await page.getByText(/^Saved as revision \d+$/).waitFor()
    await until('the model is served', async () => (await callModel('any')) === 200)
    await page.goto(`${gateway.ui}mcp`)
    await page.getByRole('link', { name: 'Add an MCP server', exact: true }).first().waitFor()
    await press('Add an MCP server')
    await write('targets[0].name', 'notes')
    await write('targets[0].mcp.host', toolServer())
    await press('See the effect')
    await page.getByText('All replicas apply it at once.').waitFor()
    await press('Save')
    await page.getByText(/^Saved as revision \d+$/).waitFor()
    await until('the tools are served', async () => /list_notes/.test(await listTools()))
    await context.close()
  })

  it('adds a backend and a route that leads to it, each from its own page', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}backends`)
    await page.getByRole('link', { name: 'Add a backend', exact: true }).click()
    await page.getByText('Give it a name first').waitFor({ state: 'detached' })
    await field(page, 'name').fill('other')
    await field(page, 'host').fill(new URL(gateway.origin).host)
    await save(page)
    await page.getByRole('heading', { name: 'backends / other' }).waitFor()
    await page.goto(`${gateway.ui}policies`)
    await page.getByRole('link', { name: 'Add a route', exact: true }).click()
    await field(page, 'name').fill('further')
    await field(page, 'matches[0].path.pathPrefix').fill('/further')
    await field(page, 'backends[0].backend').fill('nowhere')
    // The gateway checks the whole configuration while its user types.
    const place = page.getByRole('list', { name: 'Messages' }).getByText(/nowhere/)
    assert.match(await place.innerText(), /^Line 6, backends\[0\]\.backend: /)
    assert.equal(await page.getByRole('button', { name: 'See the effect' }).isEnabled(), false)
    await field(page, 'backends[0].backend').fill('other')
    await place.waitFor({ state: 'detached' })
    await save(page)
    await page.getByRole('heading', { name: 'routes / further' }).waitFor()
    assert.deepEqual(await stored('routes/further'), {
      name: 'further',
      matches: [{ path: { pathPrefix: '/further' } }],
      backends: [{ backend: 'other' }],
    })
    // A row leads to its thing.
    await page.goto(`${gateway.ui}backends`)
    await page.getByRole('link', { name: 'other', exact: true }).click()
    await page.getByRole('heading', { name: 'backends / other' }).waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('shows the text beside the form: each follows the other, comments stay, mistakes are marked', async () => {
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}edit/routes/api`)
    const text = page.getByLabel('Text as YAML')
    await text.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('# The most important route.\n')
    await field(page, 'hostnames')
      .getByRole('button', { name: /Add to hostnames/ })
      .click()
    await field(page, 'hostnames[0]').fill('api.example.com')
    await text.getByText('api.example.com').waitFor()
    assert.match(await text.innerText(), /^# The most important route\.\nname: api\n/)
    await text.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('polices: 1')
    const message = page.getByText(/^Line 17, polices: unknown field `polices`/)
    await message.waitFor()
    await page.locator('.cm-lintRange-error', { hasText: 'polices' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'See the effect' }).isEnabled(), false)
    await takePicture(page, 'edit-unknown-field')
    await assertAccessible(page, 'a text with a mistake')
    for (const _ of 'polices: 1') await page.keyboard.press('Backspace')
    await message.waitFor({ state: 'detached' })
    await page.reload()
    await text.getByText('# The most important route.').waitFor()
    await page.getByRole('button', { name: 'Undo all changes' }).click()
    await page.getByText('Nothing changed yet.').waitFor()
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('names the line of the text where saving was rejected', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}edit/routes/further`)
    await field(page, 'matches[0].path.pathPrefix').fill('/changed')
    await page.getByRole('button', { name: 'See the effect' }).click()
    await page.getByText('All replicas apply it at once.').waitFor()
    // What is saved is rejected, although its preview was valid.
    await page.route('**/api/config/resources/routes/further*', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      const body = JSON.stringify({
        ...JSON.parse(route.request().postData() ?? '{}'),
        backends: [{ backend: 'deleted' }],
      })
      await route.continue({ postData: body })
    })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('line 6 of the text: backends[0].backend').waitFor()
    await context.close()
  })
})
