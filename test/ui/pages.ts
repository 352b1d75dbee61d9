import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'

/** Generous: the machine may be busy with something else. */
export const TIMEOUT_MS = 240_000

/** Every page, by its path below `/ui/`. */
export const PAGES = [
  '',
  'map',
  'decisions',
  'policies',
  'policies/routes/api',
  'edit/routes/api',
  'edit/llm/default',
  'edit/mcp/default',
  'new/routes',
  'new/gateways',
  'new/policies',
  'suggest',
  'sandbox',
  'backends',
  'llm',
  'mcp',
  'keys',
  'clients',
  'history',
  'config',
  'settings',
] as const

export interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the page, and requests to other hosts than the gateway. */
  readonly wrong: string[]
}

export interface OpenOptions {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
}

/** Opens a page in its own browser context, which records every unexpected event. */
export async function openPage(
  browser: Browser,
  address: string,
  { scheme = 'light', width = 1280 }: OpenOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: { width, height: 800 },
    locale: 'en-US',
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  const wrong: string[] = []
  const { origin } = new URL(address)
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // A status that the page itself shows is not an error of the page.
    const isStatus = /the server responded with a status of/.test(message.text())
    if (message.type() === 'error' && !isStatus) wrong.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin !== origin && url.protocol !== 'data:') wrong.push(`left: ${request.url()}`)
  })
  await page.goto(address)
  await settled(page)
  return { page, context, wrong }
}

/** Screenshots for review; not part of the repository. */
const PICTURES = join(import.meta.dirname, '../../.cache/ui-pictures')

export async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}

/** Waits until the page has its heading and has finished loading. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('h1')
  await eventually(page, 'everything was read', READ)
}

// A string that the browser evaluates: tests have no document.
const READ = "!/ …$/m.test(document.querySelector('main')?.innerText ?? ' …')"

/** Waits until an expression is true in the page. */
export async function eventually(page: Page, what: string, expression: string): Promise<void> {
  const end = Date.now() + TIMEOUT_MS
  while (Date.now() < end) {
    if ((await page.evaluate(expression)) === true) return
    await wait(100)
  }
  assert.fail(`waited in vain until ${what}`)
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
  }[]
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Fails with the violations that axe-core finds. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  // Bypasses the page's Content-Security-Policy, which blocks other scripts, without changing the
  // page.
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: AXE })
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}\n${html}\n${failureSummary}`),
  )
  assert.deepEqual(found, [], what)
}
