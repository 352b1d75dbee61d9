// Generates the pictures of the Admin UI in README and docs: node test/ui/readme-pictures.ts
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../browser/launch.ts'
import { openPage, settled } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

const ROOT = join(import.meta.dirname, '../..')
const EXAMPLE = readFileSync(join(ROOT, 'examples/quickstart.yaml'), 'utf8')
const PICTURES = [
  { path: '', name: 'overview' },
  { path: 'map', name: 'map' },
  { path: 'decisions', name: 'decisions' },
] as const

const folder = join(ROOT, 'docs/images')
mkdirSync(folder, { recursive: true })
const gateway = await startUiGateway({ text: exampleOf(EXAMPLE) })
const browser = await launchBrowser({ trusted: [], names: [] })
try {
  await makeTraffic(gateway, 12)
  for (const { path, name } of PICTURES) await picture(browser, gateway, path, name)
} finally {
  await browser.close()
  await gateway.stop()
}

/** The example, with the backend of the test. */
function exampleOf(text: string): string {
  return text
    .slice(text.indexOf('gateways:'))
    .replaceAll('port: 4000', 'port: PORT')
    .replaceAll('127.0.0.1:4001', '127.0.0.1:BACKEND')
}

async function makeTraffic({ get }: UiGateway, rounds: number): Promise<void> {
  const eng = { 'x-team': 'eng' }
  for (let round = 0; round < rounds; round++) {
    await get('/public/hello')
    await get('/orders', eng)
    await get(`/orders/${round}`, eng)
    if (round % 2 === 0) await get('/orders')
    if (round % 5 === 0) await get('/admin', eng)
    if (round % 3 === 0) await get(`/orders/${round}`, { 'x-team': 'sales' })
    await sleep(150)
  }
}

async function picture(
  browser: Browser,
  gateway: UiGateway,
  path: string,
  name: string,
): Promise<void> {
  const { page, context } = await openPage(browser, `${gateway.ui}${path}`)
  // Charts draw the values that arrive while the page is open.
  for (const rounds of [4, 9, 6, 12, 8]) await makeTraffic(gateway, rounds)
  await settled(page)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await context.close()
}
