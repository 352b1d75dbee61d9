import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startEcho, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const READS_BODY = `authorization: { rules: [{ allow: "size(request.body) > 0" }] }`

describe('a mirror', () => {
  const opened: { close: () => unknown }[] = []
  let gateway: WholeGateway | undefined

  afterEach(async () => {
    for (const own of opened.splice(0)) own.close()
    await gateway?.stop()
    gateway = undefined
  })
  after(() => gateway?.stop())

  /** Returns the port of the gateway. */
  async function start(upstream: number, mirror: RawUpstream, policies = ''): Promise<number> {
    const port = await free()
    opened.push(mirror)
    gateway = await startWhole(`frontendPolicies: { http: { requestTrailers: Forward } }
gateways: { default: { port: ${port} } }
routes:
- name: r
  policies:
    requestMirror: { backend: { host: '127.0.0.1:${mirror.port}' } }
    ${policies}
  backends: [{ host: '127.0.0.1:${upstream}' }]
`)
    return port
  }

  async function upstreamOf(response: string): Promise<number> {
    const upstream = await startEcho(response)
    opened.push(upstream)
    return upstream.port
  }

  it('gets the ID of the request', async () => {
    const upstream = await startEcho(OK)
    opened.push(upstream)
    const mirror = await startEcho(OK)
    const port = await start(upstream.port, mirror)
    await exchange(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', 'hello')
    await until('the copy', () => mirror.received.join('').includes('\r\n\r\n'))
    const id = /x-request-id: .+/.exec(upstream.received.join(''))?.[0]
    assert.ok(id !== undefined && mirror.received.join('').includes(id), mirror.received.join(''))
  })

  for (const [title, trailers] of [
    ['', ''],
    [', with trailers', 'x-sum: 1\r\n'],
  ] as const) {
    it(`gets a body that a rule has read as one, whatever is in it${title}`, async () => {
      const inside = '0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n'
      const chunk = `${inside.length.toString(16)}\r\n${inside}\r\n`
      const mirror = await startUpstream(() => {})
      const port = await start(await upstreamOf(OK), mirror, READS_BODY)
      const body = `${chunk}0\r\n${trailers}\r\n`
      const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
      assert.match(await exchange(port, head + body, 'hello'), /^HTTP\/1\.1 200 /)
      await until('the copy', () => mirror.received.join('').endsWith(body))
      assert.equal(mirror.received.join('').split('\r\n\r\n')[1], chunk.split('\r\n\r\n')[0])
    })
  }

  it('is closed if the body never arrives because the backend is unreachable', async () => {
    const mirror = await startUpstream(() => {})
    const port = await start(await free(), mirror)
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n'
    assert.match(await exchange(port, head, 'request'), /^HTTP\/1\.1 503 /)
    await until('the connection to the mirror to be gone', () => mirror.sockets.size === 0)
  })

  it('is closed if the response precedes the body and the client disconnects', async () => {
    const mirror = await startUpstream(() => {})
    const port = await start(await upstreamOf(OK), mirror)
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\nconnection: close\r\n\r\nabc'
    assert.match(await exchange(port, head, 'hello'), /^HTTP\/1\.1 200 /)
    await until('the beginning of the copy', () => mirror.received.join('').endsWith('abc'))
    await until('the connection to the mirror to be gone', () => mirror.sockets.size === 0)
  })

  it('gets a complete body even if the backend got its beginning twice', async () => {
    const mirror = await startUpstream(() => {})
    let attempts = 0
    const upstream = await startUpstream((text, socket, all) => {
      if (attempts === 0 && text.includes('POST')) socket.resetAndDestroy()
      else if (all.endsWith('0123456789')) socket.write(OK)
      if (text.includes('POST')) attempts++
    })
    opened.push(upstream)
    const retry = 'retry: { attempts: 2, backoff: 1ms }'
    const port = await start(upstream.port, mirror, retry)
    const response = exchange(
      port,
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n0123456789',
      'hello',
    )
    assert.match(await response, /^HTTP\/1\.1 200 /)
    assert.equal(attempts, 2)
    await until('the copy', () => mirror.received.join('').endsWith('\r\n\r\n0123456789'))
  })
})
