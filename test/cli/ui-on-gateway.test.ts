import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { FormBrowser } from '../oidc/browser.ts'
import { CLIENT, startProvider } from '../oidc/provider.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { freePort, type Running, startWith, status, until } from './running.ts'

const TOKEN = 'a-token-of-some-length'

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
}

type Headers = Readonly<Record<string, string>>

function ask(url: string, headers: Headers = {}, method = 'GET', body?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { host = '' } = headers
    const secure = { rejectUnauthorized: false, servername: host.replace(/:\d+$/, '') }
    const options = { method, headers, agent: false, ...(url.startsWith('https') ? secure : {}) }
    const make = url.startsWith('https') ? httpsRequest : httpRequest
    const sent = make(url, options, async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('the Admin UI on the port of a gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ui-'))
  const running: Running[] = []
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
  })
  after(() => rmSync(folder, { recursive: true }))

  /** Its own temporary folder shows where the socket is. */
  async function start(name: string, text: string, environment: Headers = {}) {
    const ready = await freePort()
    const file = join(folder, `${name}.yaml`)
    const sockets = mkdtempSync(join(folder, 's'))
    const set = `statsAddr: "off", readinessAddr: "127.0.0.1:${ready}"`
    writeFileSync(file, text.replace('config: {', `config: {${set}, `))
    const gateway = startWith({ TMPDIR: sockets, ...environment }, ['run', '-f', file])
    running.push(gateway)
    const served = until('readiness', async () => {
      return gateway.child.exitCode !== null || (await status(ready, '/healthz/ready')) === 200
    })
    return { gateway, file, sockets, served }
  }

  for (const workers of [1, 2]) {
    it(`is below /ui/, requires the token, and rejects other origins and names (${workers} workers)`, {
      skip: WITHOUT_OPENSSL,
    }, async () => {
      const [port, plain] = await Promise.all([freePort(), freePort()])
      const { cert, key } = makeAuthority('ui').issue({ names: ['DNS:admin.test'] })
      const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
      const text = `config: {workers: ${workers}, adminAddr: "off"}
gateways:
  default:
    port: ${port}
    listeners:
    - { name: admin, hostname: admin.test, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
  plain: { port: ${plain} }
routes:
- { name: all, gateways: [default, plain], policies: { directResponse: { status: 299 } } }
- { name: below, gateways: plain, matches: [{ path: { pathPrefix: /ui/own } }], policies: { directResponse: { status: 298 } } }
ui: { gateways: [default/admin, plain] }
`
      const environment = { PORTCULLIS_ADMIN_TOKEN: TOKEN }
      const { gateway, sockets, served } = await start(`whole-${workers}`, text, environment)
      await served
      const base = `https://127.0.0.1:${port}`
      const host = `admin.test:${port}`
      const authorization = `Bearer ${TOKEN}`

      const page = await ask(`${base}/ui/`, { host })
      assert.equal(page.status, 200)
      assert.match(page.text, /^<!doctype html>/i)
      assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
      const [, script = ''] = /src="(\/ui\/assets\/[^"]+\.js)"/.exec(page.text) ?? []
      assert.equal((await ask(`${base}${script}`, { host })).status, 200)
      const moved = await ask(`${base}/ui`, { host })
      assert.deepEqual([moved.status, moved.headers['location']], [302, '/ui/'])

      const session = (headers: Headers) => ask(`${base}/ui/api/session`, { host, ...headers })
      assert.equal((await session({})).status, 401)
      assert.equal((await session({ authorization: `Bearer ${TOKEN}x` })).status, 401)
      const known = await session({ authorization })
      assert.equal(known.status, 200)
      assert.equal((JSON.parse(known.text) as { readonly role: string }).role, 'admin')
      const same = { origin: `https://${host}`, 'sec-fetch-site': 'same-origin' }
      assert.equal((await session({ authorization, ...same })).status, 200)
      for (const foreign of [
        { origin: 'https://evil.test' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ]) {
        assert.equal((await session({ authorization, ...foreign })).status, 403)
      }
      const level = JSON.stringify({ level: 'warn' })
      const json = { host, 'content-type': 'application/json' }
      const put = (headers: Headers) =>
        ask(`${base}/ui/api/logging`, { ...json, ...headers }, 'PUT', level)
      assert.equal((await put({})).status, 401)
      assert.equal((await put({ authorization })).status, 200)

      // Names that no listener of the UI has: a page of another site may resolve to this address.
      const other = `http://127.0.0.1:${plain}`
      const named = (name: string) => ask(`${other}/ui/api/session`, { host: name, authorization })
      assert.equal((await named('evil.test')).status, 421)
      assert.equal((await named(`127.0.0.1:${plain}`)).status, 200)
      assert.equal((await named('localhost')).status, 200)

      // Nothing else of the admin port is here, and routes have their usual precedence.
      for (const [path, expected] of [
        ['/api/session', 299],
        ['/config_dump', 299],
        ['/ui/../api/session', 299],
        ['/ui/%2e%2e/config_dump', 299],
        ['/uix', 299],
        ['/ui/own/x', 298],
        ['/ui/config_dump', 200],
      ] as const) {
        const found = await ask(`${other}${path}`, { host: 'localhost', authorization })
        assert.equal(found.status, expected, path)
        assert.ok(!found.text.includes('"settings"'), path)
      }

      const [place = ''] = readdirSync(sockets).filter((one) => one.startsWith('portcullis-'))
      assert.equal(statSync(join(sockets, place)).mode & 0o777, 0o700)
      gateway.child.kill('SIGTERM')
      assert.equal(await gateway.exit, 0, gateway.out())
      assert.ok(!existsSync(join(sockets, place)))
    })
  }

  it('lets users sign in with their roles, with cookies that no other route gets', async () => {
    const port = await freePort()
    const base = `http://127.0.0.1:${port}`
    const provider = await startProvider({ gateways: [base], folder: '/ui/api/auth' })
    const oidc = JSON.stringify({
      issuer: provider.issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      redirectUri: `${base}/ui/api/auth/callback`,
    })
    const text = `config: {workers: 2, adminAddr: "off", adminAuth: { oidc: ${oidc}, roles: { viewer: 'true', admin: "jwt.sub == 'root'" } }}
gateways: { default: { port: ${port} } }
ui: {}
`
    const secret = { OIDC_COOKIE_SECRET: randomBytes(32).toString('hex') }
    const { served } = await start('roles', text, secret)
    await served
    for (const [person, role, changed] of [
      ['victor', 'viewer', 403],
      ['root', 'admin', 200],
    ] as const) {
      const browser = new FormBrowser()
      const back = await browser.signIn(`${base}/ui/api/auth/login`, person)
      const done = await browser.fetch(back)
      assert.equal(done.headers.get('location'), '/ui/')
      for (const cookie of done.headers.getSetCookie()) assert.match(cookie, /; Path=\/ui\/;/)
      const session = await (await browser.fetch(`${base}/ui/api/session`)).json()
      assert.equal((session as { readonly role: string }).role, role)
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'PUT', headers, body: JSON.stringify({ level: 'info' }) }
      assert.equal((await browser.fetch(`${base}/ui/api/logging`, init)).status, changed)
      const foreign = { ...init, headers: { ...headers, origin: 'http://evil.test' } }
      assert.equal((await browser.fetch(`${base}/ui/api/logging`, foreign)).status, 403)
    }
    await provider.close()
  })

  it('without sign-in or a token is an error that names the field, at the start and later', async () => {
    const [port, admin] = await Promise.all([freePort(), freePort()])
    const config = `config: {workers: 1, adminAddr: "127.0.0.1:${admin}"}
gateways: { default: { port: ${port} } }
`
    const open = await start('open', `${config}ui: {}\n`)
    assert.equal(await open.gateway.exit, 1)
    assert.match(open.gateway.out(), /PC0326.*`ui` serves the Admin UI/s)
    assert.match(open.gateway.out(), /open\.yaml:3:1/)

    const closed = await start('closed', config)
    await closed.served
    appendFileSync(closed.file, 'ui: {}\n')
    await until('the rejection', () => closed.gateway.out().includes('PC0326'))
    assert.equal((await ask(`http://127.0.0.1:${port}/ui/`)).status, 404)
  })
})
