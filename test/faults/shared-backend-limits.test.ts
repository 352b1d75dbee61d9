import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

const CLIENTS = 40
/** Seconds, enough for a busy machine. */
const TIMEOUT_SECONDS = 90

describe('limits on connections to a backend apply to the whole gateway', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  const held = new Set<ServerResponse>()
  const links = new Set<Socket>()
  const clients: { socket: Socket; text: string }[] = []
  let most = 0
  let backend: Server
  let behind: number
  let running: Running | undefined

  beforeEach(async () => {
    most = 0
    backend = createServer((_, response) => {
      held.add(response)
      response.on('close', () => held.delete(response))
    })
    backend.on('connection', (socket) => {
      links.add(socket)
      most = Math.max(most, links.size)
      socket.on('close', () => links.delete(socket))
    })
    behind = await listen(backend)
  })

  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.destroy()
    await running?.stop()
    running = undefined
    backend.close()
    backend.closeAllConnections()
    held.clear()
    links.clear()
  })

  const start = async (workers: number, limits: string) => {
    const port = await free()
    const text = `gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${behind}, policies: { connectionLimits: { ${limits} } } }]
`
    running = await startRunning(text, { workers })
    return port
  }

  const ask = (port: number, times = CLIENTS) => {
    for (let i = 0; i < times; i++) {
      const client = { socket: connect(port, '127.0.0.1'), text: '' }
      client.socket.on('error', () => {})
      client.socket.on('data', (bytes) => (client.text += bytes))
      client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      clients.push(client)
    }
  }

  const release = () => {
    for (const response of held) response.end('served')
  }

  const count = (status: string) => clients.filter(({ text }) => text.includes(status)).length

  for (const workers of [1, 2, 3]) {
    it(`maxConnections: 7 with ${workers} workers`, async () => {
      ask(await start(workers, 'maxConnections: 7'))
      await until('every connection to be in use', () => held.size === 7, TIMEOUT_SECONDS)
      await until(
        'all to be served',
        () => {
          release()
          return count('200 OK') === CLIENTS
        },
        TIMEOUT_SECONDS,
      )
      assert.equal(most, 7)
    })
  }

  it('maxPendingRequests: 10 with 2 workers', async () => {
    ask(await start(2, 'maxConnections: 2, maxPendingRequests: 10'))
    const left = CLIENTS - 2 - 10
    await until('all others to be rejected', () => count(' 503 ') >= left, TIMEOUT_SECONDS)
    assert.equal(count(' 503 '), left)
    await until(
      'the rest to be served',
      () => {
        release()
        return count('200 OK') === CLIENTS - left
      },
      TIMEOUT_SECONDS,
    )
  })

  it('survive the death of a worker', async () => {
    const port = await start(2, 'maxConnections: 6')
    ask(port)
    await until('every connection to be in use', () => held.size === 6, TIMEOUT_SECONDS)
    const before = workersOf(running?.pid as number)
    process.kill(before[0] as number, 'SIGKILL')
    const now = () => workersOf(running?.pid as number)
    await until(
      'a new worker',
      () => now().length === 2 && now().join() !== before.join(),
      TIMEOUT_SECONDS,
    )
    await until('its connections to be gone', () => links.size < 6, TIMEOUT_SECONDS)
    most = links.size
    ask(port)
    await until(
      'every connection to be in use again',
      () => {
        // The new worker has its share before it listens; until then the other one gets all
        // clients.
        if (held.size < 6) ask(port, 1)
        return held.size === 6
      },
      TIMEOUT_SECONDS,
    )
    await until(
      'some to be served',
      () => {
        release()
        return count('200 OK') > CLIENTS
      },
      TIMEOUT_SECONDS,
    )
    assert.ok(most <= 6, `${most} connections`)
  })
})
