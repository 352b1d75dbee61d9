import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { authenticateBy } from './callers.ts'
import { adminResponses, type Status } from './responses.ts'
import { isListening, serve } from './servers.ts'
import type { FindUi } from './ui-files.ts'

const SCRIPT = 'console.log(1)'

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

describe('the files of the Admin UI', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ui-files-'))
  let server: Server
  let found: Awaited<ReturnType<FindUi>> = { problem: 'not built' }

  before(async () => {
    mkdirSync(join(folder, 'ui/assets'), { recursive: true })
    writeFileSync(join(folder, 'secret.js'), 'secret')
    writeFileSync(join(folder, 'ui/index.html'), '<meta nonce="__CSP_NONCE__">')
    writeFileSync(join(folder, 'ui/assets/a-1.js'), SCRIPT)
    writeFileSync(join(folder, 'ui/assets/a-1.js.gz'), gzipSync(SCRIPT))
    const status = () => ({}) as Status
    // The API requires a token; the files themselves contain no data.
    const responses = adminResponses(status, [], authenticateBy('a-token'), async () => found)
    const at = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
    const origin = { kind: 'object', object: 'test', field: '' } as const
    const made = await serve(at, responses, origin, undefined, true)
    assert.ok(isListening(made))
    server = made
  })

  after(() => {
    server.close()
    server.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  /** Uses node:http, since fetch rewrites paths and decodes bodies. */
  const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    new Promise<Reply>((resolve, reject) => {
      const { port } = server.address() as AddressInfo
      const sent = httpRequest({ port, host: '127.0.0.1', path, method, headers }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (bytes) => parts.push(bytes))
        response.on('end', () => {
          const { statusCode: status = 0, headers: own } = response
          resolve({ status, headers: own, body: Buffer.concat(parts) })
        })
      })
      sent.on('error', reject)
      sent.end()
    })

  it('responds with the reason if there are none', async () => {
    const reply = await get('/ui/')
    assert.equal(reply.status, 503)
    assert.equal(String(reply.body), 'not built\n')
    found = { folder: join(folder, 'ui') }
    assert.equal((await get('/ui/')).status, 200)
  })

  it('serves a page without inline scripts, with a new nonce for each response', async () => {
    const [one, other] = [await get('/ui/'), await get('/ui/map?x=1')]
    const policies = [one, other].map(({ headers }) => String(headers['content-security-policy']))
    const nonces = policies.map((policy) => /'nonce-([^']+)'/.exec(policy)?.[1] ?? '')
    assert.notEqual(nonces[0], nonces[1])
    for (const [index, reply] of [one, other].entries()) {
      assert.equal(String(reply.body), `<meta nonce="${nonces[index]}">`)
      assert.equal(reply.headers['cache-control'], 'no-store')
      const policy = policies[index] ?? ''
      assert.match(policy, /default-src 'none'; script-src 'self';/)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    }
  })

  it('lets browsers cache hashed files, compressed if the browser accepts it', async () => {
    const plain = await get('/ui/assets/a-1.js')
    assert.equal(String(plain.body), SCRIPT)
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.match(String(plain.headers['cache-control']), /immutable/)
    assert.equal(plain.headers['x-content-type-options'], 'nosniff')
    for (const accepted of ['gzip', 'br, gzip;q=0.5', 'deflate,gzip']) {
      const packed = await get('/ui/assets/a-1.js', { 'accept-encoding': accepted })
      assert.equal(packed.headers['content-encoding'], 'gzip', accepted)
      assert.equal(String(gunzipSync(packed.body)), SCRIPT)
    }
    for (const accepted of ['gzip;q=0', 'identity', 'xgzip']) {
      const reply = await get('/ui/assets/a-1.js', { 'accept-encoding': accepted })
      assert.equal(reply.headers['content-encoding'], undefined, accepted)
    }
    const head = await get('/ui/assets/a-1.js', {}, 'HEAD')
    assert.equal(head.headers['content-length'], String(SCRIPT.length))
    assert.equal(head.body.length, 0)
  })

  for (const path of [
    '/ui/../secret.js',
    '/ui/..%2fsecret.js',
    '/ui/assets/../../secret.js',
    '/ui//secret.js',
    '/ui/index.html',
    '/ui/assets/a-1.js.gz',
    '/ui/assets/none.js',
    '/ui/%00.js',
  ]) {
    it(`responds 404 to ${path}`, async () => {
      assert.equal((await get(path)).status, 404)
    })
  }

  it('is read-only', async () => {
    assert.equal((await get('/ui/', {}, 'POST')).status, 405)
  })

  it('redirects browsers from / and sends programs the list of paths', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    assert.equal(browser.status, 302)
    assert.equal(browser.headers.location, '/ui/')
    const program = await get('/', { accept: '*/*' })
    assert.equal(program.status, 200)
    assert.match(String(program.body), /^portcullis admin/)
  })

  it('rejects foreign hosts and keeps other sites from reading or framing it', async () => {
    assert.equal((await get('/ui/', { host: 'attacker.example' })).status, 421)
    const { headers } = await get('/ui/')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.equal(headers['access-control-allow-origin'], undefined)
  })
})
