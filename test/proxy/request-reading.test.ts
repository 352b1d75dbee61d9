import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Governed, governBy } from './governed.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { clientOf } from './http2-peers.ts'

/** A gateway with these settings and rules, and a raw backend. */
function governRaw(settings: string, rules: string, backend: RawUpstream): Promise<Governed> {
  return governBy(
    '',
    (_, port) => `
frontendPolicies:
  http: { ${settings} }
gateways:
  default: { port: ${port} }
routes:
- name: all
  policies:
    authorization:
      rules: [${rules}]
  backends: [{ host: "127.0.0.1:${backend.port}" }]
`,
  )
}

/** Responds once the request is complete, chunked ones too. */
const startBackend = () =>
  startUpstream((_, socket, all) => {
    const isWhole = /transfer-encoding: chunked/i.test(all)
      ? /\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n$/.test(all)
      : all.endsWith('\r\n\r\n')
    if (isWhole) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })

const statusOf = (response: string) => Number(response.slice(9, 12))

const get = (target: string, ...lines: readonly string[]) =>
  `GET ${target} HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}Connection: close\r\n\r\n`

describe('adjacent slashes', () => {
  let backend: RawUpstream
  let gateway: Governed
  let keeping: Governed
  const deny = `{ deny: "request.path.startsWith('/admin')" }`
  before(async () => {
    backend = await startBackend()
    gateway = await governRaw('', deny, backend)
    keeping = await governRaw('mergeSlashes: false', deny, backend)
  })
  after(async () => {
    await gateway.close()
    await keeping.close()
    backend.close()
  })

  for (const target of [
    '//admin',
    '///admin/users',
    '/x/..//admin',
    '/.//admin',
    '//%61dmin',
    'http://a//admin',
    'http://a///admin',
    '//admin?q=//x',
  ]) {
    it(`GET ${target} is denied as /admin is`, async () => {
      assert.equal(statusOf(await exchange(gateway.port, get(target))), 403)
    })

    if (target.startsWith('/')) {
      it(`the same over HTTP/2: ${target}`, async () => {
        const client = clientOf('h2', gateway.port)
        const response = await client.ask({ path: target })
        client.close()
        assert.equal(response.status, 403)
      })
    }
  }

  for (const [target, forwarded] of [
    ['/a//b///c//', '/a/b/c/'],
    ['//evil.example/x', '/evil.example/x'],
    ['/a?u=http://b//c', '/a?u=http://b//c'],
  ] as const) {
    it(`${target} reaches the backend as ${forwarded}`, async () => {
      const before = backend.received.join('').length
      assert.equal(statusOf(await exchange(gateway.port, get(target))), 200)
      const received = backend.received.join('').slice(before)
      assert.ok(received.startsWith(`GET ${forwarded} HTTP/1.1\r\n`), received)
    })
  }

  it('are kept if the gateway is configured to', async () => {
    assert.equal(statusOf(await exchange(keeping.port, get('//admin'))), 200)
    assert.equal(statusOf(await exchange(keeping.port, get('/x/../admin'))), 403)
  })
})

describe('headers with underscores', () => {
  const role = `{ deny: "request.headers['x-role'] == 'guest'" }`
  for (const [settings, rule, headers, status, forwarded] of [
    ['', role, ['X-Role: guest'], 403, []],
    ['', role, ['X_Role: guest'], 400, []],
    ['', role, ['x-role: admin', 'x_role: guest'], 400, []],
    ['', role, ['X_Other: 1'], 200, ['x_other']],
    ['', `{ deny: "'x-role' in request.headers" }`, ['x_role: a'], 400, []],
    ['', `{ deny: "'x-role' in request.headers" }`, ['x_other: a'], 200, ['x_other']],
    ['', `{ deny: "has(request.headers.x_role)" }`, ['x-role: a'], 400, []],
    ['', `{ deny: "has(request.headers.x_role)" }`, ['x_role: a'], 403, []],
    ['', `{ deny: "request.headers.exists(k, k == 'x-role')" }`, ['x_any: a'], 400, []],
    ['', `{ deny: "request.headers['x-' + 'role'] == 'a'" }`, ['x_role: a'], 400, []],
    ['', `{ deny: "request.path == '/none'" }`, ['x_role: a'], 200, ['x_role']],
    ['headersWithUnderscores: Allow', role, ['x_role: guest'], 200, ['x_role']],
    ['headersWithUnderscores: Drop', role, ['x_role: guest', 'x_o: 1', 'x-p: 1'], 200, ['x-p']],
    ['headersWithUnderscores: Reject', role, ['x_other: 1'], 400, []],
  ] as const) {
    it(`${settings || 'by default'}, ${rule}: ${headers.join(', ')} gets ${status}`, async () => {
      const backend = await startBackend()
      const gateway = await governRaw(settings, rule, backend)
      const response = await exchange(gateway.port, get('/', ...headers))
      await gateway.close()
      backend.close()
      assert.equal(statusOf(response), status)
      const names = [...backend.received.join('').matchAll(/^(x[-_](?!request)\w+):/gim)]
      assert.deepEqual(
        names.map(([, name]) => name?.toLowerCase()),
        forwarded,
      )
    })
  }

  it('a header that only a route matches counts too', async () => {
    const gateway = await governBy(
      '',
      (_, port, backend) => `
gateways:
  default: { port: ${port} }
routes:
- name: internal
  matches: [{ path: { pathPrefix: / }, headers: [{ name: x-internal, value: { exact: "1" } }] }]
  policies: { authorization: { rules: [{ deny: "true" }] } }
  backends: [{ host: "127.0.0.1:${backend}" }]
- name: others
  backends: [{ host: "127.0.0.1:${backend}" }]
`,
    )
    const [own, like] = await Promise.all([
      exchange(gateway.port, get('/', 'x-internal: 1')),
      exchange(gateway.port, get('/', 'x_internal: 1')),
    ])
    await gateway.close()
    assert.deepEqual([statusOf(own), statusOf(like)], [403, 400])
  })

  it('over HTTP/2 too, and after a reload on a connection that was open before', async () => {
    const backend = await startBackend()
    const write = (rules: string, port: number) => `
gateways:
  default: { port: ${port} }
routes:
- name: all
  policies: { authorization: { rules: [${rules}] } }
  backends: [{ host: "127.0.0.1:${backend.port}" }]
`
    const gateway = await governBy(`{ deny: "request.path == '/none'" }`, write)
    const client = clientOf('h2', gateway.port)
    const ask = () => client.ask({ headers: { x_role: 'guest' } })
    const before = await ask()
    await gateway.apply(role)
    const behind = await ask()
    client.close()
    await gateway.close()
    backend.close()
    assert.deepEqual([before.status, behind.status], [200, 400])
  })
})

describe('trailers of requests', () => {
  const rule = `{ deny: "'x-role' in request.headers" }`
  const body = 'Transfer-Encoding: chunked\r\nTrailer: X-Role, X-Sum\r\n\r\n1\r\na\r\n0\r\n'
  const post = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${body}X-Role: root\r\nX_Role: root\r\nX-Sum: 1\r\n\r\n`

  for (const [settings, reached] of [
    ['', []],
    ['requestTrailers: Forward', ['x-sum']],
    ['requestTrailers: Forward, headersWithUnderscores: Allow', ['x-sum']],
  ] as const) {
    it(`${settings || 'by default'}: ${reached.join() || 'none'} reaches the backend`, async () => {
      const backend = await startBackend()
      const gateway = await governRaw(settings, rule, backend)
      const response = await exchange(gateway.port, post)
      await gateway.close()
      backend.close()
      assert.equal(statusOf(response), 200)
      const [, trailers = ''] = backend.received.join('').split(/\r\n0\r\n/)
      assert.deepEqual(
        [...trailers.matchAll(/^([\w-]+):/gm)].map(([, name]) => name?.toLowerCase()),
        reached,
      )
      assert.equal(/^trailer:/im.test(backend.received.join('')), reached.length > 0)
    })
  }

  it('over HTTP/2: none reaches the backend by default', async () => {
    const backend = await startBackend()
    const gateway = await governRaw('', rule, backend)
    const client = clientOf('h2', gateway.port)
    const trailers = { 'x-role': 'root', 'x-sum': '1' }
    const { status } = await client.ask({ method: 'POST', body: Buffer.from('a'), trailers })
    client.close()
    await gateway.close()
    backend.close()
    assert.equal(status, 200)
    assert.doesNotMatch(backend.received.join(''), /x-role|x-sum/i)
  })
})
