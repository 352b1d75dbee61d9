import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { freePort, until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from '../storage/gateways.ts'
import { SKIPPED, type TestServer } from '../storage/postgres.ts'
import { sharedServer } from '../storage/shared-server.ts'
import { FormBrowser } from './browser.ts'
import {
  type ConsentDeps,
  consent,
  INITIALIZE,
  OPENS_URLS,
  say,
  startConsentDeps,
  WHOAMI,
} from './user-tokens.ts'

/**
 * A token of two seconds is renewed after one: on a slow machine more renewals are due meanwhile.
 */
async function renewedOnce<T>(provided: ConsentDeps, requests: () => Promise<T>): Promise<T> {
  const seconds = () => Math.floor(Date.now() / 1_000)
  const [before, began] = [provided.upstream.refreshes(), seconds()]
  const found = await requests()
  const renewals = provided.upstream.refreshes() - before
  const due = 1 + seconds() - began
  assert.ok(renewals >= 1 && renewals <= due, `${renewals} renewals, ${due} were due`)
  return found
}

describe('tokens of users for servers', () => {
  let provided: ConsentDeps
  let gateway: StoredGateway
  let base: string
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-user-tokens-'))
  const file = join(folder, 'tokens')

  before(async () => {
    const port = await freePort()
    base = `http://127.0.0.1:${port}`
    provided = await startConsentDeps([base])
    gateway = await startGateway(undefined, {
      port,
      workers: 2,
      routes: provided.routes(base),
      config: { userTokens: { file } },
      environment: { SESSION_KEY: randomBytes(32).toString('hex') },
    })
  })
  after(async () => {
    await gateway?.remove()
    await provided?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The address that a client without elicitation gets. */
  async function linkFor(token: string): Promise<string> {
    const { status, challenge, body } = await say(base, token, 'initialize', INITIALIZE)
    assert.equal(status, 401)
    const [, link = ''] = /uri="([^"]+)"/.exec(challenge ?? '') ?? []
    assert.ok(body.error.message.endsWith(link), body.error.message)
    assert.equal(body.error.data.url, link)
    assert.equal(body.id, 7)
    return link
  }

  const whoami = async (token: string) => {
    const { status, body } = await say(base, token, 'tools/call', WHOAMI)
    return body?.result?.content?.[0]?.text ?? status
  }

  it("leads a user to consent, and sends the resulting token, never the user's own", async () => {
    const token = await provided.token('ann')
    const before = provided.server.seen.length
    const link = await linkFor(token)
    assert.ok(link.startsWith(`${base}/connect/tools/connect?ticket=`), link)
    assert.equal(provided.server.seen.length, before, 'no server is called before')
    const { status, text } = await consent(link, 'ann', 'ann-of-tools')
    assert.deepEqual([status, text], [200, 'You are connected. You can close this window.\n'])
    assert.equal((await say(base, token, 'initialize', INITIALIZE)).status, 200)
    // On any worker.
    const all = await Promise.all(Array.from({ length: 12 }, () => whoami(token)))
    assert.deepEqual(new Set(all), new Set(['ann-of-tools']))
    const plain = await fetch(`${base}/plain`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(await plain.text(), 'ann-of-tools')
    assert.ok(!provided.server.seen.some((one) => one.includes(token)))
  })

  it('never gives the token of one user to another', async () => {
    const bob = await provided.token('bob')
    const seen = provided.server.seen.length
    await linkFor(bob)
    assert.equal(await whoami(bob), 401)
    const plain = await fetch(`${base}/plain`, { headers: { authorization: `Bearer ${bob}` } })
    assert.equal(plain.status, 401)
    assert.match(plain.headers.get('www-authenticate') ?? '', /^Consent .*uri="http/)
    // A request without a user has no token.
    assert.equal((await fetch(`${base}/open`)).status, 403)
    assert.equal(provided.server.seen.length, seen)
  })

  it('rejects a link that belongs to another user', async () => {
    const token = await provided.token('mallory')
    const link = await linkFor(token)
    const { status, text } = await consent(link, 'victim', 'victim-of-tools')
    assert.deepEqual(
      [status, text],
      [403, 'This link belongs to another user. No account was connected.\n'],
    )
    assert.equal(await whoami(token), 401)
    assert.equal(await whoami(await provided.token('victim')), 401)
  })

  it('connects a user who opens the page without a link to their own account', async () => {
    const page = `${base}/connect/tools/connect`
    const foreign = await fetch(page, { headers: { 'sec-fetch-site': 'cross-site' } })
    assert.equal(foreign.status, 403)
    const { status } = await consent(page, 'sue', 'sue-of-tools')
    assert.equal(status, 200)
    assert.equal(await whoami(await provided.token('sue')), 'sue-of-tools')
    assert.equal(await whoami(await provided.token('bob')), 401)
  })

  it('rejects modified links, states and cookies', async () => {
    const token = await provided.token('tam')
    const link = await linkFor(token)
    const changed = link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    for (const url of [
      changed,
      `${base}/connect/tools/connect?ticket=`,
      link.replace(/ticket=.{20}/, 'ticket='),
    ]) {
      assert.equal((await new FormBrowser().fetch(url)).status, 400, url)
    }
    const browser = new FormBrowser()
    const begun = await browser.fetch(link)
    const back = await browser.signIn(begun.headers.get('location') ?? '', 'tam', '/signed-in')
    const state = new URL(back).searchParams.get('state') ?? ''
    const other = back.replace(state, `${state.slice(0, -1)}_`)
    assert.equal((await browser.fetch(other)).status, 400)
    // Another browser, which does not have the cookie of the flow.
    assert.equal((await new FormBrowser().fetch(back)).status, 400)
    // The page of the other step.
    const skipped = back.replace('/signed-in?', '/callback?')
    assert.equal((await browser.fetch(skipped)).status, 400)
    const jar = browser.cookies(base)
    for (const [name, value] of jar)
      jar.set(
        name,
        value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
      )
    assert.equal((await browser.fetch(back)).status, 400)
    assert.equal(await whoami(token), 401)
    assert.equal((await fetch(`${base}/connect/tools/connect`, { method: 'POST' })).status, 405)
  })

  it('renews a token once, though many requests of two workers need it', async () => {
    const token = await provided.token('ron')
    await consent(await linkFor(token), 'ron', 'moment-ron')
    assert.equal(await whoami(token), 'moment-ron')
    for (let round = 0; round < 2; round++) {
      await wait(2_200)
      const all = await renewedOnce(provided, () =>
        Promise.all(Array.from({ length: 20 }, () => whoami(token))),
      )
      assert.deepEqual(new Set(all), new Set(['moment-ron']))
    }
  })

  it('keeps tokens across a restart, in a file that reveals nothing', async () => {
    const token = await provided.token('ann')
    await gateway.restart()
    await until('it is ready', async () => (await gateway.ready()).startsWith('200'))
    assert.equal(await whoami(token), 'ann-of-tools')
    const text = readFileSync(file, 'utf8')
    const sent = provided.server.seen.at(-1)?.slice('Bearer '.length) ?? ''
    assert.ok(sent.length > 20 && !text.includes(sent))
    assert.ok(!/ann|tools/.test(text), text)
  })

  it('sends clients that open addresses the elicitation format of their revision', async () => {
    const token = await provided.token('eli')
    const begun = await say(base, token, 'initialize', OPENS_URLS)
    assert.equal(begun.status, 200)
    assert.equal(begun.body.error.code, -32042)
    const [elicitation] = begun.body.error.data.elicitations
    assert.deepEqual(Object.keys(elicitation).sort(), ['elicitationId', 'message', 'mode', 'url'])
    assert.equal(elicitation.mode, 'url')
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
    }
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'whoami',
    }
    const modern = await say(base, token, 'tools/call', { ...WHOAMI, _meta: meta }, headers)
    assert.equal(modern.body.result.resultType, 'input_required')
    const asked = modern.body.result.inputRequests['portcullis-consent']
    assert.equal(asked.method, 'elicitation/create')
    assert.deepEqual(Object.keys(asked.params).sort(), ['message', 'mode', 'url'])
    assert.equal((await consent(asked.params.url, 'eli', 'eli-of-tools')).status, 200)
    const inputResponses = { 'portcullis-consent': { action: 'accept' } }
    const again = { ...WHOAMI, inputResponses, _meta: meta }
    const done = await say(base, token, 'tools/call', again, headers)
    assert.equal(done.body.result.content[0].text, 'eli-of-tools')
  })

  it('deletes a token when its user disconnects, and leads the SDK to consent again', async () => {
    const token = await provided.token('eli')
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { url: {} } } },
    )
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit }))
    const { content } = await client.callTool(WHOAMI)
    assert.deepEqual(content, [{ type: 'text', text: 'eli-of-tools' }])
    const sent = provided.server.seen.at(-1) ?? ''
    const browser = new FormBrowser()
    const page = `${base}/connect/tools/disconnect`
    const foreign = await browser.fetch(page, { headers: { 'sec-fetch-site': 'cross-site' } })
    assert.equal(foreign.status, 403)
    const begun = await browser.fetch(page)
    const back = await browser.signIn(begun.headers.get('location') ?? '', 'eli', '/signed-in')
    const over = await browser.fetch(back)
    assert.equal(await over.text(), 'You are disconnected. You can close this window.\n')
    await assert.rejects(client.callTool(WHOAMI), (error: unknown) => {
      assert.ok(error instanceof UrlElicitationRequiredError)
      assert.ok(error.elicitations[0]?.url.startsWith(base))
      return true
    })
    // The authorization server has revoked the token, too: its userinfo endpoint rejects it.
    const revoked = await fetch(`${provided.upstream.issuer}/me`, {
      headers: { authorization: sent },
    })
    assert.equal(revoked.status, 401)
    await client.close()
  })

  it('requests consent again when the server ends a grant or rejects a token', async () => {
    const token = await provided.token('ann')
    assert.equal(await whoami(token), 'ann-of-tools')
    // Simulates another provider with the same name, which knows none of its tokens.
    await provided.upstream.rotateKeys()
    const { status, challenge } = await say(base, token, 'tools/call', WHOAMI)
    assert.equal(status, 401)
    assert.match(challenge ?? '', /^Consent /)
    const seen = provided.server.seen.length
    const link = await linkFor(token)
    assert.equal(provided.server.seen.length, seen, 'the token is not sent again')
    assert.equal((await consent(link, 'ann', 'ann-again')).status, 200)
    assert.equal(await whoami(token), 'ann-again')
    const ron = await provided.token('ron')
    await linkFor(ron)
  })
})

describe('tokens of users in a database', { skip: SKIPPED }, () => {
  let server: TestServer
  let provided: ConsentDeps
  let gateways: readonly StoredGateway[]
  let bases: readonly string[]

  before(async () => {
    server = await sharedServer()
    const database = await server.database()
    const ports = await Promise.all([freePort(), freePort()])
    bases = ports.map((port) => `http://127.0.0.1:${port}`)
    provided = await startConsentDeps(bases)
    const environment = { SESSION_KEY: randomBytes(32).toString('hex') }
    gateways = await Promise.all(
      ports.map((port, index) =>
        startGateway(undefined, {
          port,
          routes: provided.routes(bases[index] as string),
          config: { database: { url: database } },
          environment,
        }),
      ),
    )
  })
  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await provided?.close()
  })

  it('are shared by all replicas, and renewed by one of them', async () => {
    const token = await provided.token('una')
    const [first = '', second = ''] = bases
    const { challenge } = await say(first, token, 'initialize', INITIALIZE)
    const [, link = ''] = /uri="([^"]+)"/.exec(challenge ?? '') ?? []
    assert.equal((await consent(link, 'una', 'moment-una')).status, 200)
    const whoami = async (base: string) => {
      const { status, body } = await say(base, token, 'tools/call', WHOAMI)
      return body?.result?.content?.[0]?.text ?? status
    }
    assert.equal(await whoami(second), 'moment-una')
    for (let round = 0; round < 2; round++) {
      await wait(2_200)
      const all = await renewedOnce(provided, () =>
        Promise.all(Array.from({ length: 20 }, (_, n) => whoami(n % 2 === 0 ? first : second))),
      )
      assert.deepEqual(new Set(all), new Set(['moment-una']))
    }
  })
})
