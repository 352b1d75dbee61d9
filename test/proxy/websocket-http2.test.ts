import assert from 'node:assert/strict'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './doorstep.ts'
import { exchange } from './harness.ts'
import { CLOSE, frameOf, frameReader } from './websocket-peer.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const HANDSHAKE = [
  'GET /chat?room=1 HTTP/1.1',
  'host: chat.test',
  'connection: Upgrade',
  'upgrade: WebSocket',
  'sec-websocket-version: 13',
  // That of RFC 6455 §1.3, with its answer.
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

describe('WebSocket to a backend of HTTP/2', () => {
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

  it('is CONNECT there, without the key, and 101 with its answer here', async () => {
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

  it("messages go both ways with Node's own client, and it closes in order", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, ['chat'])
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', reject)
    })
    assert.equal(socket.protocol, 'chat')
    for (const message of ['hello', 'x'.repeat(300_000)]) {
      const answer = new Promise((resolve) =>
        socket.addEventListener('message', ({ data }) => resolve(data), { once: true }),
      )
      socket.send(message)
      assert.equal(await answer, message)
    }
    const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve))
    socket.close(1000, 'bye')
    const { code, wasClean } = await closed
    assert.deepEqual([code, wasClean], [1000, true])
    await until('the end of the stream', () => peer.streams.size === 0)
  })

  it('a refusal of the backend is what the client gets', async () => {
    const text = await exchange(port, HANDSHAKE.replace('/chat?room=1', '/refused'), 'no')
    assert.match(text, /^HTTP\/1.1 403 /)
  })

  it('where the backend does not offer it, 502 says so', async () => {
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
