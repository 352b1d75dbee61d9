import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, WITHOUT_BROWSER } from '../browser/launch.ts'
import { listenOn } from '../proxy/governed.ts'

const ROOT = join(import.meta.dirname, '../..')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
}
const LONG = { timeout: 60_000 }
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
/** Screenshots for review. */
const PICTURES = join(ROOT, '.cache/site-pictures')

describe('the documentation site', { skip: WITHOUT_BROWSER }, () => {
  const home = mkdtempSync(join(tmpdir(), 'site-'))
  const folder = join(home, 'site')
  let server: Server | undefined
  let browser: Browser | undefined
  let address = ''

  before(async () => {
    const program = join(ROOT, 'tools/site/build.ts')
    // Unpacked from the archive of a release.
    const archive = join(home, 'site.tgz')
    const built = spawnSync(process.execPath, [program, archive], { encoding: 'utf8' })
    assert.equal(built.status, 0, built.stdout + built.stderr)
    assert.equal(spawnSync('tar', ['-xzf', archive, '-C', home]).status, 0)
    server = createServer(({ url = '/' }, response) => {
      const path = join(folder, decodeURIComponent(url.split('?', 1)[0] as string))
      const file = path.endsWith('/') ? `${path}index.html` : path
      const isThere = statSync(file, { throwIfNoEntry: false })?.isFile() === true
      response.writeHead(isThere ? 200 : 404, { 'content-type': TYPES[extname(file)] ?? '' })
      response.end(isThere ? readFileSync(file) : 'not here')
    })
    address = `http://127.0.0.1:${await listenOn(server)}`
    browser = await launchBrowser({ trusted: [], names: [] })
  })
  after(async () => {
    await browser?.close()
    server?.close()
    server?.closeAllConnections()
    rmSync(home, { recursive: true, force: true })
  })

  /** Opens a page of the site, and records its requests to other origins and its errors. */
  async function opened(path: string, colorScheme: 'light' | 'dark' = 'light', viewport = DESKTOP) {
    assert.ok(browser)
    const page = await browser.newPage({ colorScheme, viewport })
    const strangers: string[] = []
    const errors: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(address)) strangers.push(request.url())
    })
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('response', (response) => {
      if (response.status() >= 400) errors.push(`${response.status()} ${response.url()}`)
    })
    await page.goto(address + path, { waitUntil: 'networkidle', ...LONG })
    return { page, strangers, errors }
  }

  async function closed({ page, strangers, errors }: Awaited<ReturnType<typeof opened>>) {
    await page.close()
    assert.deepEqual([strangers, errors], [[], []])
  }

  it('has the licenses of the code in it', () => {
    const notices = readFileSync(join(folder, 'NOTICES.md'), 'utf8')
    for (const name of ['vue', 'minisearch', '@codemirror/view', 'zod']) {
      assert.match(notices, new RegExp(`^## ${name} [\\d.]+ \\(MIT\\)`, 'm'))
    }
  })

  it('has a page for each file of docs/', () => {
    const pages = globSync('docs/**/*.md', { cwd: ROOT })
    const missing = pages
      .map((page) => page.replace(/^docs\//, '').replace(/README\.md$/, 'index.md'))
      .filter(
        (page) =>
          !statSync(join(folder, page.replace(/\.md$/, '.html')), { throwIfNoEntry: false }),
      )
    assert.ok(pages.length > 150)
    assert.deepEqual(missing, [])
  })

  for (const [path, heading] of [
    ['/', 'Documentation'],
    ['/getting-started/', 'Getting started'],
    ['/cookbook/cors.html', 'Allow web pages of other origins'],
    ['/reference/configuration.html', 'Configuration'],
    ['/reference/admin-api.html', 'Admin API'],
    ['/errors/PC0107.html', 'PC0107'],
  ] as const) {
    it(`${path} is a page, and nothing leaves it`, async () => {
      const own = await opened(path)
      const text = (await own.page.locator('main h1').first().textContent()) ?? ''
      assert.ok(text.toLowerCase().includes(heading.toLowerCase()), text)
      await closed(own)
    })
  }

  for (const path of [
    '/',
    '/cookbook/tls-and-sni.html',
    '/reference/configuration.html',
    '/errors/PC0107.html',
    '/playground.html',
  ]) {
    it(`${path} fits a desk and a phone, in light and dark; a picture of each is kept`, async () => {
      mkdirSync(PICTURES, { recursive: true })
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const viewport of [DESKTOP, PHONE]) {
          const own = await opened(path, colorScheme, viewport)
          const { page } = own
          const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
          assert.equal(await page.evaluate(wide), 0, `${viewport.width}: wider than the window`)
          const isDark = await page.evaluate("document.documentElement.classList.contains('dark')")
          assert.equal(isDark, colorScheme === 'dark')
          const name = `${path.replaceAll(/\W+/g, '-')}${colorScheme}-${viewport.width}.png`
          await page.screenshot({ path: join(PICTURES, name) })
          await closed(own)
        }
      }
    })
  }

  it('is dark if the browser prefers that', async () => {
    const background = async (page: Page) =>
      page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>
    const light = await opened('/', 'light')
    const dark = await opened('/', 'dark')
    assert.notEqual(await background(light.page), await background(dark.page))
    await closed(light)
    await closed(dark)
  })

  it('finds a page by its words, without a server', async () => {
    const own = await opened('/')
    await own.page.locator('button.DocSearch, .VPNavBarSearch button').first().click(LONG)
    await own.page.locator('.VPLocalSearchBox input').fill('proxyProtocol')
    const first = own.page.locator('.VPLocalSearchBox .result').first()
    await first.waitFor(LONG)
    await first.click()
    await own.page.waitForURL(/proxyprotocol|configuration/i, LONG)
    await closed(own)
  })

  it('evaluates expressions and rules in the page itself', async () => {
    const own = await opened('/playground.html')
    const { page } = own
    const cel = page.locator('#cel-playground')
    const result = cel.locator('output')
    await result.waitFor(LONG)
    assert.equal(await result.textContent(), 'true')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    const expression = cel.locator('[aria-label="Expression"]')
    await expression.fill("request.method == 'POST'")
    await page.waitForFunction(
      "document.querySelector('#cel-playground output').textContent === 'false'",
      undefined,
      LONG,
    )
    const sandbox = page.locator('#policy-sandbox')
    assert.match((await sandbox.locator('output').textContent()) ?? '', /^Allowed/)
    await sandbox.locator('[aria-label="Request"]').fill('method: DELETE\npath: /admin/x')
    await page.waitForFunction(
      "document.querySelector('#policy-sandbox output').textContent.startsWith('Denied: Deny')",
      undefined,
      LONG,
    )
    await closed(own)
  })
})
