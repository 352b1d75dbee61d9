import assert from 'node:assert/strict'
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { END_HEADERS, END_STREAM, fieldBlock, frame, HEADERS } from '../proxy/http2-gateway.ts'
import { GOAWAY, NO_SETTINGS, words } from '../proxy/scripted-upstream.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

describe('streams that an HTTP/2 backend resets', () => {
  let backend: Http2Server
  let gateway: WholeGateway
  let port: number
  /** How many times the other backend sends GOAWAY before it responds. */
  let leavings = 0
  const leaving = createTcpServer((socket) => {
    let received = 0
    socket.on('error', () => {})
    socket.write(NO_SETTINGS)
    socket.on('data', (bytes) => {
      const before = received
      received += bytes.length
      // The preface and the frames after it are shorter than they are with a request.
      if (before > 90 || received <= 90) return
      const head = fieldBlock([[':status', '200']])
      // RFC 9113 §6.8: no stream was processed.
      if (leavings-- > 0) socket.write(frame(GOAWAY, 0, 0, words(0, NGHTTP2_NO_ERROR)))
      else socket.end(frame(HEADERS, END_HEADERS | END_STREAM, 1, head))
    })
  })

  before(async () => {
    backend = createServer()
    backend.on('stream', (stream: ServerHttp2Stream, { ':path': path }) => {
      stream.on('error', () => {})
      if (path === '/refused') stream.close(NGHTTP2_REFUSED_STREAM)
      else if (path === '/internal') stream.close(NGHTTP2_INTERNAL_ERROR)
      else if (path === '/partial') {
        stream.respond({ ':status': 200, 'content-length': 100 })
        stream.write('abc', () => setImmediate(() => stream.close(NGHTTP2_INTERNAL_ERROR)))
      } else if (path === '/early') {
        stream.respond({ ':status': 413 })
        // RFC 9113 §8.1: the response is complete, and the rest of the request is not needed.
        stream.end('large', () => setImmediate(() => stream.close(NGHTTP2_NO_ERROR)))
      } else {
        stream.respond({ ':status': 200 })
        stream.end('next')
      }
    })
    const own = await listen(backend)
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: leaving
  matches: [{ path: { exact: /leaving } }]
  backends: [{ host: '127.0.0.1:${await listen(leaving)}', policies: { http: { version: HTTP2 } } }]
- name: all
  backends: [{ host: '127.0.0.1:${own}', policies: { http: { version: HTTP2 } } }]
`)
  })

  after(async () => {
    await gateway.stop()
    backend.close()
    leaving.close()
  })

  const post = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`

  for (const [path, response, reason, detail] of [
    ['/refused', /^HTTP\/1\.1 502 /, 'upstream-reset', 'refused-stream'],
    ['/internal', /^HTTP\/1\.1 502 /, 'upstream-reset', 'reset'],
    // node:http2 first ends the stream as if it were complete, and then resets it.
    ['/partial', /^HTTP\/1\.1 200 [\s\S]+\r\n\r\nabc$/, 'upstream-invalid', 'truncated-body'],
  ] as const) {
    it(`${path.slice(1)}: ${reason}, ${detail}`, async () => {
      assert.match(await exchange(port, post(path, 3), 'request'), response)
      const line = () => gateway.lines.findLast((own) => own['http.path'] === path)
      await until('the record', () => line() !== undefined)
      assert.equal(line()?.['reason'], reason)
      assert.equal(line()?.['detail'], detail)
    })
  }

  for (const [count, status] of [
    [1, 200],
    [2, 200],
    [9, 502],
  ] as const) {
    it(`what was not looked at is sent again; after ${count} times: ${status}`, async () => {
      leavings = count
      const text =
        'POST /leaving HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
      assert.match(
        await exchange(port, text, status === 200 ? 'HTTP/1.1 200' : 'request'),
        new RegExp(`^HTTP/1.1 ${status} `),
      )
      leavings = 0
    })
  }

  it('a request that got its response before it was complete does not delay the next request', async () => {
    const next = 'GET /next HTTP/1.1\r\nhost: x\r\n\r\n'
    const text = await exchange(port, post('/early', 2_000_000) + next, 'next')
    assert.match(text, /^HTTP\/1\.1 413 [\s\S]+large[\s\S]+HTTP\/1\.1 200 [\s\S]+next/)
  })
})
