import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { hasten } from '../passing-time.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { exchange, listen } from './harness.ts'
import { END_HEADERS, END_STREAM, fieldBlock, frame, HEADERS, rawHttp2 } from './http2-gateway.ts'
import { askHttp2 } from './http2-peers.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const GET = 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

describe('metrics of connections', { skip: WITHOUT_OPENSSL }, () => {
  const mirrored: IncomingHttpHeaders[] = []
  const seen: IncomingHttpHeaders[] = []
  let backend: Server
  let mirror: Server
  let gateway: WholeGateway
  let ports: { plain: number; secured: number }

  before(async () => {
    backend = createServer((request, response) => {
      seen.push(request.headers)
      if (request.url === '/chunks') for (let i = 0; i < 50; i++) response.write('x')
      if (request.url !== '/held') response.end('hello')
    })
    mirror = createServer((request, response) => {
      mirrored.push(request.headers)
      response.end()
    })
    const [own, copy, plain, secured] = await Promise.all([
      listen(backend),
      listen(mirror),
      free(),
      free(),
    ])
    ports = { plain, secured }
    const { cert, key } = makeAuthority('metrics').issue({ names: ['DNS:a.test'] })
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    gateway = await startWhole(`frontendPolicies:
  http: { http1IdleTimeout: 300ms, headTimeout: 300ms, http2MaxResetsPerSecond: 5 }
gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: mirrored
  gateways: [plain]
  matches: [{ path: { exact: /mirrored } }]
  policies: { requestMirror: { backend: { host: '127.0.0.1:${copy}' } } }
  backends: [{ host: 127.0.0.1:${own} }]
- name: limited
  gateways: [plain]
  matches: [{ path: { pathPrefix: /limited } }]
  policies: { localRateLimit: { requests: 100, unit: Minutes, key: request.path } }
  backends: [{ host: 127.0.0.1:${own} }]
- name: all
  gateways: [plain, secured]
  backends: [{ host: 127.0.0.1:${own} }]
`)
  })

  after(async () => {
    await gateway.stop()
    for (const server of [backend, mirror]) {
      server.close()
      server.closeAllConnections()
    }
  })

  const metric = (name: string, listener: string, more: string) =>
    gateway.metric(`portcullis_${name}{listener="${listener}",${more}}`)
  const closed = (reason: string, protocol = 'http1') =>
    metric(
      'downstream_connections_closed_total',
      'plain/default',
      `protocol="${protocol}",reason="${reason}"`,
    )

  it('bytes of a connection, also while it is still open', async () => {
    const before = {
      received: metric('downstream_received_bytes_total', 'plain/default', 'protocol="http1"'),
      sent: metric('downstream_sent_bytes_total', 'plain/default', 'protocol="http1"'),
    }
    const socket = connect(ports.plain, '127.0.0.1')
    let byteCount = 0
    socket.on('data', (bytes) => (byteCount += bytes.length))
    const request = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
    socket.write(request)
    await until('the response', () => byteCount > 0)
    const received = () =>
      metric('downstream_received_bytes_total', 'plain/default', 'protocol="http1"')
    assert.equal(received() - before.received, request.length)
    const sent = metric('downstream_sent_bytes_total', 'plain/default', 'protocol="http1"')
    assert.equal(sent - before.sent, byteCount)
    socket.destroy()
    await until('its end', () => gateway.connections() === 0)
    assert.equal(received() - before.received, request.length, 'is counted once')
  })

  it('bytes of TLS connections without the TLS overhead, and handshakes', async () => {
    const socket = connectTls({
      port: ports.secured,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      servername: 'a.test',
    })
    socket.write(GET)
    socket.resume()
    await new Promise((resolve) => socket.on('close', resolve))
    await until('its end', () => gateway.connections() === 0)
    const received = metric(
      'downstream_received_bytes_total',
      'secured/default',
      'protocol="http1"',
    )
    assert.equal(received, GET.length)
    const count = 'portcullis_tls_handshake_duration_seconds_count{listener="secured/default"}'
    assert.equal(gateway.metric(count), 1)
  })

  it('why connections were closed', async () => {
    const idle = connect(ports.plain, '127.0.0.1')
    idle.write('GET /a HTTP/1.1\r\nhost: x\r\n\r\n')
    idle.resume()
    await hasten(until('idle', () => closed('idle') === 1))
    assert.equal(metric('limit_hits_total', 'plain/default', 'limit="idle-timeout"'), 1)
    const before = closed('timeout')
    await hasten(exchange(ports.plain, 'GET /a HTTP/1.1\r\nho'))
    await until('timeout', () => closed('timeout') === before + 1)
    await exchange(ports.plain, 'no request\r\n\r\n')
    await until('bad-request', () => closed('bad-request') === 1)
    const gone = closed('client')
    const client = connect(ports.plain, '127.0.0.1')
    client.write('GET /held HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('the request', () => gateway.connections() === 1)
    client.destroy()
    await until('client', () => closed('client') === gone + 1)
  })

  it('HTTP/2 streams that the gateway resets, by reason, also in the log', async () => {
    const socket = await rawHttp2(ports.plain)
    const head = fieldBlock([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'x'],
      [':path', '/held'],
    ])
    const streams = Array.from({ length: 150 }, (_, i) =>
      frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, head),
    )
    socket.write(Buffer.concat(streams))
    const rejected = () => metric('http2_resets_sent_total', 'plain/default', 'reason="refused"')
    await until('the resets', () => rejected() === 50)
    socket.destroy()
    const records = gateway.lines.filter(({ error }) => error === 'stream-reset')
    assert.ok(records.length >= 1 && records.length < 50, String(records.length))
    assert.equal(records[0]?.['reason'], 'refused')
    assert.equal(records[0]?.['listener'], 'plain/default')
  })

  it('HTTP/2 streams that are reset, and a flood of them', async () => {
    const session = connectHttp2(`http://127.0.0.1:${ports.plain}`)
    session.on('error', () => {})
    assert.equal((await askHttp2(session, { path: '/a' })).status, 200)
    for (let i = 0; i < 30; i++) {
      const stream = session.request({ ':path': '/held' })
      stream.on('error', () => {})
      stream.close(8)
    }
    await until(
      'the flood',
      () => metric('http2_floods_total', 'plain/default', 'kind="resets"') === 1,
    )
    assert.ok(metric('http2_resets_total', 'plain/default', 'direction="received"') > 5)
    assert.equal(metric('limit_hits_total', 'plain/default', 'limit="http2-resets"'), 1)
    await until('its end', () => closed('limit', 'http2') === 1)
    session.destroy()
  })

  it('keys of a rate limit', async () => {
    for (const path of ['/limited/1', '/limited/2', '/limited/2'])
      await exchange(ports.plain, GET.replace('/a', path))
    assert.match(gateway.metrics(), /^portcullis_rate_limit_keys\{policy="[^"]+"\} 2$/m)
  })

  it('chunks of a response without their framing', async () => {
    const text = await exchange(ports.plain, GET.replace('/a', '/chunks'))
    assert.match(text, /\r\ntransfer-encoding: chunked\r\n/)
    await until('the record', () => gateway.lines.some((line) => line['http.path'] === '/chunks'))
    const line = gateway.lines.find((own) => own['http.path'] === '/chunks')
    assert.equal(line?.['bytes.sent'], 55)
  })

  it('the span of a mirror is not mistaken for that of the client', async () => {
    await exchange(
      ports.plain,
      GET.replace('/a', '/mirrored').replace('\r\n\r\n', `\r\ntraceparent: ${PARENT}\r\n\r\n`),
    )
    await until('the copy', () => mirrored.length === 1)
    assert.equal(mirrored[0]?.['traceparent'], undefined)
    assert.equal(seen.at(-1)?.['traceparent'], PARENT)
  })
})
