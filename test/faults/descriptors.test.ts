import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

const DESCRIPTORS = 200
const GET = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

describe('few file descriptors', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let backend: Server
  let running: Running
  let port: number

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url !== '/held') response.end('served')
    })
    const own = await listen(backend)
    port = await free()
    running = await startRunning(
      `gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${own} }]
`,
      { descriptors: DESCRIPTORS },
    )
  })

  after(async () => {
    await running.stop()
    backend.close()
    backend.closeAllConnections()
  })

  it('rejects or closes excess connections, serves the admitted ones, and gets all descriptors back', async () => {
    assert.match(await exchange(port, GET, 'served'), /200 OK/)
    const idle = running.descriptors()
    const texts: string[] = []
    const sockets: Socket[] = Array.from({ length: 500 }, (_, at) => {
      const socket = connect(port, '127.0.0.1')
      texts[at] = ''
      socket.on('error', () => {})
      socket.on('data', (bytes) => (texts[at] = `${texts[at]}${bytes}`))
      socket.write('GET /held HTTP/1.1\r\nhost: x\r\n\r\n')
      return socket
    })
    const open = () => sockets.filter((socket) => !socket.destroyed)
    await until('the rest to be sent away', () => open().length <= DESCRIPTORS / 2)
    await wait(200)
    const busy = texts.filter((text) => text.startsWith('HTTP/1.1 503 '))
    assert.ok(busy.length > 0 && busy.every((text) => text.includes('\r\nretry-after: 1\r\n')))
    // Every admitted connection also gets a descriptor for its backend connection.
    assert.ok(open().length > 20)
    assert.ok(texts.every((text) => !/^HTTP\/1\.1 50[24]/.test(text)))
    // Health checks and metrics have reserved descriptors.
    assert.equal(await running.status('/healthz/ready'), 200)
    const rejected = await running.total('portcullis_downstream_connections_rejected_total')
    assert.ok(rejected >= 500 - DESCRIPTORS / 2, String(rejected))
    assert.ok(recordsIn(running.out()).some(({ error }) => error === 'connections'))
    for (const socket of sockets) socket.destroy()
    await until('the descriptors to be back', () => running.descriptors() <= idle + 5)
    const isServed = async () => /200 OK/.test(await exchange(port, GET, 'served'))
    // A descriptor is released slightly before it is counted as released.
    await until('room again', isServed)
    for (let i = 0; i < 10; i++) assert.match(await exchange(port, GET, 'served'), /200 OK/)
  })
})
