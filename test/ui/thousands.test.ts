import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { manyRoutes } from './many-routes.ts'
import { openPage, PAGES, settled, takePicture } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

const ROUTES = 5_000
const MAX_NODES = 5_000

// Strings that the browser evaluates: tests have no document.
const NODES = "document.querySelectorAll('*').length"
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describe('the Admin UI of a gateway with thousands of routes', { skip: WITHOUT_BROWSER }, () => {
  let gateway: UiGateway
  let browser: Browser

  before(async () => {
    gateway = await startUiGateway({ text: manyRoutes(ROUTES) })
    browser = await sharedBrowser()
    await gateway.get(`/service/0/${'x'.repeat(300)}`)
  })

  after(async () => {
    await gateway?.stop()
  })

  it(`shows each page with fewer than ${MAX_NODES} elements, none wider than the window`, async () => {
    const { page, context } = await openPage(browser, gateway.ui)
    for (const path of PAGES) {
      await page.goto(`${gateway.ui}${path}`)
      await settled(page)
      await takePicture(page, `thousands-${path.replaceAll('/', '-') || 'overview'}`)
      const nodes = await page.evaluate(NODES)
      assert.ok(Number(nodes) < MAX_NODES, `${path}: ${nodes} elements`)
      assert.equal(await page.evaluate(OVERFLOW), 0, `${path} is wider than the window`)
    }
    await context.close()
  })

  it('pages through all of them, and finds each', async () => {
    const { page, context } = await openPage(browser, `${gateway.ui}map`)
    const pages = page.getByRole('navigation', { name: 'Pages of routes' })
    await pages.getByText('1 to 50 of 5,000 routes').waitFor()
    await pages.getByRole('button', { name: 'Next' }).click()
    await pages.getByText('51 to 100 of 5,000 routes').waitFor()
    await page.getByLabel('Search the map').fill('/service/4999')
    await page.getByRole('heading', { name: 'route-4999' }).waitFor()
    await page.goto(`${gateway.ui}backends`)
    await page.getByLabel('Search backends').fill('backend-4999')
    await page.getByRole('region', { name: 'Backend backend-4999' }).waitFor()
    await context.close()
  })
})
