import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { silence } from '../../src/upstream/fixtures/silent.ts'
import { free } from '../proxy/accepting.ts'
import { exchange, type RawUpstream, startUpstream } from '../proxy/harness.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const LARGE = 64 << 20

describe('unresponsive peers', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number
  let deaf: { readonly port: number; close(): Promise<void> }
  let paths: string[] = []

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      const path = /^\w+ (\S+)/.exec(text)?.[1] ?? ''
      paths.push(path)
      if (path === '/ok' || path === '/slow-reader') socket.write(OK)
      if (path === '/half') socket.end()
      if (path === '/large') {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LARGE}\r\n\r\n`)
        socket.write(Buffer.alloc(LARGE))
      }
    })
    deaf = await silence()
    port = await free()
    gateway = await startWhole(`config: { backend: { connectTimeout: 500ms } }
gateways: { default: { port: ${port} } }
frontendPolicies: { http: { bodyTimeout: 500ms } }
routes:
- name: deaf
  matches: [{ path: { exact: /deaf } }]
  backends: [{ host: 127.0.0.1:${deaf.port} }]
- name: all
  policies: { timeout: { backendRequest: 500ms } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
    await deaf.close()
  })

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
  const line = (path: string) => gateway.lines.findLast((own) => own['http.path'] === path)
  const active = () => gateway.metric('portcullis_upstream_connections_active{backend="all/0"}')

  for (const [what, path, status, reason] of [
    ['takes requests and says nothing', '/silent', 504, 'upstream-timeout'],
    ['closes its side instead of responding', '/half', 502, 'upstream-reset'],
    ['does not even accept', '/deaf', 504, 'upstream-connect'],
  ] as const) {
    it(`a backend that ${what}: ${status}, ${reason}`, async () => {
      const text = await exchange(port, get(path))
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.deepEqual([line(path)?.['http.status'], line(path)?.['reason']], [status, reason])
      await until('its connection to go', () => active() === 0)
    })
  }

  it('a pooled connection that the backend has closed costs no request', async () => {
    for (const close of [(own: Socket) => own.end(), (own: Socket) => own.resetAndDestroy()]) {
      assert.match(await exchange(port, get('/ok'), 'ok'), /200 OK/)
      for (const socket of upstream.sockets) close(socket)
      assert.match(await exchange(port, get('/ok'), 'ok'), /200 OK/)
    }
  })

  it('a client that reads nothing of its response is disconnected, and its backend connection is closed', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(get('/large'))
    await until('the request', () => paths.includes('/large'))
    await until('its end', () => line('/large') !== undefined)
    assert.equal(line('/large')?.['reason'], 'client-gone')
    assert.ok(Number(line('/large')?.['bytes.sent']) < LARGE)
    await until('its connection to go', () => active() === 0)
    socket.destroy()
  })

  it('a client that disconnects while its request waits frees what waited', async () => {
    const socket = connect(port, '127.0.0.1')
    paths = []
    socket.write('GET /silent HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('the request', () => paths.includes('/silent'))
    socket.resetAndDestroy()
    await until('its connection to go', () => active() === 0)
    await until('the client to go', () => gateway.connections() === 0)
  })

  it('a backend that recovers is used again without a restart', async () => {
    const own = await free()
    await gateway.apply(`config: { backend: { connectTimeout: 500ms } }
gateways: { default: { port: ${port} } }
routes:
- name: back
  backends: [{ host: 127.0.0.1:${own} }]
`)
    assert.match(await exchange(port, get('/')), /^HTTP\/1\.1 503 /)
    assert.equal(line('/')?.['reason'], 'upstream-connect')
    const server = createServer((socket) => void socket.on('data', () => socket.end(OK)))
    server.listen(own, '127.0.0.1')
    await new Promise((resolve) => server.on('listening', resolve))
    assert.match(await exchange(port, get('/')), /^HTTP\/1\.1 200 /)
    server.close()
  })
})
