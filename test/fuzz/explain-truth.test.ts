import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { free } from '../proxy/accepting.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** A request as written on the wire. */
interface Written {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

const part = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('/', '/admin', '/api', '/cors', '/away', '/a', '/x-a') },
  fc.constantFrom('//', '/.', '/..', '/%2e%2e', '/%61dmin', ';x=1', '?', '?a=1', '/gone', '/ADMIN'),
)
const odd = fc.constantFrom('%2F', '%', '%zz', '\\', '\u00e9', '#', ' ')
const joined = (of: fc.Arbitrary<string>) =>
  fc.array(of, { minLength: 1, maxLength: 3 }).map((all) => all.join(''))
const target = fc.oneof(
  { weight: 12, arbitrary: joined(part) },
  { weight: 4, arbitrary: joined(part).map((text) => `/${text}`) },
  { weight: 3, arbitrary: joined(fc.oneof(part, odd)).map((text) => `/${text}`) },
  fc.constantFrom(
    '*',
    'http://a.test/admin',
    'http://b.test',
    'HTTP://A.test:80/api?x',
    'a.test:443',
  ),
)
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'POST', 'OPTIONS') },
  fc.constantFrom('DELETE', 'get', 'Get', 'CONNECT', 'PURGE', 'X-Y', 'G@T', 'HEAD'),
)
const host = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a.test', 'A.Test', 'a.test:80', 'a.test.', 'b.test') },
  { weight: 2, arbitrary: fc.constantFrom('x.b.test', 'y.b.test', 'c.test', '[::1]:8080') },
  fc.constantFrom('', 'a test', 'a.test:x', 'user@a.test', 'b.test:99999', 'a..test'),
)
type Lines = readonly (readonly [string, string])[]
const ORIGIN = ['Origin', 'https://app.test'] as const
const headers = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom<Lines>(
      [],
      [['x-a', '1']],
      [['X-A', '2']],
      [
        ['x-a', '2'],
        ['x-a', ''],
      ],
      [ORIGIN],
      [ORIGIN, ['access-control-request-method', 'PUT']],
      [ORIGIN, ['Access-Control-Request-Method', 'GET']],
      [ORIGIN, ['access-control-request-method', 'POST']],
      [
        ['origin', 'https://evil.test'],
        ['access-control-request-method', 'PUT'],
      ],
      [
        ['x-a', '2'],
        ['connection', 'x-a'],
      ],
      [
        ['te', 'trailers'],
        ['content-length', '0'],
      ],
    ),
  },
  fc.constantFrom<Lines>(
    [['x-a', '\u00e9']],
    [['x_a', '2']],
    [['connection', 'host']],
    [['host', 'b.test']],
    [['content-length', 'x']],
    [['transfer-encoding', 'gzip']],
    [['expect', 'cake']],
    [['bad name', '1']],
  ),
)
const written: fc.Arbitrary<Written> = fc
  .tuple(fc.record({ method, target, headers }), fc.option(host, { freq: 12 }))
  // A request without a Host field uses HTTP/1.0, since explain assumes a host otherwise.
  .chain(([request, own]) =>
    fc
      .constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0')
      .map((version) =>
        own === null
          ? { ...request, version: 'HTTP/1.0' }
          : { ...request, version, headers: [['Host', own] as const, ...request.headers] },
      ),
  )

const configuration = (port: number, backend: number) => `gateways:
  default:
    port: ${port}
    listeners:
    - { name: a, hostname: a.test }
    - name: b
      hostname: '*.b.test'
      policies:
        authorization:
          rules: [{ require: "request.host == 'x.b.test' && request.method == 'GET'" }]
    - { name: b2, hostname: b.test }
routes:
- name: admin
  matches: [{ path: { pathPrefix: /admin } }]
  policies: { authorization: { rules: [{ deny: request.path != "" }] } }
  backends: [{ host: '127.0.0.1:${backend}' }]
- name: cors
  matches: [{ path: { pathPrefix: /cors }, method: PUT }, { path: { pathPrefix: /cors }, method: GET }]
  policies:
    cors: { allowOrigins: ['https://app.test'], allowMethods: [PUT] }
    basicAuth: { users: ['a:{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0='] }
  backends: [{ host: '127.0.0.1:${backend}' }]
- name: away
  matches: [{ path: { pathPrefix: /away } }]
  policies: { requestRedirect: { scheme: https, status: 302 } }
- name: gone
  matches: [{ path: { exact: /gone } }]
  policies: { directResponse: { status: 410, body: gone } }
- name: rest
  matches: [{ path: { pathPrefix: /a } }, { path: { pathPrefix: /api } }, { path: { exact: / } }, { path: { pathPrefix: /x-a } }]
  policies:
    authorization:
      rules:
      - deny: request.path.startsWith('/admin')
      - deny: request.headers['x-a'] == '2'
      - deny: request.path.contains('//')
      - deny: request.headers['host'] == 'a.test:80'
      - deny: request.version == 'HTTP/1.0'
      - allow: request.method in ['GET', 'POST', 'OPTIONS'] || 'x-a' in request.headers
  backends: [{ host: '127.0.0.1:${backend}' }]
`

describe('explain and a gateway on a socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  const open = new Set<Socket>()
  // Accepts any method, unlike the servers of HTTP libraries.
  const backend = createServer((socket) => {
    open.add(socket.on('error', () => {}))
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  })
  let gateway: WholeGateway | undefined
  let port = 0

  before(async () => {
    backend.listen(0, '127.0.0.1')
    await once(backend, 'listening')
    port = await free()
    const text = configuration(port, (backend.address() as { port: number }).port)
    writeFileSync(file, text)
    gateway = await startWhole(text)
  })
  after(async () => {
    await gateway?.stop()
    backend.close()
    for (const socket of open) socket.destroy()
    rmSync(folder, { recursive: true })
  })

  const explained = async ({ method: verb, target: where, version, headers }: Written) => {
    const lines = headers.flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const args = ['-f', file, '-r', `${verb} ${where} ${version}`, ...lines, '--json']
    const { code, out, err } = await runWith(['explain', ...args])
    if (code === 2) return 'usage'
    assert.equal(err, '')
    const { outcome, status } = JSON.parse(out)
    return outcome === 'forwarded' ? 200 : (status ?? outcome)
  }

  const observed = (request: Written) =>
    new Promise<number | string>((resolve, reject) => {
      const lines = request.headers.map(([name, value]) => `${name}: ${value}\r\n`)
      const line = `${request.method} ${request.target} ${request.version}\r\n`
      const socket = connect(port, '127.0.0.1', () => socket.write(`${line}${lines.join('')}\r\n`))
      let text = ''
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1')
        const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
        if (status === undefined) return
        socket.destroy()
        resolve(Number(status))
      })
      socket.on('end', () => resolve('closed'))
      socket.setTimeout(10_000, () => socket.destroy(new Error('no response came')))
    })

  it('report the same status for any request line, host and headers', async () => {
    const seen = new Map<number | string, number>()
    await assertProperty(
      'explain-truth',
      fc.asyncProperty(written, async (request) => {
        const [reported, came] = [await explained(request), await observed(request)]
        // The gateway rejects a request with 400 if explain reports a usage error for it.
        if (reported === 'usage') assert.equal(came, 400)
        else assert.equal(reported, came)
        seen.set(came, (seen.get(came) ?? 0) + 1)
      }),
      fuzz(0.2, 100),
    )
    for (const status of [200, 400, 403, 404]) {
      assert.ok(seen.has(status), `no request came to ${status}: ${JSON.stringify([...seen])}`)
    }
  })

  for (const [what, line, headers, expected] of [
    ['two slashes and dots', 'GET //admin/../admin', ['Host: a.test'], undefined],
    [
      'a preflight',
      'OPTIONS /cors',
      ['Host: a.test', 'Origin: https://app.test', 'Access-Control-Request-Method: PUT'],
      204,
    ],
    ['CONNECT', 'CONNECT a.test:443', ['Host: a.test:443'], 405],
    ['a method in lower case', 'get /api', ['Host: a.test'], 400],
    ['a Host with its port', 'GET /api', ['Host: a.test:80'], 403],
    ['a host that nobody serves', 'GET /api', ['Host: c.test'], 404],
  ] as const) {
    it(`agree about ${what}`, async () => {
      const [verb = '', where = ''] = line.split(' ')
      const pairs = headers.map((one) => one.split(': ') as [string, string])
      const request = { method: verb, target: where, version: 'HTTP/1.1', headers: pairs }
      const came = await observed(request)
      if (expected !== undefined) assert.equal(came, expected)
      assert.equal(await explained(request), came)
    })
  }
})
