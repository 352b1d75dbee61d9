import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startEcho, startGateway, startUpstream } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nx-inner: a\r\n\r\n'
const RESPONSE =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-inner: b\r\nX_Inner: c\r\nx-sum: d\r\n\r\n'

describe('a header policy', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.endsWith('\r\n\r\n')) socket.write(HINTS + RESPONSE)
    })
    port = await free()
    gateway = await startWhole(`frontendPolicies: { http: { requestTrailers: Forward } }
gateways: { default: { port: ${port} } }
routes:
- name: read
  matches: [{ path: { pathPrefix: /read } }]
  policies:
    requestHeaderModifier: { set: { x-user: nobody }, remove: [x-role] }
    authorization: { rules: [{ deny: "string(request.body) == 'forbidden'" }] }
  backends: [{ host: 127.0.0.1:${upstream.port} }]
- name: computed
  matches: [{ path: { pathPrefix: /computed } }]
  policies:
    responseHeaders:
      set: { x-missing: static }
      compute:
        x-seen: "string(response.code) + ' ' + request.method + ' ' + string(size(response.body))"
        x-missing: response.headers['x-none']
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

  it('may depend on the response', async () => {
    const text = await exchange(
      port,
      'GET /computed HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    )
    assert.match(text, /x-seen: 200 GET 2\r\n/)
    assert.doesNotMatch(text, /x-missing/)
  })

  it('applies to the trailers of a response, and to interim responses', async () => {
    const text = await exchange(
      port,
      'GET /rest HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: close\r\n\r\n',
    )
    assert.match(text, /^HTTP\/1.1 103 Early Hints\r\nlink: <\/a>\r\n\r\nHTTP\/1.1 200 OK\r\n/)
    assert.match(text, /\r\n0\r\nx-sum: d\r\n\r\n$/)
  })
})

describe('the host of a request', () => {
  for (const [target, version, host, seen] of [
    ['http://Public.example:81/x', '1.0', '', 'host: public.example:81'],
    ['http://a:80/x', '1.1', 'host: a\r\n', 'host: a'],
    ['http://a/x', '1.1', 'host: a:80\r\n', 'host: a:80'],
    ['https://a/x', '1.1', 'host: a:443\r\n', 'host: a:443'],
  ] as const) {
    it(`of ${target} in HTTP/${version} reaches the backend as ${seen}`, async () => {
      const upstream = await startEcho('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      const gateway = await startGateway(upstream.port)
      await exchange(gateway.port, `GET ${target} HTTP/${version}\r\n${host}\r\n`, 'ok')
      await gateway.close()
      upstream.close()
      assert.match(upstream.received.join(''), RegExp(`^GET /x HTTP/1.1\r\n${seen}\r\n`))
    })
  }
})

describe('a response that requests another protocol', () => {
  it('names the protocol', async () => {
    const upstream = await startEcho(
      'HTTP/1.1 426 Upgrade Required\r\nconnection: Upgrade\r\nupgrade: WebSocket\r\ncontent-length: 2\r\n\r\nno',
    )
    const gateway = await startGateway(upstream.port)
    const open = await exchange(gateway.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'no')
    const last = await exchange(
      gateway.port,
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    )
    await gateway.close()
    upstream.close()
    assert.match(
      open,
      /\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-request-id: id-1\r\n\r\nno$/,
    )
    assert.match(
      last,
      /\r\nconnection: upgrade, close\r\nupgrade: websocket\r\nx-request-id: id-2\r\n\r\nno$/,
    )
  })
})
