import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { type Governed, governBy } from './governed.ts'
import { exchange } from './harness.ts'
import { askHttp2, clientOf, http2Client } from './http2-peers.ts'

const get = (...lines: readonly string[]) =>
  `GET / HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`

/** Responds with the client address, on a route that not all clients may use. */
const fileOf =
  (frontend: string, listener = '') =>
  (_: string, port: number) =>
    `
frontendPolicies:
  http: { ${frontend} }
gateways:
  default: { port: ${port}${listener} }
routes:
- name: all
  policies:
    authorization:
      rules: [{ deny: "source.address == '10.6.6.6'" }]
    directResponse:
      status: 200
      bodyExpression: "string(source.address) + ' ' + string(source.rawAddress)"
`

const ask = (gateway: Governed, ...lines: readonly string[]) =>
  exchange(gateway.port, get(...lines, 'Connection: close'))

describe('trusted hops', () => {
  let gateway: Governed
  before(async () => {
    gateway = await governBy('', fileOf('trustedHops: 2'))
  })
  after(() => gateway.close())

  for (const [what, lines, expected] of [
    ['no list', [], '127.0.0.1'],
    ['the entry of the farther proxy', ['X-Forwarded-For: 10.0.0.7, 10.0.0.2'], '10.0.0.7'],
    ['what a client wrote before', ['X-Forwarded-For: 10.6.6.6, 10.0.0.7, 10.0.0.2'], '10.0.0.7'],
    ['several lines', ['X-Forwarded-For: 10.0.0.7', 'x-forwarded-for: 10.0.0.2'], '10.0.0.7'],
    ['too short a list', ['X-Forwarded-For: 10.6.6.6'], '127.0.0.1'],
    ['IPv4 as IPv6', ['X-Forwarded-For: ::ffff:10.0.0.7, 10.0.0.2'], '10.0.0.7'],
    ['other headers', ['X-Real-IP: 10.6.6.6', 'Forwarded: for=10.6.6.6'], '127.0.0.1'],
    ['an underscore', ['X_Forwarded_For: 10.6.6.6, 10.0.0.2'], '127.0.0.1'],
  ] as const) {
    it(`${what}: ${expected}`, async () => {
      const text = await ask(gateway, ...lines)
      assert.match(text, /^HTTP\/1\.1 200 /)
      assert.ok(text.endsWith(`\r\n\r\n${expected} 127.0.0.1`), text)
    })
  }

  it('rules decide by the client address', async () => {
    assert.match(await ask(gateway, 'X-Forwarded-For: 10.6.6.6, 10.0.0.2'), /^HTTP\/1\.1 403 /)
  })

  for (const list of ['unknown, 10.0.0.2', '10.0.0.7, unknown', '10.0.0.7,', '']) {
    it(`${JSON.stringify(list)} is rejected, and the connection closes`, async () => {
      const text = await exchange(gateway.port, get(`X-Forwarded-For: ${list}`) + get())
      assert.match(text, /^HTTP\/1\.1 400 /)
      assert.doesNotMatch(text, /127\.0\.0\.1/)
      assert.equal(gateway.lines.at(-1)?.detail, 'bad-forwarded-for')
    })
  }

  it('the next request of a connection has its own address', async () => {
    const heads = [
      get('X-Forwarded-For: 10.0.0.7, 10.0.0.2'),
      get('X-Forwarded-For: 10.0.0.8, 10.0.0.2'),
      get('Connection: close'),
    ]
    const text = await exchange(gateway.port, heads.join(''))
    const bodies = [...text.matchAll(/\r\n\r\n([0-9.]+) 127\.0\.0\.1/g)].map(([, own]) => own)
    assert.deepEqual(bodies, ['10.0.0.7', '10.0.0.8', '127.0.0.1'])
  })

  it('streams of one connection each have their own', async () => {
    const client = clientOf('h2', gateway.port)
    const lists = ['10.0.0.7, 10.0.0.2', '10.6.6.6, 10.0.0.2', undefined, '10.0.0.8, 10.0.0.2']
    const responses = await Promise.all(
      lists.map((list) => {
        const headers = list === undefined ? {} : { 'x-forwarded-for': list }
        return client.ask({ headers })
      }),
    )
    client.close()
    const reported = responses.map(({ status, body }) => (status === 200 ? String(body) : status))
    assert.deepEqual(reported, [
      '10.0.0.7 127.0.0.1',
      403,
      '127.0.0.1 127.0.0.1',
      '10.0.0.8 127.0.0.1',
    ])
  })

  it('the log contains the client address, with port 0 if there is none', async () => {
    await ask(gateway, 'X-Forwarded-For: 10.0.0.9, 10.0.0.2')
    assert.equal(gateway.lines.at(-1)?.['src.addr'], '10.0.0.9:0')
    await ask(gateway, 'X-Forwarded-For: [2001:db8::9]:99, 10.0.0.2')
    assert.equal(gateway.lines.at(-1)?.['src.addr'], '[2001:db8::9]:99')
  })
})

it('without trusted hops the list is ignored, whatever it contains', async () => {
  const gateway = await governBy('', fileOf('trustedHops: 0'))
  try {
    for (const list of ['10.6.6.6', 'unknown', '']) {
      assert.match(await ask(gateway, `X-Forwarded-For: ${list}`), /127\.0\.0\.1 127\.0\.0\.1$/)
    }
  } finally {
    await gateway.close()
  }
})

it('the backend gets the entries that count, and the address of the peer', async () => {
  const gateway = await governBy(
    '',
    (_, port, backend) => `
frontendPolicies: { http: { trustedHops: 1 } }
gateways: { default: { port: ${port} } }
routes: [{ backends: [{ host: 127.0.0.1:${backend} }] }]
`,
  )
  try {
    const { got } = await gateway.get('/', { 'x-forwarded-for': '10.6.6.6, 10.0.0.7' })
    assert.equal(got?.headers['x-forwarded-for'], '10.0.0.7, 127.0.0.1')
  } finally {
    await gateway.close()
  }
})

it('network authorization sees only the peer', async () => {
  const rules = `{ rules: [{ deny: "source.address == '10.0.0.7'" }, { allow: "source.address == '127.0.0.1'" }] }`
  const gateway = await governBy('', (given, port) => {
    const file = fileOf('trustedHops: 1')(given, port)
    return file.replace('frontendPolicies:', `frontendPolicies:\n  networkAuthorization: ${rules}`)
  })
  try {
    assert.match(await ask(gateway, 'X-Forwarded-For: 10.0.0.7'), /10\.0\.0\.7 127\.0\.0\.1$/)
  } finally {
    await gateway.close()
  }
})

it('trusted hops apply to TLS too', { skip: WITHOUT_OPENSSL }, async () => {
  const { cert, key } = makeAuthority('authority').issue({ names: ['DNS:localhost'] })
  const tls = ', protocol: HTTPS, tls: { cert: cert.pem, key: key.pem }'
  const files = { 'cert.pem': cert, 'key.pem': key }
  const gateway = await governBy('', fileOf('trustedHops: 1', tls), files)
  const session = connectHttp2(`https://localhost:${gateway.port}`, { rejectUnauthorized: false })
  try {
    const headers = { 'x-forwarded-for': '10.0.0.7' }
    const { body } = await askHttp2(session, { headers })
    assert.match(String(body), /^10\.0\.0\.7 /)
  } finally {
    http2Client(session).close()
    await gateway.close()
  }
})
