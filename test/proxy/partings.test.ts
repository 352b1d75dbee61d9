import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { reply } from '../../src/exchange/reply.ts'
import { pass } from '../passing-time.ts'
import {
  type RawUpstream,
  startEcho,
  startGateway,
  startUpstream,
  type TestGateway,
} from './harness.ts'
import { until } from './whole-gateway.ts'

const HOUR = 3_600_000
/** No connection ends by a limit that the test is not about. */
const NO_LIMITS = { idle: HOUR, headTimeout: HOUR, bodyTimeout: HOUR, writeTimeout: HOUR }

/** More than the kernel buffers for a connection. */
const LARGE = 'x'.repeat(24_000_000)

describe('the end of client connections', () => {
  let upstream: RawUpstream
  let gateway: TestGateway

  before(async () => {
    upstream = await startEcho('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    gateway = await startGateway(upstream.port, {
      steps: [() => reply(200, 'direct-response', LARGE)],
    })
  })
  after(async () => {
    await gateway.close()
    upstream.close()
  })

  it('a client may read the last response slowly, to its end', async () => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await wait(300)
    pass(3_000)
    await wait(300)
    let byteCount = 0
    socket.on('data', (bytes) => {
      byteCount += bytes.length
    })
    await once(socket, 'close')
    assert.ok(byteCount > LARGE.length, `${byteCount} of ${LARGE.length}`)
  })

  it('an incomplete body that got an early response retains nothing', async () => {
    const early = await startUpstream((_, socket) =>
      socket.write('HTTP/1.1 413 Too Much\r\ncontent-length: 0\r\n\r\n'),
    )
    const own = await startGateway(early.port, { limits: NO_LIMITS })
    const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc')
    const [response] = await once(socket, 'data')
    assert.match(String(response), /^HTTP\/1.1 413 /)
    socket.end()
    await until('the end of the connection', () => own.open() === 0)
    assert.deepEqual(
      own.runs.map(({ exchange: { status, reason } }) => [status, reason]),
      [[413, 'upstream']],
    )
    await own.close()
    early.close()
  })

  it('a body that the backend no longer reads does not delay the next request', async () => {
    const length = 30_000_000
    const early = await startUpstream((text, socket) => {
      if (text.startsWith('GET')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnext')
      if (!text.startsWith('POST')) return
      socket.pause()
      // By then the buffers on the path are full, and the client waits.
      setTimeout(() => {
        socket.write('HTTP/1.1 413 Too Much\r\ncontent-length: 0\r\n\r\n')
      }, 300)
    })
    const own = await startGateway(early.port, { limits: NO_LIMITS })
    const socket = connect(own.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes))
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`)
    socket.write(Buffer.alloc(length))
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('both responses', () => /413 Too Much[\s\S]+next$/.test(text))
    socket.destroy()
    await own.close()
    early.close()
  })

  it('nor does one whose beginning a policy read before it rejected the request', async () => {
    const own = await startGateway(upstream.port, {
      limits: NO_LIMITS,
      route: { readsBeginning: true },
      steps: [() => reply(403, 'direct-response', 'no')],
    })
    const socket = connect(own.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes))
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n')
    socket.write(Buffer.alloc(5_000_000))
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('both responses', () => text.match(/HTTP\/1\.1 403 /g)?.length === 2)
    socket.destroy()
    await own.close()
  })

  it('a head that never ends is a 408, also after a response that was read late', async () => {
    const own = await startGateway(upstream.port, {
      steps: [
        ({ request: { path } }) =>
          path === '/large' ? reply(200, 'direct-response', LARGE) : undefined,
      ],
      limits: { ...NO_LIMITS, headTimeout: 300 },
    })
    const socket = connect(own.port, '127.0.0.1')
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    await wait(100)
    socket.write('GET / HT')
    let text = ''
    socket.on('data', (bytes) => {
      text = `${text}${bytes}`.slice(-1_000)
    })
    await until('the end of the connection', () => own.open() === 0)
    assert.match(text, /HTTP\/1.1 408 /)
    await own.close()
  })

  it('an idle connection is closed in time, also after a response that was read late', async () => {
    const own = await startGateway(upstream.port, {
      steps: [() => reply(200, 'direct-response', LARGE)],
      limits: { ...NO_LIMITS, idle: 300 },
    })
    const socket = connect(own.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await wait(600)
    let byteCount = 0
    socket.on('data', (bytes) => {
      byteCount += bytes.length
    })
    await until('the end of the connection', () => own.open() === 0)
    assert.ok(byteCount > LARGE.length, `${byteCount} of ${LARGE.length}`)
    await own.close()
  })
})
