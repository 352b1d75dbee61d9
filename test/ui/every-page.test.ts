import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { type FullGateway, startFullGateway } from './full-gateway.ts'
import { assertAccessible, openPage, PAGES, settled, takePicture } from './pages.ts'
import { startUiGateway } from './ui-gateway.ts'

const FIRST_PAGE_BYTES = 300_000

// A string that the browser evaluates: tests have no document.
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
const FOCUSED = `(document.activeElement?.getAttribute('aria-label') ??
  document.activeElement?.innerText)?.trim()`

describe('every page of the Admin UI', { skip: WITHOUT_BROWSER }, () => {
  let server: TestServer | undefined
  let gateway: FullGateway
  let browser: Browser
  /** Includes the page of a decision. */
  let pages: readonly string[] = PAGES

  before(async () => {
    if (SKIPPED === false) server = await sharedServer()
    const database = await server?.database()
    gateway = await startFullGateway(database === undefined ? {} : { database })
    browser = await sharedBrowser()
    await gateway.get('/orders')
    await gateway.get('/admin')
    await gateway.get('/orders', { 'x-team': 'eng' })
    assert.equal(await gateway.callModel('small'), 200)
    if (database !== undefined) await storeEdit(gateway)
    const reply = await fetch(`${gateway.admin}/api/decisions?verdict=denied&limit=1`)
    const { decisions } = (await reply.json()) as { decisions: readonly { id: string }[] }
    pages = [...PAGES, `decisions/${decisions[0]?.id ?? assert.fail('no decision is recorded')}`]
  })

  after(async () => {
    await gateway?.stop()
  })

  /** Returns the name of its screenshot. */
  const nameOf = (path: string) =>
    path.startsWith('decisions/') ? 'decision' : path.replaceAll('/', '-') || 'overview'

  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 400],
  ] as const) {
    it(`is accessible in ${scheme} colours and fits ${width} pixels`, async () => {
      const { page, context, wrong } = await openPage(browser, gateway.ui, { scheme, width })
      for (const path of pages) {
        await page.goto(`${gateway.ui}${path}`)
        await settled(page)
        await takePicture(page, `${nameOf(path)}-${scheme}-${width}`)
        await assertAccessible(page, path)
        const overflow = await page.evaluate(OVERFLOW)
        assert.equal(overflow, 0, `${path} is wider than the window`)
      }
      await context.close()
      assert.deepEqual(wrong, [])
    })
  }

  it('is accessible in the other color scheme, too', async () => {
    for (const [scheme, width] of [
      ['dark', 1280],
      ['light', 400],
    ] as const) {
      const { page, context } = await openPage(browser, gateway.ui, { scheme, width })
      for (const path of pages) {
        await page.goto(`${gateway.ui}${path}`)
        await settled(page)
        await takePicture(page, `${nameOf(path)}-${scheme}-${width}`)
        await assertAccessible(page, path)
      }
      await context.close()
    }
  })

  it('explains what to do when it is empty, and is accessible then, too', async () => {
    const empty = await startUiGateway({ text: 'gateways: { default: { port: PORT } }\n' })
    try {
      const { page, context, wrong } = await openPage(browser, empty.ui, { width: 400 })
      for (const [path, words] of [
        ['decisions', /No decisions|No matching decisions/],
        ['suggest', /recorded/],
        ['sandbox', /Evaluate a request to see each condition/],
        ['llm', /Add a model and its provider/],
        ['mcp', /Add an MCP server\. The gateway then serves/],
        ['history', /The history of a file is in its repository/],
      ] as const) {
        await page.goto(`${empty.ui}${path}`)
        await settled(page)
        assert.match(await page.locator('main').innerText(), words, path)
        await takePicture(page, `${path}-empty-400`)
        await assertAccessible(page, path)
      }
      await context.close()
      assert.deepEqual(wrong, [])
    } finally {
      await empty.stop()
    }
  })

  it(`has a first page of less than ${FIRST_PAGE_BYTES} bytes, as it is sent`, async () => {
    const { page, context } = await openPage(browser, gateway.ui)
    const sizes = await page.evaluate(() =>
      performance
        .getEntries()
        .map((entry) => entry.toJSON() as { name: string; encodedBodySize?: number })
        .filter(
          ({ name, encodedBodySize }) => encodedBodySize !== undefined && !/\/api\//.test(name),
        )
        .map(({ encodedBodySize = 0 }) => encodedBodySize),
    )
    const sum = sizes.reduce((all, size) => all + size, 0)
    assert.ok(sizes.length > 3, String(sizes))
    assert.ok(sum > 50_000 && sum < FIRST_PAGE_BYTES, `${sum} bytes`)
    await context.close()
  })

  it('is operated by keyboard alone', async () => {
    const { page, context } = await openPage(browser, gateway.ui)
    const reach = async (label: string) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab')
        if ((await page.evaluate(FOCUSED)) === label) return
      }
      assert.fail(`Tab does not come to ${label}`)
    }
    await page.evaluate('document.activeElement?.blur()')
    await reach('Policies')
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1:text("Policies")')
    assert.equal(await page.title(), 'Policies · Portcullis')
    assert.equal(await page.evaluate('document.activeElement?.tagName'), 'H1')
    await settled(page)
    await reach('routes / api')
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1:text("routes / api")')
    await settled(page)
    await reach('Condition of rule 1')
    await page.keyboard.type('!')
    // Leaves the editor: it does not trap Tab.
    await reach('Remove rule 1')
    await context.close()
  })
})

/** Stores an edit, which creates a history. */
async function storeEdit({ admin }: FullGateway): Promise<void> {
  const path = `${admin}/api/config/resources/routes/public`
  const reply = await fetch(path)
  const { value } = (await reply.json()) as { readonly value: object }
  const headers = {
    'content-type': 'application/json',
    'if-match': String(reply.headers.get('etag')),
  }
  const body = JSON.stringify({ ...value, hostnames: ['localhost', '127.0.0.1'] })
  const stored = await fetch(`${path}?comment=names`, { method: 'PUT', headers, body })
  assert.equal(stored.status, 200, await stored.text())
}
