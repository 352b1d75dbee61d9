import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

const STREAMS = 100
/** Seconds: a worker that exited before is restarted after a delay. */
const RESTART = 60

describe('kill -9 of a worker', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  const responses = new Set<ServerResponse>()
  let backend: Server
  let running: Running
  let port: number

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url !== '/events') return void response.end('served')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: begun\n\n')
      responses.add(response)
      response.on('close', () => responses.delete(response))
    })
    const own = await listen(backend)
    port = await free()
    running = await startRunning(
      `gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${own} }]
`,
      { workers: 2 },
    )
  })

  after(async () => {
    await running.stop()
    backend.close()
    backend.closeAllConnections()
  })

  const pids = () => workersOf(running.pid)

  const served = async () => {
    const get = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    return (await exchange(port, get, 'served')).includes('200 OK')
  }

  it('costs only its own connections, and the worker is replaced and the exit logged', async () => {
    const streams = Array.from({ length: STREAMS }, () => {
      const stream: { socket: Socket; text: string; isClosed: boolean } = {
        socket: connect(port, '127.0.0.1'),
        text: '',
        isClosed: false,
      }
      stream.socket.on('error', () => {})
      stream.socket.on('close', () => (stream.isClosed = true))
      stream.socket.on('data', (bytes) => (stream.text += bytes))
      stream.socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n')
      return stream
    })
    await until('all streams', () => streams.every(({ text }) => text.includes('begun')))
    const before = pids()
    assert.equal(before.length, 2)
    process.kill(before[0] as number, 'SIGKILL')
    await until('its streams to end', () => streams.some(({ isClosed }) => isClosed))
    await until('a new worker', () => pids().length === 2 && pids().join() !== before.join())
    // The client and the backend see the end of each stream separately, in any order, so the
    // remaining streams are computed each time.
    const left = () => streams.filter(({ isClosed }) => !isClosed)
    await until('the backend to be rid of the others', () => responses.size === left().length, 60)
    for (const response of responses) response.write('data: still there\n\n')
    await until('an event', () => left().every(({ text }) => text.includes('still there')))
    assert.ok(left().length > 0, 'the other worker keeps its streams')
    for (const { socket } of streams) socket.destroy()
    const record = () => recordsIn(running.out()).find(({ scope }) => scope === 'worker')
    await until('the record', () => record() !== undefined)
    assert.deepEqual([record()?.['error'], record()?.['reason']], ['the worker exited', 'SIGKILL'])
  })

  it('can be repeated: there are two workers each time, and requests are served', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const before = pids()
      process.kill(before[turn % 2] as number, 'SIGKILL')
      const isReplaced = () => pids().length === 2 && pids().join() !== before.join()
      await until('a new worker', isReplaced, RESTART)
      await until('service', served, RESTART)
    }
    for (let i = 0; i < 40; i++) assert.ok(await served())
    assert.equal(await running.status('/healthz/ready'), 200)
  })
})
