import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

const CLIENTS = 2_000
/** The max cost of each client, including its sockets and the timers of the test's own load. */
const BYTES_EACH = 48 * 1024
/** Room for new objects, which V8 widens under any load. */
const NEW_SPACE = 16 << 20

describe(`${CLIENTS} slow clients`, () => {
  let backend: Server
  let running: Running
  let port: number
  let idle: { descriptors: number; resident: number }

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url === '/large') {
        response.writeHead(200, { 'content-length': 1 << 20 })
        response.end(Buffer.alloc(1 << 20))
        return
      }
      request.resume()
      request.on('end', () => response.end('served'))
    })
    backend.maxConnections = 10_000
    const own = await listen(backend)
    port = await free()
    const text = `gateways: { default: { port: ${port} } }
frontendPolicies: { http: { headTimeout: 6s, bodyTimeout: 6s } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${own} }]
`
    // Surplus connections to the backend are kept for this long after all clients wanted one.
    running = await startRunning(text, { config: '  backend: { poolIdleTimeout: 3s }\n' })
    for (let i = 0; i < 200; i++) await served()
    idle = { descriptors: running.descriptors(), resident: running.resident() }
  })

  after(async () => {
    await running.stop()
    backend.close()
    backend.closeAllConnections()
  })

  const served = async () => {
    const get = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    await until('a response', async () => (await exchange(port, get, 'served')).includes('200 OK'))
  }

  const bounded = (each: number) => {
    const grown = running.resident() - idle.resident
    assert.ok(grown < CLIENTS * each + NEW_SPACE, `${Math.round(grown / CLIENTS)} bytes for each`)
  }

  /** Connects all clients; each then sends a little at intervals until it is disconnected. */
  async function crowd(first: string, then: string): Promise<readonly Socket[]> {
    const sockets: Socket[] = []
    for (let at = 0; at < CLIENTS; at++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(first)
      if (then === '') socket.pause()
      else socket.resume()
      sockets.push(socket)
      if (at % 200 === 199) await new Promise((resolve) => socket.once('connect', resolve))
    }
    let turn = 0
    const timer = setInterval(() => {
      // A third at a time: each client sends something every 1.5 s.
      for (let at = turn++ % 3; at < CLIENTS; at += 3) {
        const socket = sockets[at] as Socket
        if (then !== '' && socket.writable) socket.write(then)
      }
    }, 500)
    timer.unref()
    return sockets
  }

  async function gone(sockets: readonly Socket[]): Promise<void> {
    await until('all of them to be sent away', () => sockets.every((it) => it.closed), 40)
  }

  for (const [what, first, then, status] of [
    ['heads', 'GET / HTTP/1.1\r\nhost: x\r\nx-a', 'a', 408],
    ['nothing at all', '', '', undefined],
  ] as const) {
    it(`slow with ${what}: sent away in time, others are served meanwhile`, async () => {
      const sockets = await crowd(first, then)
      await served()
      bounded(BYTES_EACH)
      for (const socket of sockets) socket.resume()
      await gone(sockets)
      if (status !== undefined) {
        const reported = () =>
          recordsIn(running.out()).filter((line) => line['http.status'] === status).length
        await until('a record of each', () => reported() >= CLIENTS)
      }
      await served()
      await until(
        'the descriptors to be back',
        () => running.descriptors() <= idle.descriptors + 20,
      )
    })
  }

  it('slow with bodies: all are read at the pace at which they arrive, and other clients are served', async () => {
    const sockets = await crowd('POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nx', 'x')
    await until(
      'all to be under way',
      async () => (await running.total('portcullis_requests_active')) >= CLIENTS,
    )
    await served()
    bounded(BYTES_EACH)
    // A client that keeps sending is not disconnected; a client that stops is.
    assert.ok(sockets.every((socket) => !socket.destroyed))
    for (const socket of sockets) socket.destroy()
    await until(
      'all to be over',
      async () => (await running.total('portcullis_requests_active')) === 0,
    )
    await until('the descriptors to be back', () => running.descriptors() <= idle.descriptors + 20)
    await served()
  })

  it('slow at reading responses of 1 MiB: memory stays bounded, and then they are disconnected', async () => {
    const sockets = await crowd('GET /large HTTP/1.1\r\nhost: x\r\n\r\n', '')
    await served()
    // Part of each response is in flight, and none is completely in memory.
    bounded(200 * 1024)
    await until(
      'all to be over',
      async () => (await running.total('portcullis_requests_active')) === 0,
      40,
    )
    for (const socket of sockets) socket.destroy()
    await until('the descriptors to be back', () => running.descriptors() <= idle.descriptors + 20)
    await served()
  })
})
