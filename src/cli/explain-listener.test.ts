import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'
import { makeAuthority } from './suite/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
const file = join(folder, 'gateway.yaml')
after(() => rmSync(folder, { recursive: true }))

before(() => {
  const { cert, key } = makeAuthority('authority').issue('a.test', ['DNS:a.test'])
  for (const [name, text] of Object.entries({ cert, key })) writeFileSync(join(folder, name), text)
  writeFileSync(
    file,
    `gateways:
  guarded: { port: 8080 }
  open: { port: 8081, hostname: shop.a.test }
  secure: { port: 8443, hostname: '*.a.test', tls: { cert: cert, key: key } }
routes:
- name: closed
  gateways: [guarded]
  policies: { authorization: { rules: [{ deny: 'true' }] } }
  backends: [{ host: 'a:80' }]
- name: all
  gateways: [open, secure]
  backends: [{ host: 'a:80' }]
tcpRoutes: []
`,
  )
})

const ask = (request: string, ...more: readonly string[]) =>
  runWith(['explain', '-f', file, '--request', request, ...more])

describe('explain, if several ports serve the host', () => {
  it('lists them, and chooses none', async () => {
    const { code, out, err } = await ask('GET /', '-H', 'host: shop.a.test')
    assert.equal(code, 2)
    assert.equal(out, '')
    for (const one of ['guarded/default (port 8080)', 'open/default (port 8081)', 'secure/default'])
      assert.ok(err.includes(one), err)
  })

  for (const [request, more, listener, expected] of [
    ['GET /', ['--listener', 'guarded'], 'guarded', 1],
    ['GET /', ['--listener', 'open/default'], 'open', 0],
    ['GET https://shop.a.test/', [], 'secure', 0],
    ['GET https://shop.a.test/ HTTP/2', [], 'secure', 0],
    ['GET http://shop.a.test:8080/', [], 'guarded', 1],
    ['GET http://shop.a.test:8081/', [], 'open', 0],
    ['GET http://other.test/', [], 'guarded', 1],
    ['GET http://b.a.test/', [], 'guarded', 1],
  ] as const) {
    it(`${request} ${more.join(' ')} is at ${listener}`, async () => {
      const host = request.includes('//') ? [] : ['-H', 'host: shop.a.test']
      const { code, out, err } = await ask(request, ...host, ...more, '--json')
      assert.equal(err, '')
      assert.equal(code, expected)
      assert.equal(JSON.parse(out).gateway, listener)
    })
  }

  it('the scheme alone may leave several', async () => {
    const { code, err } = await ask('GET http://shop.a.test/')
    assert.equal(code, 2)
    assert.ok(!err.includes('secure'), err)
  })
})

describe('explain --user', () => {
  const users = join(folder, 'users.yaml')
  const HASH = '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='
  const explain = (mode: string, ...more: readonly string[]) => {
    writeFileSync(
      users,
      `gateways: { default: { port: 8080 } }
routes:
- name: own
  matches: [{ path: { exact: /own } }]
  policies: { basicAuth: { users: ['alice:${HASH}'], mode: ${mode} } }
  backends: [{ host: 'a:80' }]
- name: either
  policies:
    authentication:
      anyOf:
      - basicAuth: { users: ['alice:${HASH}'] }
      - jwtAuthentication: { providers: [{ issuer: i, jwks: '{"keys":[]}' }] }
  backends: [{ host: 'a:80' }]
`,
    )
    return runWith(['explain', '-f', users, ...more])
  }

  for (const mode of ['Strict', 'Optional']) {
    it(`compares the name with those of the policy: ${mode}`, async () => {
      const bob = await explain(mode, '--request', '/own', '--user', 'bob')
      assert.equal(bob.code, 1)
      assert.match(bob.out, /401: user bob is unknown/)
      assert.equal((await explain(mode, '--request', '/own', '--user', 'alice')).code, 0)
    })
  }

  it('among several ways to authenticate', async () => {
    assert.equal((await explain('Strict', '--user', 'bob')).code, 1)
    assert.equal((await explain('Strict', '--user', 'bob', '--claims', '{}')).code, 0)
    assert.equal((await explain('Strict', '--user', 'alice')).code, 0)
  })
})
