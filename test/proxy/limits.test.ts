import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, listen } from './harness.ts'
import { askHttp2 } from './http2-peers.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

describe('limits', () => {
  let backend: Server
  let upstream: number
  let gateway: WholeGateway
  let port: number
  /** Bytes of bodies that the backend received, by request ID. */
  const got: { whole: boolean; byteCount: number }[] = []

  before(async () => {
    backend = createServer((request, response) => {
      const own = { whole: false, byteCount: 0 }
      got.push(own)
      request.on('data', (bytes) => (own.byteCount += bytes.length))
      request.on('end', () => {
        own.whole = true
        if (request.url !== '/held') response.end(`${own.byteCount} bytes`)
      })
      request.on('error', () => {})
    })
    upstream = await listen(backend)
  })

  after(() => {
    backend.close()
    backend.closeAllConnections()
  })

  afterEach(() => gateway.stop())

  async function start(frontend: string, { config = '', policies = '' } = {}): Promise<void> {
    port = await free()
    got.length = 0
    gateway = await startWhole(`${config}gateways: { default: { port: ${port} } }
${frontend === '' ? '' : `frontendPolicies: { http: { ${frontend} } }\n`}routes:
- name: all
${policies}  backends: [{ host: 127.0.0.1:${upstream} }]
`)
  }

  const lastLine = async (path: string) => {
    await until('the record', () => gateway.lines.some((line) => line['http.path'] === path))
    return gateway.lines.findLast((line) => line['http.path'] === path)
  }

  const chunks = (count: number, size: number) =>
    `${`${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`.repeat(count)}0\r\n\r\n`

  describe('of a body, HTTP/1.1', () => {
    it('a length above the limit is rejected before the request reaches the backend', async () => {
      await start('maxBodySize: 1000')
      const head = 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n'
      const text = await exchange(
        port,
        `${head}${'x'.repeat(1001)}GET /b HTTP/1.1\r\nhost: x\r\n\r\n`,
      )
      assert.match(text, /^HTTP\/1\.1 413 Content Too Large\r\n/)
      assert.match(text, /\r\nconnection: close\r\n/)
      // Bytes after the body are not read as a request.
      assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1)
      assert.equal(got.length, 0)
      const line = await lastLine('/a')
      assert.deepEqual([line?.['reason'], line?.['detail']], ['too-large', 'body-too-large'])
      const hits = 'portcullis_limit_hits_total{listener="default/default",limit="body-size"}'
      assert.equal(gateway.metric(hits), 1)
    })

    it('with Expect: 100-continue the gateway does not request the body', async () => {
      await start('maxBodySize: 1000')
      const head =
        'POST /a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1001\r\n\r\n'
      assert.match(await exchange(port, head), /^HTTP\/1\.1 413 /)
    })

    it('a body at the limit passes, and the connection stays open', async () => {
      await start('maxBodySize: 1000')
      const request = `POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n${'x'.repeat(1000)}`
      const text = await exchange(port, request.repeat(2), /(1000 bytes[\s\S]*){2}/)
      assert.equal(text.match(/200 OK/g)?.length, 2)
    })

    it('chunks count by their data: many small ones within the limit pass', async () => {
      await start('maxBodySize: 1000')
      const head = 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
      const text = await exchange(port, head + chunks(1000, 1), 'bytes')
      assert.match(text, /200 OK[\s\S]*1000 bytes/)
      assert.equal((await lastLine('/a'))?.['bytes.received'], 1000)
    })

    it('chunks above the limit are rejected, and the backend never has a complete body', async () => {
      await start('maxBodySize: 1000')
      const head = 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
      const text = await exchange(port, head + chunks(11, 100))
      assert.match(text, /^HTTP\/1\.1 413 /)
      assert.match(text, /\r\nconnection: close\r\n/)
      assert.ok(got.every(({ whole }) => !whole))
      assert.equal((await lastLine('/a'))?.['reason'], 'too-large')
    })

    it('a body that a rule reads and that does not fit is rejected, not admitted', async () => {
      const policies =
        '  policies: { authorization: { rules: [{ deny: \'string(request.body).contains("evil")\' }] } }\n'
      await start('maxBufferSize: 1000', { policies })
      const post = (body: string) =>
        `POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
      assert.match(await exchange(port, post('good')), / 200 OK/)
      assert.match(await exchange(port, post('evil')), / 403 /)
      assert.match(await exchange(port, post(`${'x'.repeat(1000)}evil`)), / 413 /)
      assert.deepEqual(
        got.map(({ byteCount }) => byteCount),
        [4],
      )
      const line = await lastLine('/a')
      assert.deepEqual([line?.['reason'], line?.['detail']], ['too-large', 'buffer'])
    })

    it('a body that stops arriving is a 408 with that reason', async () => {
      await start('bodyTimeout: 300ms')
      const text = await exchange(
        port,
        'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nonly this',
      )
      assert.match(text, /^HTTP\/1\.1 408 /)
      const line = await lastLine('/a')
      assert.deepEqual([line?.['http.status'], line?.['reason']], [408, 'body-timeout'])
    })

    it('a malformed body is a 400 of the client, not a fault of the backend', async () => {
      await start('')
      const head = 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
      assert.match(await exchange(port, `${head}3\r\nabc\r\nzz\r\n`), /^HTTP\/1\.1 400 /)
      const line = await lastLine('/a')
      assert.deepEqual([line?.['reason'], line?.['detail']], ['bad-request', 'bad-chunk-size'])
    })
  })

  describe('of a body, HTTP/2', () => {
    for (const [what, headers] of [
      ['a length that is too much', { 'content-length': '200000' }],
      ['bytes that become too much', {}],
    ] as const) {
      it(`${what}: 413, and the connection goes on with other streams`, async () => {
        await start('maxBodySize: 100000')
        const session = connectHttp2(`http://127.0.0.1:${port}`)
        session.on('error', () => {})
        const own = { method: 'POST', path: '/a', body: Buffer.alloc(200_000) }
        const response = await askHttp2(session, { ...own, headers })
        assert.equal(response.status, 413)
        assert.ok(got.every(({ whole }) => !whole))
        const next = await askHttp2(session, { ...own, path: '/b', body: Buffer.alloc(100_000) })
        assert.deepEqual([next.status, String(next.body)], [200, '100000 bytes'])
        session.destroy()
        assert.equal((await lastLine('/a'))?.['reason'], 'too-large')
      })
    }

    it('a body that stops arriving is a 408', async () => {
      await start('bodyTimeout: 300ms')
      const session = connectHttp2(`http://127.0.0.1:${port}`)
      const stream = session.request({ ':method': 'POST', ':path': '/a' })
      stream.write('only this')
      const [headers] = await new Promise<[Record<string, unknown>]>((resolve) =>
        stream.on('response', (own) => resolve([{ ...own }])),
      )
      assert.equal(headers[':status'], 408)
      session.destroy()
    })
  })

  describe('of concurrent requests', () => {
    it('excess requests get 503 and Retry-After immediately; a finished one makes room', async () => {
      await start('', { config: 'config: { limits: { requests: 2 } }\n' })
      const held = [0, 1].map(() => {
        const socket = connect(port, '127.0.0.1')
        socket.write('GET /held HTTP/1.1\r\nhost: x\r\n\r\n')
        return socket
      })
      await until('both at the backend', () => got.filter(({ whole }) => whole).length === 2)
      // The connection stays open: only the request exceeded the limit.
      const get = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
      const text = await exchange(port, get + get, /(overload|503)[\s\S]*503[\s\S]*request/)
      assert.equal(text.match(/^HTTP\/1\.1 503 /gm)?.length, 2)
      assert.match(text, /\r\nretry-after: 1\r\n/)
      const line = await lastLine('/a')
      assert.deepEqual([line?.['reason'], line?.['detail']], ['overload', 'requests'])
      const hits = 'portcullis_limit_hits_total{listener="default/default",limit="overload"}'
      assert.equal(gateway.metric(hits), 2)
      for (const socket of held) socket.destroy()
      await until('room', async () => (await exchange(port, get, 'bytes')).includes('200 OK'))
    })

    it('an overloaded process sheds load, and serves all requests again once it recovers', async () => {
      await start('', { config: 'config: { limits: { delay: 20ms } }\n' })
      const get = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
      let isBusy = true
      const busy = () => {
        const end = performance.now() + 200
        while (performance.now() < end);
        if (isBusy) setImmediate(busy)
      }
      busy()
      await until('some to be shed', async () =>
        (await exchange(port, get, /\d bytes|request /)).includes(' 503 '),
      )
      isBusy = false
      await until('all to be served', async () => {
        const all = await Promise.all([1, 2, 3].map(() => exchange(port, get, /bytes|request /)))
        return all.every((text) => text.includes('200 OK'))
      })
      assert.ok(
        gateway.lines.some(({ reason, detail }) => reason === 'overload' && detail === 'delay'),
      )
    })
  })

  it('of requests that wait for a backend: excess ones are a 503 with Retry-After', async () => {
    const held: ServerResponse[] = []
    const slow = createServer((_, response) => void held.push(response))
    const [own, to] = await Promise.all([free(), listen(slow)])
    const busy = await startWhole(`gateways: { default: { port: ${own} } }
routes:
- backends:
  - host: 127.0.0.1:${to}
    policies: { connectionLimits: { maxConnections: 1, maxPendingRequests: 1 } }
`)
    const get = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
    const first = exchange(own, get, 'done')
    await until('the first one to be under way', () => held.length === 1)
    const responses = [exchange(own, get, /done|request /), exchange(own, get, /done|request /)]
    const rejected = await Promise.race(responses)
    assert.match(rejected, /^HTTP\/1.1 503 /)
    assert.match(rejected, /^retry-after: 1\r$/m)
    assert.equal(busy.lines.at(-1)?.['reason'], 'overload')
    held[0]?.end('done')
    await until('the one that waited', () => held.length === 2)
    held[1]?.end('done')
    await Promise.all([first, ...responses])
    await busy.stop()
    slow.close()
  })
})
