import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/* Lists that several servers return in pages, each in its own way. */

interface PagedServer {
  readonly port: number
  /** What it offers, page by page; set for each run. */
  pages: readonly (readonly string[])[]
  /** The format of its cursors. */
  cursorOf: (page: number) => string
  readonly cursors: (string | undefined)[]
  readonly http: Server
}

async function startPagedServer(): Promise<PagedServer> {
  const http = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { id, method, params } = JSON.parse(Buffer.concat(pieces).toString() || '{}') as {
      readonly id?: unknown
      readonly method?: string
      readonly params?: { readonly cursor?: string; readonly protocolVersion?: string }
    }
    if (id === undefined) {
      response.writeHead(request.method === 'POST' ? 202 : 405).end()
      return
    }
    const say = (result: object) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
    }
    if (method === 'initialize') {
      const { protocolVersion } = params ?? {}
      const capabilities = { tools: {} }
      say({ result: { protocolVersion, capabilities, serverInfo: { name: 'p', version: '1' } } })
      return
    }
    const { cursor } = params ?? {}
    server.cursors.push(cursor)
    const { pages, cursorOf } = server
    const at = cursor === undefined ? 0 : pages.findIndex((_, page) => cursorOf(page) === cursor)
    if (at < 0) {
      say({ error: { code: -32602, message: 'No such cursor' } })
      return
    }
    const tools = (pages[at] ?? []).map((name) => ({ name, inputSchema: { type: 'object' } }))
    const next = at + 1 < pages.length ? { nextCursor: cursorOf(at + 1) } : {}
    say({ result: { tools, ...next } })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server: PagedServer = { port, pages: [], cursorOf: String, cursors: [], http }
  return server
}

const CURSORS: readonly ((page: number) => string)[] = [
  String,
  (page) => `${'x'.repeat(200)}${page}`,
  (page) => `{"page":${page},"next":"a,b:c"}`,
  (page) => `\u{1f40d}/${page}?=&"\\`,
  (page) => (page === 1 ? '' : `p${page}`),
]

describe('pages of several servers', async () => {
  const servers = await Promise.all([0, 1, 2].map(startPagedServer))
  const port = await freePort()
  const targets = servers.map((one, at) => ({
    name: `s${at}`,
    mcp: { host: `http://127.0.0.1:${one.port}/mcp` },
  }))
  const rules = [{ deny: "mcp.tool.name.startsWith('hidden')" }]
  const gateway: Deciding = await startDeciding(
    JSON.stringify({
      gateways: { default: { port } },
      mcp: { targets, policies: { mcpAuthorization: { rules } } },
    }),
  )
  after(async () => {
    await gateway.stop()
    for (const { http } of servers) {
      http.closeAllConnections()
      http.close()
    }
  })

  async function list(cursor?: string) {
    const params = cursor === undefined ? {} : { cursor }
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
    })
    return (await response.json()) as {
      readonly result?: {
        readonly tools: { readonly name: string }[]
        readonly nextCursor?: string
      }
      readonly error?: { readonly code: number }
    }
  }

  /** Reads pages as a client does: until there is no cursor. */
  async function all(): Promise<readonly string[]> {
    const found: string[] = []
    let cursor: string | undefined
    for (let page = 0; page < 50; page++) {
      const { result, error } = await list(cursor)
      assert.equal(error, undefined)
      found.push(...(result?.tools ?? []).map(({ name }) => name))
      cursor = result?.nextCursor
      if (cursor === undefined) return found
    }
    return assert.fail('the pages have no end')
  }

  it('form one complete list, regardless of their cursors', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'hidden', 'd_e')
    const page = fc.uniqueArray(name, { maxLength: 4 })
    const plan = fc.tuple(
      fc.array(page, { minLength: 1, maxLength: 5 }),
      fc.nat(CURSORS.length - 1),
    )
    await fc.assert(
      fc.asyncProperty(fc.tuple(plan, plan, plan), async (plans) => {
        for (const [at, [pages, cursor]] of plans.entries()) {
          const server = servers[at] as PagedServer
          // A server lists each name once.
          server.pages = pages.map((own, page) => own.map((word) => `${word}${page}`))
          server.cursorOf = CURSORS[cursor] as (page: number) => string
        }
        const wanted = servers.flatMap(({ pages }, at) =>
          pages.flat().flatMap((word) => (word.startsWith('hidden') ? [] : [`s${at}_${word}`])),
        )
        assert.deepEqual([...(await all())].sort(), wanted.sort())
      }),
      { numRuns: 60 },
    )
  })

  it('cannot be requested with cursors that the gateway did not issue', async () => {
    const [first] = servers as [PagedServer]
    first.pages = [['a'], ['b'], ['c']]
    first.cursorOf = String
    const { nextCursor = '' } = (await list()).result ?? {}
    assert.notEqual(nextCursor, '')
    for (const { cursors } of servers) cursors.length = 0
    const noServer = Buffer.from('[[-1,"1"]]').toString('base64url')
    const others = ['1', '{"0":"1"}', `${nextCursor.slice(0, -2)}AA`, 'x'.repeat(9_000)]
    for (const forged of [noServer, ...others]) {
      assert.equal((await list(forged)).error?.code, -32602, forged.slice(0, 60))
    }
    assert.deepEqual(
      servers.flatMap(({ cursors }) => cursors),
      [],
      'no server was asked',
    )
  })
})
