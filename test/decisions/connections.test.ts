import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { type Authority, makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { helloMessage, inRecords, serverName, versions } from '../tls/hello-bytes.ts'
import { type Deciding, freePort, startBackend, startDeciding } from './gateway.ts'

const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n'

/** Returns everything that the client receives until the connection closes. */
function talk(port: number, pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    const send = async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return
        socket.write(piece)
        if (pieces.length > 1) await wait(1)
      }
    }
    void send()
  })
}

function talkTls(port: number, options: ConnectionOptions, text = GET): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    let response = ''
    socket.on('secureConnect', () => socket.write(text))
    socket.on('data', (bytes) => (response += bytes.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => resolve(response))
  })
}

describe('decisions about connections', { skip: WITHOUT_OPENSSL }, () => {
  let folder: string
  let authority: Authority
  let backend: Server & { readonly port: number }
  let echo: Server
  let echoed = 0
  const running: Deciding[] = []

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
    authority = makeAuthority('authority')
    const own = authority.issue({ names: ['DNS:a.test', 'DNS:b.test'] })
    for (const [name, text] of [
      ['cert.pem', own.cert],
      ['key.pem', own.key],
      ['ca.pem', authority.cert],
    ] as const) {
      writeFileSync(join(folder, name), text)
    }
    backend = await startBackend()
    echo = createServer((socket) => {
      echoed++
      socket.on('error', () => {})
      socket.on('data', (bytes) => socket.end(bytes))
    })
    await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done))
  })

  after(async () => {
    await Promise.all(running.map((own) => own.stop()))
    backend.close()
    echo.close()
    rmSync(folder, { recursive: true })
  })

  const tls = () => `cert: ${folder}/cert.pem, key: ${folder}/key.pem`

  async function start(listener: string, rules: string, format: 'text' | 'json' = 'text') {
    const port = await freePort()
    const { port: stream } = echo.address() as { readonly port: number }
    const isStream = /protocol: (TLS|TCP)/.test(listener)
    const routes = isStream
      ? `tcpRoutes:\n- name: stream\n  gateways: [edge]\n  backends: [{ host: '127.0.0.1:${stream}' }]`
      : `routes:\n- name: web\n  gateways: [edge]\n  backends: [{ host: '127.0.0.1:${backend.port}' }]`
    const own = await startDeciding(
      `gateways:
  edge:
    port: ${port}
    ${listener}
frontendPolicies:
  networkAuthorization:
${rules}
${routes}
`,
      format,
    )
    running.push(own)
    return { ...own, port }
  }

  const DENY = "    rules: [{ deny: cidr('127.0.0.0/8').containsIP(source.address) }]"
  const rejections = (own: Deciding, listener = 'edge/default') =>
    own.metric(
      `portcullis_downstream_connections_rejected_total{listener="${listener}",reason="authorization"}`,
    ) ??
    own.metric(
      `portcullis_downstream_connections_rejected_total{listener="edge",reason="authorization"}`,
    )

  for (const [protocol, listener, ask] of [
    ['HTTP', 'protocol: HTTP', (port: number) => talk(port, [GET])],
    [
      'HTTPS',
      () => `protocol: HTTPS\n    tls: { ${tls()} }`,
      (port: number) => talkTls(port, { servername: 'a.test' }),
    ],
    [
      'TLS',
      () => `protocol: TLS\n    tls: { ${tls()} }`,
      (port: number) => talkTls(port, { servername: 'a.test' }),
    ],
    [
      'TLS, passed through',
      'protocol: TLS\n    tls: { mode: Passthrough }',
      (port: number) => talkTls(port, { servername: 'a.test' }),
    ],
    ['TCP', 'protocol: TCP', (port: number) => talk(port, ['hello'])],
  ] as const) {
    it(`close a ${protocol} connection before any data, and say so`, async () => {
      const before = echoed
      const own = await start(typeof listener === 'string' ? listener : listener(), DENY)
      assert.equal(await ask(own.port), '')
      const record = await own.only()
      assert.deepEqual(
        [record.stage, record.verdict, record.cause, record.gateway],
        ['connection', 'denied', 'matched', 'edge'],
      )
      assert.match(record.rule?.expression ?? '', /containsIP/)
      assert.equal(record.rule?.kind, 'networkAuthorization')
      assert.notEqual(record.id, '')
      assert.equal(own.decisions({ id: record.id }).length, 1)
      assert.equal(rejections(own), 1)
      assert.equal(echoed, before)
      const [line, ...more] = own.lines
      assert.deepEqual(more, [])
      assert.match(
        line ?? '',
        /^\d{4}-\d\d-\d\dT[\d:.]+Z\terror\trequest src\.addr=127\.0\.0\.1:\d+ tls\.sni="" protocol=tcp error="authorization failed" duration=\d+\.\d{3}ms gateway=edge listener=default policy=section:frontendPolicies rule=networkAuthorization\[0\] request\.id=\S+\n$/,
      )
      assert.ok(line?.includes(` request.id=${record.id}\n`))
    })
  }

  it('write the record with the server name if one was read, as text and as JSON', async () => {
    const rules = "    rules: [{ require: destination.hostname == 'b.test' }]"
    const listener = `protocol: TLS\n    tls: { ${tls()} }`
    const text = await start(listener, rules)
    await talkTls(text.port, { servername: 'a.test' })
    assert.match(
      text.lines[0] ?? '',
      /^\S+Z\terror\trequest src\.addr=127\.0\.0\.1:\d+ tls\.sni=a\.test protocol=tcp error="authorization failed" duration=\S+ gateway=edge listener=default policy=\S+ rule=\S+ request\.id=\S+\n$/,
    )
    const json = await start(listener, rules, 'json')
    await talkTls(json.port, { servername: 'a.test' })
    const { time, duration, 'src.addr': from, ...rest } = JSON.parse(json.lines[0] ?? '{}')
    assert.deepEqual(rest, {
      level: 'error',
      scope: 'request',
      'tls.sni': 'a.test',
      protocol: 'tcp',
      error: 'authorization failed',
      ...{ gateway: 'edge', listener: 'default', policy: 'section:frontendPolicies' },
      ...{ rule: 'networkAuthorization[0]', 'request.id': (await json.only()).id },
    })
    assert.match(`${time} ${from}`, /^\S+Z 127\.0\.0\.1:\d+$/)
    assert.equal(typeof duration, 'number')
    assert.equal((await json.only()).sni, 'a.test')
  })

  it('deny clients that send no server name if a rule requires one', async () => {
    const own = await start(
      `protocol: TLS\n    tls: { ${tls()} }`,
      "    rules: [{ require: destination.hostname == 'a.test' }]",
    )
    assert.notEqual(await talkTls(own.port, { servername: 'a.test' }), '')
    assert.equal(await talkTls(own.port, { servername: '' }), '')
    const record = await own.only()
    assert.deepEqual([record.cause, record.variable], ['unset', 'destination.hostname'])
  })

  it('deny all HTTPS clients if a rule requires a server name', async () => {
    const own = await start(
      `protocol: HTTPS\n    tls: { ${tls()} }`,
      "    rules: [{ require: destination.hostname == 'a.test' }]",
    )
    assert.equal(await talkTls(own.port, { servername: 'a.test' }), '')
    assert.equal((await own.only()).cause, 'unset')
  })

  it('are the same however the ClientHello is split into records and segments', async () => {
    const own = await start(
      'protocol: TLS\n    tls: { mode: Passthrough }',
      "    rules: [{ deny: destination.hostname == 'bad.test' }]",
    )
    const hello = (name: string, size?: number) =>
      inRecords(helloMessage({ extensions: [versions(0x0304), serverName(name)] }), size)
    const bytes = (bytes: Buffer) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
    for (const size of [1, 7, 64, undefined]) {
      const before = own.decisions().length
      assert.equal(await talk(own.port, [hello('bad.test', size)]), '')
      assert.equal(await talk(own.port, bytes(hello('bad.test', size))), '')
      assert.equal(own.decisions().length, before + 2)
      // An admitted client gets its bytes back from the echo backend unchanged.
      const good = hello('good.test', size)
      assert.equal(await talk(own.port, [good]), good.toString('latin1'))
      assert.equal(own.decisions().length, before + 2)
    }
    assert.ok(own.decisions().every(({ sni, cause }) => sni === 'bad.test' && cause === 'matched'))
  })

  it('wait for the client certificate only if a rule reads it', async () => {
    const clients = `protocol: HTTPS\n    tls: { ${tls()}, root: ${folder}/ca.pem }`
    const alice = authority.issue({ subject: 'CN=alice', names: ['URI:spiffe://t/alice'] })
    const mallory = authority.issue({ subject: 'CN=mallory', names: ['URI:spiffe://t/mallory'] })
    const own = await start(
      clients,
      "    rules: [{ allow: source.identity == 'spiffe://t/alice' }]",
    )
    assert.match(await talkTls(own.port, { servername: 'a.test', ...alice }), /200 OK/)
    assert.equal(await talkTls(own.port, { servername: 'a.test', ...mallory }), '')
    const record = await own.only()
    assert.deepEqual(
      record.nearest?.misses.map(({ cause }) => cause),
      ['false'],
    )
    assert.deepEqual(
      record.attributes.map(({ name, state }) => [name, state]),
      [['source.identity', 'redacted']],
    )
    const early = await start(clients, DENY)
    // A denial by source address needs no ClientHello.
    assert.equal(await talk(early.port, []), '')
    assert.equal((await early.only()).cause, 'matched')
  })

  it('name the invalid policy, and deny every client', async () => {
    const own = await start('protocol: TCP', '    rules: [{ deny: sorce.port == 1 }]')
    assert.equal(await talk(own.port, ['hello']), '')
    const record = await own.only()
    assert.deepEqual(
      [record.kind, record.stage, record.verdict, record.cause],
      ['authorization', 'connection', 'denied', 'invalid-policy'],
    )
    assert.deepEqual(
      [record.invalid?.policy, record.invalid?.kind],
      ['section:frontendPolicies', 'networkAuthorization'],
    )
    assert.match(record.invalid?.origin ?? '', /^gateway\.yaml:6:\d+$/)
    assert.match(record.reason ?? '', /^PC\d{4}: .*sorce/)
  })

  it('are recorded and counted in audit mode, and admit every client', async () => {
    const own = await start(
      'protocol: TCP',
      "    mode: Audit\n    rules: [{ deny: cidr('127.0.0.0/8').containsIP(source.address) }]",
    )
    assert.equal(await talk(own.port, ['hello']), 'hello')
    const record = await own.only()
    assert.deepEqual([record.verdict, record.enforced], ['denied', false])
    const series =
      'portcullis_authorization_audit_denials_total{policy="section:frontendPolicies",rule="networkAuthorization[0]",action="Deny",cause="matched"}'
    assert.equal(own.metric(series), 1)
    assert.equal(
      own.lines.some((line) => line.includes('authorization failed')),
      false,
    )
  })

  it('include a host, an id and a body for misdirected requests and unknown hosts', async () => {
    const port = await freePort()
    const own = await startDeciding(
      `gateways:
  edge:
    port: ${port}
    listeners:
    - { name: a, hostname: a.test, tls: { ${tls()} } }
    - { name: b, hostname: b.test, tls: { ${tls()}, minVersion: TLSv1.3 } }
routes:
- name: web
  gateways: [edge]
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`,
      'json',
    )
    running.push(own)
    for (const [host, status, title] of [
      ['b.test', 421, 'Misdirected Request'],
      ['c.test', 404, 'Not Found'],
    ] as const) {
      const response = await talkTls(port, { servername: 'a.test' }, GET.replace('a.test', host))
      const [, id = ''] = /\r\nx-request-id: (\S+)\r\n/.exec(response) ?? []
      assert.match(response, new RegExp(`^HTTP/1.1 ${status} ${title}\r\n`))
      assert.ok(response.endsWith(`\r\n\r\n${title}\nrequest ${id}\n`), response)
      const line = JSON.parse(own.lines.at(-1) ?? '{}')
      assert.deepEqual(
        [line['http.status'], line['http.host'], line['http.path'], line['request.id']],
        [status, host, '/', id],
      )
      assert.equal(line['tls.sni'], 'a.test')
    }
  })

  it('are recorded once on a port with several listeners', async () => {
    const port = await freePort()
    const own = await startDeciding(`gateways:
  edge:
    port: ${port}
    listeners:
    - { name: a, hostname: a.test }
    - { name: b, hostname: b.test }
frontendPolicies:
  networkAuthorization:
    mode: Audit
    rules: [{ require: source.port == 1 }]
routes:
- name: web
  gateways: [edge]
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`)
    running.push(own)
    assert.match(await talk(port, [GET]), /200 OK/)
    assert.equal((await own.only()).cause, 'false')
  })
})
