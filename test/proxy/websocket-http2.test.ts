import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange } from './harness.ts'
import {
  CLOSE,
  frameOf,
  frameReader,
  startWebSocketPeer,
  TEXT,
  type WebSocketPeer,
} from './websocket-peer.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const HANDSHAKE = [
  'GET /chat?room=1 HTTP/1.1',
  'host: chat.test',
  'connection: Upgrade',
  'upgrade: WebSocket',
  'sec-websocket-version: 13',
  // The key of RFC 6455 §1.3, with its response.
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n')

async function startPeer(enableConnectProtocol: boolean, seen: Record<string, unknown>[]) {
  const streams = new Set<ServerHttp2Stream>()
  const server: Http2Server = createServer({ settings: { enableConnectProtocol } })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    seen.push({ ...headers })
    streams.add(stream)
    stream.on('error', () => {})
    stream.on('close', () => streams.delete(stream))
    stream.on('end', () => stream.end())
    if (headers[':path'] === '/refused') {
      stream.respond({ ':status': 403, 'content-length': '2' })
      stream.end('no')
      return
    }
    const protocol = headers['sec-websocket-protocol']
    stream.respond({
      ':status': 200,
      ...(protocol === undefined ? {} : { 'sec-websocket-protocol': String(protocol) }),
    })
    stream.on(
      'data',
      frameReader(({ opcode, payload }) => {
        if (opcode === CLOSE) stream.end(frameOf(CLOSE, payload))
        else stream.write(frameOf(opcode, payload))
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, streams, port: (server.address() as AddressInfo).port }
}

describe('WebSocket to an HTTP/2 backend', () => {
  const seen: Record<string, unknown>[] = []
  let peer: Awaited<ReturnType<typeof startPeer>>
  let plain: Awaited<ReturnType<typeof startPeer>>
  let gateway: WholeGateway
  let port: number

  before(async () => {
    peer = await startPeer(true, seen)
    plain = await startPeer(false, [])
    port = await free()
    const to = (own: number) =>
      `backends: [{ host: 127.0.0.1:${own}, policies: { http: { version: HTTP2 } } }]`
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- { name: plain, matches: [{ path: { exact: /plain } }], ${to(plain.port)} }
- { name: all, ${to(peer.port)} }
`)
  })

  after(async () => {
    await gateway.stop()
    for (const { server, streams } of [peer, plain]) {
      for (const stream of streams) stream.destroy()
      server.close()
    }
  })

  it('is CONNECT to the backend, without the key, and 101 with its response to the client', async () => {
    const text = await exchange(port, HANDSHAKE, '\r\n\r\n')
    assert.match(text, /^HTTP\/1.1 101 /)
    assert.match(text, /^upgrade: websocket\r$/im)
    assert.match(text, /^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/im)
    const [request] = seen
    assert.equal(request?.[':method'], 'CONNECT')
    assert.equal(request?.[':protocol'], 'websocket')
    assert.equal(request?.[':path'], '/chat?room=1')
    assert.equal(request?.[':authority'], 'chat.test')
    assert.equal(request?.['sec-websocket-version'], '13')
    assert.equal(request?.['sec-websocket-key'], undefined)
    await until('the end of the stream', () => peer.streams.size === 0)
  })

  it("messages pass in both directions with Node's own client, and it closes cleanly", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, ['chat'])
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', reject)
    })
    assert.equal(socket.protocol, 'chat')
    for (const message of ['hello', 'x'.repeat(300_000)]) {
      const response = new Promise((resolve) =>
        socket.addEventListener('message', ({ data }) => resolve(data), { once: true }),
      )
      socket.send(message)
      assert.equal(await response, message)
    }
    const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve))
    socket.close(1000, 'bye')
    const { code, wasClean } = await closed
    assert.deepEqual([code, wasClean], [1000, true])
    await until('the end of the stream', () => peer.streams.size === 0)
  })

  it('the client gets a rejection of the backend', async () => {
    const text = await exchange(port, HANDSHAKE.replace('/chat?room=1', '/refused'), 'no')
    assert.match(text, /^HTTP\/1.1 403 /)
  })

  it('if the backend does not offer it, the response is 502 and the log has the reason', async () => {
    const text = await exchange(port, HANDSHAKE.replace('/chat?room=1', '/plain'), /\nrequest /)
    assert.match(text, /^HTTP\/1.1 502 /)
    await until('the record', () => gateway.lines.some(({ route }) => route === 'plain'))
    const record = gateway.lines.find(({ route }) => route === 'plain')
    assert.equal(record?.['detail'], 'upgrade-over-http2')
  })

  for (const [what, handshake] of [
    ['another method', HANDSHAKE.replace('GET', 'DELETE')],
    ['a body', `${HANDSHAKE.trimEnd()}\r\ncontent-length: 1\r\n\r\na`],
  ] as const) {
    it(`with ${what} it is none: the backend would take it for a GET`, async () => {
      const before = seen.length
      const text = await exchange(port, handshake, /\nrequest /)
      assert.match(text, /^HTTP\/1.1 502 /)
      assert.equal(seen.length, before)
    })
  }
})

describe('WebSocket of an HTTP/2 client', () => {
  let peer: WebSocketPeer
  let gateway: WholeGateway
  let session: ClientHttp2Session
  let port: number

  before(async () => {
    peer = await startWebSocketPeer()
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${peer.port} }]
  policies:
    authorization:
      rules: [{ deny: "request.path == '/denied'" }]
`)
    session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    await once(session, 'remoteSettings')
  })

  after(async () => {
    session.destroy()
    await gateway.stop()
    peer.close()
  })

  const open = (path: string) =>
    session
      .request({
        ':method': 'CONNECT',
        ':protocol': 'websocket',
        ':path': path,
        ':authority': 'chat.test',
        'sec-websocket-version': '13',
        'sec-websocket-protocol': 'chat',
      })
      .on('error', () => {})

  it('is offered', () => assert.equal(session.remoteSettings.enableConnectProtocol, true))

  it('is the HTTP/1.1 handshake to the backend, and messages pass in both directions', async () => {
    const stream = open('/chat?room=1')
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 200)
    assert.equal(headers['sec-websocket-protocol'], 'chat')
    assert.equal(headers['sec-websocket-accept'], undefined)
    const request = peer.requests.at(-1)
    assert.deepEqual([request?.method, request?.url], ['GET', '/chat?room=1'])
    assert.equal(request?.headers.upgrade, 'websocket')
    assert.equal(Buffer.from(String(request?.headers['sec-websocket-key']), 'base64').length, 16)
    const mask = Buffer.from([1, 2, 3, 4])
    for (const length of [5, 300_000]) {
      const message = Buffer.alloc(length, 'm')
      const response = Promise.withResolvers<Buffer>()
      const read = frameReader(({ payload }) => response.resolve(payload))
      stream.on('data', read)
      stream.write(frameOf(TEXT, message, mask))
      assert.deepEqual(await response.promise, message)
      stream.off('data', read)
    }
    stream.resume()
    stream.write(frameOf(CLOSE, Buffer.from([3, 232]), mask))
    stream.end()
    await once(stream, 'close')
    await until('the end of the connection', () => peer.sockets.size === 0)
  })

  it('a stream that is reset ends the connection to the backend', async () => {
    const stream = open('/chat')
    await once(stream, 'response')
    stream.close(constants.NGHTTP2_CANCEL)
    await until('the end of the connection', () => peer.sockets.size === 0)
  })

  it('rules are evaluated first', async () => {
    const stream = open('/denied')
    const [headers] = await once(stream, 'response')
    stream.close()
    assert.equal(headers[':status'], 403)
  })
})
