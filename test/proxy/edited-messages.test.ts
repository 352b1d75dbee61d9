import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './doorstep.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nx-inner: a\r\n\r\n'
const ANSWER =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-inner: b\r\nX_Inner: c\r\nx-sum: d\r\n\r\n'

describe('what policies say of headers', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.endsWith('\r\n\r\n')) socket.write(HINTS + ANSWER)
    })
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: read
  matches: [{ path: { pathPrefix: /read } }]
  policies:
    requestHeaderModifier: { set: { x-user: nobody }, remove: [x-role] }
    authorization: { rules: [{ deny: "string(request.body) == 'forbidden'" }] }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: rest
  policies:
    requestHeaderModifier: { set: { x-user: nobody }, remove: [x-role] }
    responseHeaderModifier: { remove: [x-inner] }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  for (const path of ['/read', '/rest']) {
    it(`holds for trailers of a request to ${path}`, async () => {
      upstream.received.length = 0
      await exchange(
        port,
        `POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n` +
          '1\r\na\r\n0\r\nX-User: admin\r\nx_user: admin\r\nX-Role: admin\r\nX_Forwarded_For: 10.0.0.1\r\nx-sum: 1\r\n\r\n',
      )
      const [, , body = ''] = /^(.*?\r\n\r\n)(.*)$/s.exec(upstream.received.join('')) ?? []
      assert.equal(body, '1\r\na\r\n0\r\nx-sum: 1\r\n\r\n')
    })
  }

  it('holds for trailers of an answer, and for what is said before it', async () => {
    const text = await exchange(
      port,
      'GET /rest HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: close\r\n\r\n',
    )
    assert.match(text, /^HTTP\/1.1 103 Early Hints\r\nlink: <\/a>\r\n\r\nHTTP\/1.1 200 OK\r\n/)
    assert.match(text, /\r\n0\r\nx-sum: d\r\n\r\n$/)
  })
})

describe('the host of a request', () => {
  it('is that of its target where HTTP/1.0 has no other', async () => {
    const upstream = await startUpstream((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
    const port = await free()
    const gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${upstream.port} }] }]
`)
    await exchange(port, 'GET http://Public.example:81/x HTTP/1.0\r\n\r\n')
    await gateway.stop()
    upstream.close()
    assert.match(upstream.received.join(''), /^GET \/x HTTP\/1.1\r\nhost: public.example:81\r\n/)
  })
})
