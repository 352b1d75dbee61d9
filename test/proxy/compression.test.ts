import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, createGunzip, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const TEXT = 'portcullis '.repeat(400)

type Headers = Readonly<Record<string, string>>

/** What the backend sends at each path. */
const RESPONSES: Readonly<Record<string, { status?: number; headers: Headers; body?: string }>> = {
  '/text': { headers: { 'content-type': 'text/plain; charset=utf-8' } },
  '/json': { headers: { 'content-type': 'Application/Vnd.X+JSON', etag: '"a"' } },
  '/weak': { headers: { 'content-type': 'text/plain', etag: 'W/"a"', vary: 'Origin' } },
  '/varies': { headers: { 'content-type': 'text/plain', vary: 'accept-encoding, origin' } },
  '/image': { headers: { 'content-type': 'image/png' } },
  '/untyped': { headers: {} },
  '/short': { headers: { 'content-type': 'text/plain' }, body: 'short' },
  '/coded': { headers: { 'content-type': 'text/plain', 'content-encoding': 'x-odd' } },
  '/kept': { headers: { 'content-type': 'text/plain', 'cache-control': 'private, No-Transform' } },
  '/partial': {
    status: 206,
    headers: { 'content-type': 'text/plain', 'content-range': 'bytes 0-4399/9000' },
  },
  '/digest': {
    headers: { 'content-type': 'text/plain', 'accept-ranges': 'bytes', 'content-md5': 'x' },
  },
  '/same': { status: 304, headers: { etag: '"a"' } },
}

interface Seen {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

describe('compression', () => {
  let backend: Server
  let gateway: WholeGateway
  let port: number
  let tick: () => void = () => {}

  before(async () => {
    backend = createServer((asked, response) => {
      const path = asked.url ?? ''
      if (path === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: first\n\n')
        tick = () => response.end('data: last\n\n')
        return
      }
      if (path === '/chunked') {
        response.writeHead(200, { 'content-type': 'text/plain' })
        for (let i = 0; i < 100; i++) response.write(TEXT)
        response.end()
        return
      }
      const { status = 200, headers, body = TEXT } = RESPONSES[path] ?? { headers: {} }
      const length = status === 304 ? {} : { 'content-length': String(body.length) }
      response.writeHead(status, { ...headers, ...length })
      response.end(status === 304 ? undefined : body)
    })
    const upstream = await listen(backend)
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: own
  matches: [{ path: { pathPrefix: /own } }]
  policies: { compression: { minBytes: 1 }, directResponse: { status: 200, body: ${TEXT.trim()}, headers: { content-type: "'text/plain'" } } }
- name: rest
  policies: { compression: {} }
  backends: [{ host: 127.0.0.1:${upstream} }]
`)
  })

  after(async () => {
    await gateway.stop()
    backend.close()
    backend.closeAllConnections()
  })

  const get = (path: string, headers: Headers = {}, method = 'GET') =>
    new Promise<Seen>((resolve, reject) => {
      const own = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
      own.on('error', reject)
      own.on('response', (response) => {
        const pieces: Buffer[] = []
        response.on('data', (bytes: Buffer) => pieces.push(bytes))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(pieces),
          }),
        )
      })
      own.end()
    })

  for (const [coding, decode] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ] as const) {
    it(`responds in ${coding}`, async () => {
      for (const [path, whole] of [
        ['/text', TEXT],
        ['/chunked', TEXT.repeat(100)],
        ['/own', TEXT.trim()],
      ] as const) {
        const { status, headers, body } = await get(path, { 'accept-encoding': coding })
        assert.equal(status, 200)
        assert.equal(headers['content-encoding'], coding)
        assert.equal(headers.vary, 'Accept-Encoding')
        assert.ok(body.length < whole.length / 10)
        assert.equal(decode(body).toString(), whole)
      }
    })
  }

  it('uses the most preferred coding', async () => {
    const { headers } = await get('/text', { 'accept-encoding': 'zstd;q=0.5, gzip, br;q=0.7' })
    assert.equal(headers['content-encoding'], 'gzip')
  })

  it('sends Vary even if the client accepts no coding', async () => {
    const { headers, body } = await get('/text')
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(headers['content-length'], String(TEXT.length))
    assert.equal(headers.vary, 'Accept-Encoding')
    assert.equal(body.toString(), TEXT)
  })

  for (const path of ['/image', '/untyped', '/short', '/coded', '/kept', '/partial']) {
    it(`leaves ${path} as it is`, async () => {
      const { headers, body } = await get(path, { 'accept-encoding': 'gzip' })
      assert.equal(headers['content-encoding'], path === '/coded' ? 'x-odd' : undefined)
      assert.equal(headers.vary, undefined)
      assert.equal(body.toString(), RESPONSES[path]?.body ?? TEXT)
    })
  }

  it('makes strong validators weak, and drops headers about other bytes', async () => {
    const accept = { 'accept-encoding': 'gzip' }
    assert.equal((await get('/json', accept)).headers.etag, 'W/"a"')
    const weak = await get('/weak', accept)
    assert.equal(weak.headers.etag, 'W/"a"')
    assert.equal(weak.headers.vary, 'Origin, Accept-Encoding')
    assert.equal((await get('/varies', accept)).headers.vary, 'accept-encoding, origin')
    const { headers } = await get('/digest', accept)
    assert.equal(headers['accept-ranges'], undefined)
    assert.equal(headers['content-md5'], undefined)
    const same = await get('/same', { ...accept, 'if-none-match': 'W/"a"' })
    assert.deepEqual([same.status, same.headers.etag], [304, 'W/"a"'])
    assert.equal((await get('/same', { 'if-none-match': '"a"' })).headers.etag, '"a"')
  })

  it('has no body for HEAD, and no incorrect length', async () => {
    const { headers, body } = await get('/text', { 'accept-encoding': 'gzip' }, 'HEAD')
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(headers['content-length'], undefined)
    assert.equal(headers.vary, 'Accept-Encoding')
    assert.equal(body.length, 0)
  })

  it('does not delay events', async () => {
    const events = await new Promise<string>((resolve, reject) => {
      const headers = { 'accept-encoding': 'gzip' }
      const own = request({ host: '127.0.0.1', port, path: '/events', headers, agent: false })
      own.on('error', reject)
      own.on('response', (response) => {
        const plain = response.pipe(createGunzip())
        let text = ''
        plain.on('error', reject)
        plain.on('data', (bytes: Buffer) => {
          text += bytes.toString()
          // The backend continues only after the client has read the first event.
          if (text === 'data: first\n\n') tick()
        })
        plain.on('end', () => resolve(text))
      })
      own.end()
    })
    assert.equal(events, 'data: first\n\ndata: last\n\n')
  })
})
