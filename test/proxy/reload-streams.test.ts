import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import { type Running, startRunning } from './running.ts'
import {
  frameOf,
  frameReader,
  startWebSocketPeer,
  TEXT,
  type WebSocketPeer,
} from './websocket-peer.ts'
import { until } from './whole-gateway.ts'

const EVENT_STREAMS = 700
const WEBSOCKETS = 300
const RELOADS = 20

/** One stream as its client sees it: the received events, in order. */
interface Stream {
  readonly socket: Socket
  readonly events: number[]
  isClosed: boolean
}

describe(`reloads with ${EVENT_STREAMS + WEBSOCKETS} open streams`, () => {
  const responses = new Set<ServerResponse>()
  const streams: Stream[] = []
  let backend: Server
  let peer: WebSocketPeer
  let running: Running
  let ports: { backend: number; main: number; other: number; brief: number }

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url !== '/events') return void response.end(request.url)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      responses.add(response)
      response.on('close', () => responses.delete(response))
    })
    peer = await startWebSocketPeer()
    const [own, main, other, brief] = await Promise.all([listen(backend), free(), free(), free()])
    ports = { backend: own, main, other, brief }
    running = await startRunning(config(0))
  })

  after(async () => {
    for (const { socket } of streams) socket.destroy()
    await running.stop()
    backend.close()
    backend.closeAllConnections()
    peer.close()
  })

  /**
   * The changes of each turn: routes are added, changed and removed, and so are policies and
   * listeners.
   */
  function config(turn: number): string {
    const { backend: http, main, other, brief } = ports
    const extra = Array.from(
      { length: turn % 4 },
      (_, i) => `- name: extra-${i}
  gateways: [main]
  matches: [{ path: { exact: /extra-${i} } }]
  policies: { responseHeaders: { set: { x-turn: '${turn}' } } }
  backends: [{ host: 127.0.0.1:${http} }]
`,
    ).join('')
    return `gateways:
  main: { port: ${main} }
  other: { port: ${other} }
${turn % 2 === 1 ? `  brief: { port: ${brief} }\n` : ''}routes:
${extra}- name: turn
  gateways: [main${turn % 2 === 1 ? ', brief' : ''}]
  matches: [{ path: { exact: /turn-${turn} } }]
  backends: [{ host: 127.0.0.1:${http} }]
- name: events
  gateways: [main]
  matches: [{ path: { exact: /events } }]
  policies: { requestHeaders: { set: { x-turn: '${turn}' } } }
  backends: [{ host: 127.0.0.1:${http} }]
- name: sockets
  gateways: [other]
  matches: [{ path: { exact: /socket } }]
  backends: [{ host: 127.0.0.1:${peer.port} }]
`
  }

  function open(
    port: number,
    request: string,
    read: (stream: Stream, bytes: Buffer) => void,
  ): void {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const stream: Stream = { socket, events: [], isClosed: false }
    socket.on('error', () => {})
    socket.on('close', () => (stream.isClosed = true))
    socket.on('data', (bytes: Buffer) => read(stream, bytes))
    socket.write(request)
    streams.push(stream)
  }

  function openEvents(): void {
    let held = ''
    open(ports.main, 'GET /events HTTP/1.1\r\nhost: x\r\n\r\n', (stream, bytes) => {
      held += bytes.toString('latin1')
      for (;;) {
        const found = /data: (\d+)\n\n/.exec(held)
        if (found === null) return
        stream.events.push(Number(found[1]))
        held = held.slice(found.index + found[0].length)
      }
    })
  }

  function openSocket(): void {
    let isOpen = false
    let read: ((bytes: Buffer) => void) | undefined
    const request =
      'GET /socket HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    open(ports.other, request, (stream, bytes) => {
      read ??= frameReader(({ payload }) => stream.events.push(Number(payload)))
      const start = isOpen ? 0 : bytes.indexOf('\r\n\r\n') + 4
      isOpen = true
      read(bytes.subarray(start))
    })
  }

  function publish(event: number): void {
    for (const response of responses) response.write(`data: ${event}\n\n`)
    const frame = frameOf(TEXT, Buffer.from(String(event)))
    for (const socket of peer.sockets) socket.write(frame)
  }

  const asked = (port: number, path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } }).then(
      async (response) => {
        await response.text()
        return response.status
      },
      () => 0,
    )

  it('none is cut off, and each gets every event in order', async () => {
    for (let i = 0; i < EVENT_STREAMS; i++) openEvents()
    for (let i = 0; i < WEBSOCKETS; i++) openSocket()
    await until('all to be open', () => responses.size === EVENT_STREAMS)
    await until('all to be open', () => peer.sockets.size === WEBSOCKETS)
    let published = 0
    for (let turn = 1; turn <= RELOADS; turn++) {
      publish(published++)
      const reloaded = running.reload(config(turn))
      publish(published++)
      await reloaded
      publish(published++)
      // The change is in effect, on the added port too; the previous route is gone.
      assert.equal(await asked(ports.main, `/turn-${turn}`), 200)
      assert.equal(await asked(ports.main, `/turn-${turn - 1}`), 404)
      assert.equal(await asked(ports.brief, `/turn-${turn}`), turn % 2 === 1 ? 200 : 0)
      assert.deepEqual(streams.filter(({ isClosed }) => isClosed).length, 0, `turn ${turn}`)
    }
    await until('the last event everywhere', () =>
      streams.every(({ events }) => events.length >= published),
    )
    const expected = Array.from({ length: published }, (_, i) => i).join()
    const wrong = streams.filter(({ events }) => events.join() !== expected)
    assert.equal(wrong.length, 0)
    assert.equal(responses.size + peer.sockets.size, EVENT_STREAMS + WEBSOCKETS)
  })

  it('clients can still send, and closed streams leave nothing behind', async () => {
    const sockets = streams.slice(EVENT_STREAMS)
    const counts = sockets.map(({ events }) => events.length)
    for (const { socket } of sockets)
      socket.write(frameOf(TEXT, Buffer.from('77'), Buffer.from([9, 8, 7, 6])))
    await until('the echoes', () =>
      sockets.every(({ events }, i) => events.length === (counts[i] as number) + 1),
    )
    for (const { socket } of streams) socket.destroy()
    await until('the backends to be free', () => responses.size + peer.sockets.size === 0)
    await until('the gateway to be free', async () => {
      const text = await running.metrics()
      return !/^portcullis_requests_active\S* [1-9]/m.test(text)
    })
  })
})
