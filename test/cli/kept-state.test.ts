// The state that a running gateway keeps for a part survives every edit of other parts, and equal
// digests mean that two configurations do the same.

import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

for (const workers of [1, 2]) {
  describe(`a file that is edited, ${workers} workers`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-kept-'))
    const secret = join(folder, 'key')
    let running: Running
    let port: number
    let connections = 0
    const backend = createServer((got, response) => response.end(`${got.headers['x-key'] ?? ''}`))
    backend.on('connection', () => connections++)

    const LIMITED = `- name: limited
  matches: [{ path: { pathPrefix: /limited } }]
  policies: { localRateLimit: [{ maxTokens: 8, tokensPerFill: 1, fillInterval: 1h }] }
  backends: [{ backend: up }]
`
    const route = (name: string, status: number) =>
      `- { name: ${name}, matches: [{ path: { exact: /${name} } }], policies: { directResponse: { status: ${status} } } }\n`
    const rest = () => `- name: rest
  policies: { backendAuth: { key: { value: { file: ${secret} }, location: { header: { name: x-key } } } } }
  backends: [{ backend: up }]
`
    const textOf = (routes: string, above = '', below = '') => `${above}gateways:
  default: { port: ${port} }
backends:
- { name: up, host: "127.0.0.1:${(backend.address() as AddressInfo).port}" }
routes:
${routes}${below}`
    const base = () => textOf(`${LIMITED}${route('other', 201)}${rest()}`)

    before(async () => {
      await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done))
      port = await free()
      writeFileSync(secret, 'key-one')
      running = await startRunning(base(), { workers })
    })
    after(async () => {
      await running?.stop()
      backend.close()
      backend.closeAllConnections()
      rmSync(folder, { recursive: true })
    })

    const get = (path: string) =>
      new Promise<string>((resolve) => {
        const sent = request({ port, host: '127.0.0.1', path, agent: false }, (response) => {
          let text = ''
          response.on('data', (bytes) => {
            text += bytes
          })
          response.on('end', () => resolve(`${response.statusCode} ${text}`))
        })
        sent.on('error', (error) => resolve(error.message))
        sent.end()
      })
    const status = async (path: string) => Number((await get(path)).slice(0, 3))
    const digest = async (not?: string) => {
      let found: string | undefined
      await until('the digest', async () => {
        found = /portcullis_config_info\{hash="([0-9a-f]+)"\} 1/.exec(await running.metrics())?.[1]
        return found !== undefined && found !== not
      })
      return found
    }

    it('keeps the remaining rate limit and the connections to a backend', async () => {
      const first = await digest()
      assert.equal(await status('/limited'), 200)
      for (let i = 0; i < 8; i++) await get('/')
      const before = connections
      // Each of them consumes one request of the limit.
      for (const [what, text] of [
        ['comments', textOf(`${LIMITED}${route('other', 201)}${rest()}`, '# one\n# two\n')],
        ['another route', textOf(`${LIMITED}${route('other', 202)}${rest()}`)],
        ['its place', textOf(`${route('other', 201)}${LIMITED}${rest()}`)],
        ['a reader for anchors', textOf(`${LIMITED}${rest()}`, '', 'tcpRoutes: &none []\n')],
        ['two more', textOf(`${route('new', 203)}${LIMITED}${route('last', 204)}${rest()}`)],
        ['as it was', base()],
      ] as const) {
        await running.reload(text)
        assert.equal(await status('/limited'), 200, what)
        assert.equal((await get('/')).slice(0, 3), '200', what)
      }
      assert.equal(await status('/limited'), 200)
      assert.equal(await status('/limited'), 429)
      // A worker that got no request before opens its first connection.
      assert.ok(connections - before < workers, `${before}, then ${connections}`)
      await until('the digest of before', async () => (await digest()) === first)
    })

    it('has another digest for another configuration, and the same digest after a change of comments', async () => {
      const first = await digest()
      await running.reload(textOf(`${LIMITED}${route('other', 299)}${rest()}`))
      assert.notEqual(await digest(first), first)
      await running.reload(`# why\n${base()}`)
      await until('the digest of before', async () => (await digest()) === first)
    })

    it('follows a secret that is written in place, renamed, relinked, or given its old modification time', async () => {
      const served = (key: string) =>
        until(key, async () => {
          const all = await Promise.all(Array.from({ length: 8 }, () => get('/')))
          return all.every((one) => one === `200 ${key}`)
        })
      await served('key-one')
      writeFileSync(secret, 'key-two')
      await served('key-two')
      writeFileSync(`${secret}.new`, 'key-tri')
      renameSync(`${secret}.new`, secret)
      await served('key-tri')
      utimesSync(secret, 5, 5)
      writeFileSync(secret, 'key-for')
      utimesSync(secret, 5, 5)
      await served('key-for')
      writeFileSync(join(folder, 'elsewhere'), 'key-fiv')
      symlinkSync('elsewhere', `${secret}.link`)
      renameSync(`${secret}.link`, secret)
      await served('key-fiv')
    })
  })
}
