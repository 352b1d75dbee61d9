import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { WITHOUT_BROWSER } from '../browser/launch.ts'
import { sharedBrowser } from '../browser/shared-browser.ts'
import { openPage, PAGES, settled } from './pages.ts'
import { startUiGateway, type UiGateway } from './ui-gateway.ts'

/** A page that runs any of these scripts reports it. */
const SCRIPT = `'"><img src=x onerror=alert(1)></script><script>alert(2)</script>`
const LINK = 'javascript:alert(3)'

/** API strings that select how a page renders; all others may come from anyone. */
const FIXED = new Set([
  ...['action', 'cause', 'etag', 'id', 'kind', 'mode', 'outcome', 'protection', 'severity'],
  ...['role', 'stage', 'state', 'time', 'verdict'],
])

/** Keys of counts that the API itself defines. */
const NUMBERS = new Set(['total', 'active'])

/** Adds a script to every string in an API response, at any depth, and to the names of counts. */
function poison(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return FIXED.has(key) ? value : `${value}${SCRIPT}`
  if (Array.isArray(value)) return value.map((item) => poison(item, key))
  if (typeof value !== 'object' || value === null) return value
  const isCount = key.startsWith('by') || ['requests', 'tokens', 'cost'].includes(key)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      isCount && typeof member === 'number' && !NUMBERS.has(name) ? `${name}${SCRIPT}` : name,
      poison(member, name),
    ]),
  )
}

const PROVIDER = { name: 'p', provider: LINK, group: 0, address: LINK }
const ENTRY = { revision: 1, kind: 'routes', id: 'api', action: 'set', author: LINK, state: 'set' }

/** Resources that this gateway does not have. */
const MADE: Readonly<Record<string, unknown>> = {
  '/api/llm/catalogue': {
    backends: [
      {
        backend: 'example',
        models: [{ name: 'm', provider: 'p' }],
        virtualModels: [{ name: 'v', routing: 'r' }],
        providers: [PROVIDER],
      },
    ],
  },
  '/api/llm/keys': {
    keys: [
      {
        policy: LINK,
        metadata: { owner: LINK },
        expires: null,
        isExpired: false,
        allowedModels: [LINK],
      },
    ],
    budgets: [
      {
        ...{ policy: LINK, measure: LINK, amount: 1, per: LINK, key: LINK, models: [LINK] },
        use: { callers: 1, used: 1, maxUsed: 1, ends: LINK },
      },
    ],
  },
  '/api/llm/usage': {
    from: 'memory',
    since: '2026-11-16T00:00:00.000Z',
    step: 60,
    points: [
      {
        ...{ time: '2026-11-16T00:00:00.000Z', provider: LINK, model: LINK, requests: 1 },
        ...{ inputTokens: 1, outputTokens: 1, cost: 1 },
      },
    ],
  },
  '/api/mcp/servers': {
    backends: [{ backend: 'example', servers: [{ name: 's', transport: LINK }] }],
  },
  '/api/config/history': {
    entries: [
      { ...ENTRY, comment: LINK, time: '2026-01-01T00:00:00Z', before: {}, after: { a: LINK } },
    ],
  },
  '/api/playground': {
    status: 200,
    headers: {},
    body: JSON.stringify({ choices: [{ message: { content: SCRIPT } }] }),
    isCut: false,
    milliseconds: 1,
  },
}

const TOOL = {
  name: `tool${SCRIPT}`,
  title: SCRIPT,
  description: `${SCRIPT} <a href="${LINK}">x</a>`,
  inputSchema: { properties: { [SCRIPT]: { description: SCRIPT } } },
}

/** Responses of an MCP server to each method, all of them hostile. */
const RESULTS: Readonly<Record<string, unknown>> = {
  initialize: { protocolVersion: '2025-06-18', serverInfo: { name: SCRIPT }, instructions: SCRIPT },
  'tools/list': { tools: [TOOL] },
  'tools/call': { content: [{ type: 'text', text: `result${SCRIPT}` }] },
}

function playedAs(request: string): unknown {
  const { method = '' } = JSON.parse(JSON.parse(request).body || '{}')
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: RESULTS[method] ?? {} })
  const headers = { 'content-type': 'application/json', 'mcp-session-id': SCRIPT }
  return { status: 200, headers, body, isCut: false, milliseconds: 1 }
}

describe('hostile text', { skip: WITHOUT_BROWSER }, () => {
  let gateway: UiGateway
  let browser: Browser

  before(async () => {
    gateway = await startUiGateway()
    browser = await sharedBrowser()
  })

  after(async () => {
    await gateway?.stop()
  })

  /** Raw bytes of a client: paths and headers that fetch would encode. */
  const send = (path: string, headers: Readonly<Record<string, string>>) =>
    new Promise<void>((resolve, reject) => {
      const { port } = new URL(gateway.origin)
      const sent = httpRequest({ host: '127.0.0.1', port, path, headers }, (reply) => {
        reply.resume()
        reply.on('end', resolve)
      })
      sent.on('error', reject)
      sent.end()
    })

  const assertHarmless = async (page: Page, where: string) => {
    const count = await page.locator('img, iframe, a[href^="javascript" i]').count()
    assert.equal(count, 0, where)
  }

  it('in every field that the API has is shown as text on every page', async () => {
    await gateway.get('/orders')
    const { page, context, wrong } = await openPage(browser, gateway.ui)
    await context.route('**/api/**', async (route) => {
      const pathname = new URL(route.request().url()).pathname.replace(/^\/ui(?=\/api\/)/, '')
      if (pathname.endsWith('/tail')) return route.fulfill({ contentType: 'text/event-stream' })
      const made = MADE[pathname]
      if (made !== undefined) {
        const sent = route.request().postData() ?? ''
        if (pathname !== '/api/playground') return route.fulfill({ json: poison(made) })
        return route.fulfill({ json: sent.includes('jsonrpc') ? playedAs(sent) : made })
      }
      const response = await route.fetch()
      if (!/json/.test(response.headers()['content-type'] ?? '')) return route.fulfill({ response })
      return route.fulfill({ response, json: poison(await response.json()) })
    })
    for (const path of PAGES) {
      await page.goto(`${gateway.ui}${path}`)
      await settled(page)
      const text = await page.locator('main').innerText()
      // Ensures that the test is not vacuous: the page shows some of it, unless it is empty.
      if (!/^(sandbox$|new\/|edit\/(llm|mcp)\/)/.test(path))
        assert.match(text, /onerror=alert|javascript:alert/, path)
      await assertHarmless(page, path)
    }
    await page.goto(`${gateway.ui}llm`)
    await page.getByRole('textbox', { name: 'Prompt' }).first().fill('x')
    await page.getByRole('button', { name: 'Send' }).first().click()
    await page.locator('pre', { hasText: 'onerror=alert(1)' }).waitFor()
    await assertHarmless(page, 'the response of a model')
    await page.goto(`${gateway.ui}mcp`)
    await settled(page)
    await page.getByRole('button', { name: 'List the tools' }).first().click()
    await page.getByRole('button', { name: 'Call tool' }).first().click()
    await page.locator('pre', { hasText: 'result' }).waitFor()
    await assertHarmless(page, 'tools of an MCP server')
    await context.close()
    assert.deepEqual(wrong, [])
  })

  it('from a client and in an address has no effect', async () => {
    for (const path of [`/x?${encodeURI(SCRIPT)}`, `/${encodeURI(SCRIPT)}`, '/"onload=alert(4)']) {
      await send(path, { 'x-team': SCRIPT, 'user-agent': SCRIPT, host: 'a.example' })
    }
    const { page, context, wrong } = await openPage(browser, `${gateway.ui}decisions`)
    await page.locator('a', { hasText: 'onload=alert(4)' }).first().click()
    await page.getByRole('button', { name: 'Create a test from this decision' }).click()
    await assertHarmless(page, 'a decision')
    for (const path of [
      `policies/routes/${encodeURIComponent(SCRIPT)}`,
      `decisions/${encodeURIComponent(SCRIPT)}`,
      `decisions?policy=${encodeURIComponent(SCRIPT)}`,
      `sandbox?request=${encodeURIComponent(`GET /${SCRIPT}`)}`,
      encodeURIComponent(LINK),
    ]) {
      await page.goto(`${gateway.ui}${path}`)
      await settled(page)
      await assertHarmless(page, path)
    }
    await context.close()
    assert.deepEqual(wrong, [])
  })
})
