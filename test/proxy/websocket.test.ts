import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import {
  acceptOf,
  BINARY,
  CLOSE,
  type Frame,
  frameOf,
  frameReader,
  PING,
  PONG,
  startWebSocketPeer,
  TEXT,
  type WebSocketPeer,
} from './websocket-peer.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const KEY = randomBytes(16).toString('base64')
const MASK = Buffer.from([1, 2, 3, 4])

describe('WebSocket', () => {
  let peer: WebSocketPeer
  let gateway: WholeGateway
  let port: number

  before(async () => {
    peer = await startWebSocketPeer()
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { bodyTimeout: 500ms } }
routes:
- name: denied
  matches: [{ path: { exact: /denied } }]
  policies: { authorization: { rules: [{ deny: 'true' }] } }
  backends: [{ host: 127.0.0.1:${peer.port} }]
- name: timed
  matches: [{ path: { exact: /timed } }]
  policies: { timeout: { request: 600ms } }
  backends: [{ host: 127.0.0.1:${peer.port} }]
- name: all
  backends: [{ host: 127.0.0.1:${peer.port} }]
`)
  })

  after(async () => {
    peer.close()
    await gateway.stop()
  })

  describe("with Node's own client", () => {
    function open(path = '/', protocols: string[] = []): Promise<WebSocket> {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols)
      socket.binaryType = 'arraybuffer'
      return new Promise((resolve, reject) => {
        socket.addEventListener('open', () => resolve(socket))
        socket.addEventListener('error', () => reject(new Error('not opened')))
      })
    }

    const responseOf = (socket: WebSocket) =>
      new Promise<unknown>((resolve) =>
        socket.addEventListener('message', ({ data }) => resolve(data), { once: true }),
      )

    const closeOf = (socket: WebSocket) =>
      new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve))

    it('text, bytes and protocol', async () => {
      const socket = await open('/chat?room=1', ['chat', 'other'])
      assert.equal(socket.protocol, 'chat')
      socket.send('grüße')
      assert.equal(await responseOf(socket), 'grüße')
      const bytes = randomBytes(1000)
      socket.send(bytes)
      assert.ok(Buffer.from((await responseOf(socket)) as ArrayBuffer).equals(bytes))
      const closed = closeOf(socket)
      socket.close(3001, 'bye')
      const { code, reason, wasClean } = await closed
      assert.deepEqual([code, reason, wasClean], [3001, 'bye', true])
      assert.equal(peer.requests.at(-1)?.url, '/chat?room=1')
    })

    it('a message of 5 MB, and 1,000 small ones in order', async () => {
      const socket = await open()
      const large = randomBytes(5_000_000)
      socket.send(large)
      assert.ok(Buffer.from((await responseOf(socket)) as ArrayBuffer).equals(large))
      const texts: string[] = []
      const all = new Promise<void>((resolve) =>
        socket.addEventListener('message', ({ data }) => {
          if (texts.push(String(data)) === 1_000) resolve()
        }),
      )
      for (let i = 0; i < 1_000; i++) socket.send(`message ${i}`)
      await all
      assert.ok(texts.every((text, i) => text === `message ${i}`))
      socket.close()
      await closeOf(socket)
    })

    it('if the backend breaks off, the client connection breaks off', async () => {
      const socket = await open()
      const closed = closeOf(socket)
      for (const own of peer.sockets) own.destroy()
      assert.equal((await closed).code, 1006)
    })

    it('a denied connection is not opened, and nothing reaches the backend', async () => {
      const before = peer.requests.length
      await assert.rejects(open('/denied'))
      assert.equal(peer.requests.length, before)
    })
  })

  describe('with raw frames', () => {
    interface Raw {
      readonly socket: Socket
      readonly head: string
      readonly frames: Frame[]
      readonly isClosed: () => boolean
    }

    async function open(early: Buffer = Buffer.alloc(0), path = '/raw', at = port): Promise<Raw> {
      const socket = connect({ port: at, host: '127.0.0.1', noDelay: true })
      let held: Buffer = Buffer.alloc(0)
      let head = ''
      let isClosed = false
      const frames: Frame[] = []
      const read = frameReader((frame) => frames.push(frame))
      socket.on('close', () => (isClosed = true))
      socket.on('data', (bytes: Buffer) => {
        if (head !== '') return read(bytes)
        held = Buffer.concat([held, bytes])
        const end = held.indexOf('\r\n\r\n')
        if (end < 0) return
        head = held.subarray(0, end).toString('latin1')
        read(held.subarray(end + 4))
      })
      const request = [
        `GET ${path} HTTP/1.1`,
        'Host: ws.test',
        'Connection: keep-alive, Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${KEY}`,
        '\r\n',
      ].join('\r\n')
      socket.write(Buffer.concat([Buffer.from(request), early]))
      await until('the head', () => head !== '')
      return { socket, head, frames, isClosed: () => isClosed }
    }

    it('the handshake is the backend’s, and masks pass unchanged', async () => {
      const { socket, head, frames } = await open()
      assert.match(head, /^HTTP\/1\.1 101 /)
      assert.match(
        head,
        new RegExp(`sec-websocket-accept: ${acceptOf(KEY).replaceAll('+', '\\+')}`),
      )
      assert.equal(peer.requests.at(-1)?.headers['sec-websocket-key'], KEY)
      socket.write(frameOf(PING, Buffer.from('are you there'), MASK))
      await until('PONG', () => frames.length === 1)
      assert.deepEqual([frames[0]?.opcode, String(frames[0]?.payload)], [PONG, 'are you there'])
      socket.destroy()
    })

    it('frames directly after the request, byte by byte, and in fragments', async () => {
      const { socket, frames } = await open(frameOf(TEXT, Buffer.from('early'), MASK))
      await until('the echo', () => frames.length === 1)
      for (const byte of frameOf(TEXT, Buffer.from('slow'), MASK)) {
        socket.write(Buffer.from([byte]))
        await new Promise(setImmediate)
      }
      await until('the slow echo', () => frames.length === 2)
      socket.write(frameOf(BINARY, Buffer.from('be'), MASK, false))
      socket.write(frameOf(0, Buffer.from('gun'), MASK))
      await until('both fragments', () => frames.length === 4)
      assert.deepEqual(
        frames.map(({ payload, isFinal }) => [String(payload), isFinal]),
        [
          ['early', true],
          ['slow', true],
          ['be', false],
          ['gun', true],
        ],
      )
      socket.destroy()
    })

    it('CLOSE gets a response, then the connection ends on both sides', async () => {
      const { socket, frames, isClosed } = await open()
      socket.write(frameOf(CLOSE, Buffer.from([3, 232]), MASK))
      await until('the end', isClosed)
      assert.deepEqual([frames[0]?.opcode, frames[0]?.payload], [CLOSE, Buffer.from([3, 232])])
      await until('the end at the backend', () => peer.sockets.size === 0)
      const line = gateway.lines.at(-1)
      assert.deepEqual([line?.['http.status'], line?.['reason']], [101, 'upstream'])
      assert.deepEqual([line?.['bytes.received'], line?.['bytes.sent']], [8, 4])
    })

    it('half of a tunnel stays open while the other half sends data, then ends', async () => {
      const { socket, frames, isClosed } = await open()
      const [backend] = peer.sockets
      backend?.removeAllListeners('end')
      socket.end()
      backend?.once('end', () => backend.write(frameOf(TEXT, Buffer.from('still here'))))
      await until('what was still said', () => frames.length === 1)
      await until('the end', isClosed)
      const active = 'portcullis_upstream_connections_active{backend="all/0"}'
      await until('its connection to the backend to go', () => gateway.metric(active) === 0)
      backend?.destroy()
      await until('the backend', () => peer.sockets.size === 0)
    })

    it('if the client disconnects, so does the gateway from the backend', async () => {
      const { socket } = await open()
      assert.equal(peer.sockets.size, 1)
      socket.destroy()
      await until('the end at the backend', () => peer.sockets.size === 0)
      await until('the record', () => gateway.lines.some((line) => line['http.path'] === '/raw'))
    })

    it('timeout.request ends a tunnel, as the cookbook says', async () => {
      const { head, isClosed } = await open(undefined, '/timed')
      assert.match(head, /^HTTP\/1\.1 101 /)
      await until('the end', isClosed)
      await until('the end at the backend', () => peer.sockets.size === 0)
      const line = gateway.lines.find((own) => own['http.path'] === '/timed')
      assert.equal(line?.['reason'], 'request-timeout')
    })

    it('maxConnectionDuration does not, as the protocols page says', async () => {
      const at = await free()
      const other = await startWhole(`gateways: { default: { port: ${at} } }
frontendPolicies: { http: { maxConnectionDuration: 200ms } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${peer.port} }]
`)
      try {
        const { socket, frames, isClosed } = await open(undefined, '/raw', at)
        await new Promise((resolve) => setTimeout(resolve, 400))
        socket.write(frameOf(PING, Buffer.from('still'), MASK))
        await until('PONG', () => frames.length === 1)
        assert.equal(isClosed(), false)
        socket.destroy()
      } finally {
        await other.stop()
      }
    })
  })
})
