import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const CHUNKS = 'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n'

describe('buffer', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (!/\r\n\r\n/.test(text)) return
      if (text.startsWith('GET /long')) {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n')
        setTimeout(() => socket.write('0\r\n\r\n'), 10)
      } else if (text.startsWith('GET /cut')) {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n')
        setTimeout(() => socket.destroy(), 10)
      } else if (text.startsWith('GET /trailers')) {
        socket.write(`HTTP/1.1 200 OK\r\n${CHUNKS}x-sum: 1\r\n\r\n`)
      } else if (text.startsWith('GET /empty')) {
        socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      } else if (text.startsWith('HEAD')) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n')
      } else socket.write(`HTTP/1.1 200 OK\r\n${CHUNKS}\r\n`)
    })
    port = await free()
    const limits = (mode: string) =>
      ['request', 'response'].map((at) => `${at}: { maxBytes: 5, failureMode: ${mode} }`).join()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { maxBufferSize: 1000 } }
routes:
- name: open
  matches: [{ path: { pathPrefix: /open } }]
  policies: { buffer: { ${limits('failOpen')} } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: denied
  matches: [{ path: { pathPrefix: /denied } }]
  policies: { buffer: { request: {} }, authorization: { rules: [{ deny: 'true' }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: rule
  matches: [{ path: { pathPrefix: /rule } }]
  policies: { authorization: { rules: [{ deny: "string(request.body) == 'a'" }] } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: closed
  policies: { buffer: { ${limits('FailClosed')} } }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  const ask = (line: string, rest = '\r\n') =>
    exchange(port, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}`)

  it('sends a request with its length once it is complete', async () => {
    upstream.received.length = 0
    const text = await ask('POST /', `${CHUNKS}\r\n`)
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(upstream.received.join(''), /content-length: 5\r\n[\s\S]*\r\n\r\nabcde$/)
    assert.doesNotMatch(upstream.received.join(''), /transfer-encoding/)
  })

  it('responds with 100 to a client that waits for it', async () => {
    const text = await ask('POST /', 'expect: 100-continue\r\ncontent-length: 5\r\n\r\nabcde')
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  })

  it('rejects a longer request', async () => {
    upstream.received.length = 0
    const text = await ask('POST /', 'content-length: 6\r\n\r\nabcdef')
    assert.match(text, /^HTTP\/1\.1 413 /)
    assert.equal(upstream.received.join(''), '')
  })

  it('rejects a longer request before the waiting client sends it', async () => {
    for (const path of ['/', '/rule']) {
      const long = path === '/' ? 6 : 2_000
      const text = await ask(
        `POST ${path}`,
        `expect: 100-continue\r\ncontent-length: ${long}\r\n\r\n`,
      )
      assert.match(text, /^HTTP\/1\.1 413 /)
    }
  })

  it('holds nothing of a denied request', async () => {
    const text = await ask('POST /denied', 'content-length: 6\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 403 /)
  })

  it('sends a response with its length once it is complete', async () => {
    assert.match(await ask('GET /'), /content-length: 5\r\n[\s\S]*\r\n\r\nabcde$/)
    assert.match(await ask('HEAD /'), /content-length: 7\r\n/)
    assert.match(await ask('GET /empty'), /^HTTP\/1\.1 204 [\s\S]*\r\n\r\n$/)
  })

  it('keeps trailers, and therefore the framing', async () => {
    assert.match(
      await ask('GET /trailers'),
      /\r\n\r\n(5\r\nabcde|3\r\nabc\r\n2\r\nde)\r\n0\r\nx-sum: 1\r\n\r\n$/,
    )
  })

  it('rejects a longer response, and one that breaks off', async () => {
    for (const path of ['/long', '/cut']) {
      const text = await ask(`GET ${path}`)
      assert.match(text, /^HTTP\/1\.1 502 /)
      // IDs are hexadecimal, and may contain any of its letters.
      assert.match(text, /\r\n\r\nBad Gateway\n/)
    }
  })

  it('streams longer bodies if configured to', async () => {
    upstream.received.length = 0
    const text = await ask('POST /open', 'content-length: 6\r\n\r\nabcdef')
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(upstream.received.join(''), /content-length: 6\r\n[\s\S]*\r\n\r\nabcdef$/)
  })
})
