import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

interface Client {
  readonly socket: Socket
  text: string
  isClosed: boolean
}

describe('a limit on connections applies to the whole gateway', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let backend: Server
  let behind: number
  let port: number
  let running: Running | undefined
  const clients: Client[] = []

  before(async () => {
    backend = createServer((_, response) => response.end('served'))
    behind = await listen(backend)
  })

  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.destroy()
    await running?.stop()
    running = undefined
  })

  after(() => {
    backend.close()
    backend.closeAllConnections()
  })

  const start = async (workers: number, limits: string) => {
    port = await free()
    const text = `gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${behind} }] }]
`
    running = await startRunning(text, { workers, config: `  limits: { ${limits} }\n` })
    return running
  }

  /** Opens `count` connections, and returns how many are served and stay open. */
  const open = async (count: number): Promise<number> => {
    const own = Array.from({ length: count }, () => {
      const client: Client = { socket: connect(port, '127.0.0.1'), text: '', isClosed: false }
      client.socket.on('error', () => {})
      client.socket.on('close', () => (client.isClosed = true))
      client.socket.on('data', (bytes) => (client.text += bytes))
      client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      return client
    })
    clients.push(...own)
    await until('all responses', () => own.every(({ text, isClosed }) => text !== '' || isClosed))
    return own.filter(({ text }) => text.includes('200 OK')).length
  }

  const served = () => clients.filter(({ text, isClosed }) => text.includes('200') && !isClosed)

  for (const limits of ['connections: 10', 'connectionsPerAddress: 10']) {
    for (const workers of [1, 2, 4]) {
      it(`${limits} with ${workers} workers`, async () => {
        await start(workers, limits)
        assert.equal(await open(40), 10)
        const [first, second, third] = served()
        for (const client of [first, second, third]) client?.socket.destroy()
        // A worker keeps free slots for a moment, and other workers get them when they request
        // them.
        let again = 0
        await until('room for three', async () => (again += await open(1)) === 3)
        assert.equal(await open(10), 0)
      })
    }
  }

  for (const limits of ['connections: 10', 'connectionsPerAddress: 10']) {
    for (const workers of [2, 4]) {
      it(`${limits}: one of ${workers} workers that dies leaves room for what it had`, async () => {
        const { pid } = await start(workers, limits)
        const pids = () => workersOf(pid)
        assert.equal(await open(40), 10)
        const before = pids()
        process.kill(before[0] as number, 'SIGKILL')
        // Some slots are requested while the worker dies, and some grants never arrive.
        assert.ok((await open(40)) <= 10)
        assert.ok(served().length <= 10)
        const isReplaced = () => pids().length === workers && pids().join() !== before.join()
        await until('a new worker', isReplaced)
        await until('ten again', async () => {
          await open(1)
          return served().length === 10
        })
        assert.equal(await open(20), 0)
      })
    }
  }
})
