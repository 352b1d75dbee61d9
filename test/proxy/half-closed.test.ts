import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { reply } from '../../src/exchange/reply.ts'
import { startGateway, startUpstream } from './harness.ts'
import { until } from './whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`

/** Sends the text and closes the write side; returns what arrives until the peer closes, too. */
async function sendAndClose(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  socket.end(text, 'latin1')
  await once(socket, 'close')
  return received
}

describe('a client that closes its write side after its request', () => {
  const opened: { close: () => unknown }[] = []

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((own) => own.close()))
  })

  async function through(delay: number, steps: Parameters<typeof startGateway>[1] = {}) {
    const upstream = await startUpstream(async (text, socket) => {
      for (const _ of text.matchAll(/ HTTP\/1\.1\r\n/g)) {
        if (delay > 0) await wait(delay)
        socket.write(OK)
      }
    })
    const gateway = await startGateway(upstream.port, steps)
    opened.push(gateway, upstream)
    return { gateway, upstream }
  }

  for (const [title, request, statuses] of [
    ['a request', get('/'), 1],
    ['a body with a length', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc', 1],
    ['several requests at once', get('/1') + get('/2') + get('/3'), 3],
    ['one that is whole and one that is not', `${get('/1')}GET /2 HT`, 1],
  ] as const) {
    it(`has its response: ${title}`, async () => {
      const { gateway } = await through(50)
      const text = await sendAndClose(gateway.port, request)
      assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, statuses, text)
      assert.equal(text.match(/hello/g)?.length, statuses, text)
      await until('the end of the connection', () => gateway.open() === 0)
    })
  }

  it('gets responses of the gateway and of the backend in order', async () => {
    const own = (path: string) =>
      path === '/own' ? reply(200, 'direct-response', 'hello') : undefined
    const { gateway } = await through(50, { steps: [({ path }) => own(path)] })
    const all = get('/1') + get('/own') + get('/own') + get('/2') + get('/own')
    const text = await sendAndClose(gateway.port, all)
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 5, text)
  })

  it('counts as gone in the middle of a body', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port)
    opened.push(gateway, upstream)
    const half = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nab'
    assert.equal(await sendAndClose(gateway.port, half), '')
    assert.deepEqual(
      gateway.runs.map(({ exchange: { reason, detail } }) => [reason, detail]),
      [['client-gone', 'truncated-body']],
    )
  })

  it('counts as gone if no response arrives, and the backend connection is closed', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port)
    opened.push(gateway, upstream)
    assert.equal(await sendAndClose(gateway.port, get('/')), '')
    await until('the upstream to be free', () => upstream.sockets.size === 0)
    assert.deepEqual(
      gateway.runs.map(({ exchange: { reason, detail } }) => [reason, detail]),
      [['client-gone', 'closed']],
    )
  })

  it('keeps the other half of a tunnel that it requested', async () => {
    const upstream = await startUpstream((text, socket) => {
      if (!text.startsWith('GET')) return
      socket.prependOnceListener('end', () => socket.end('goodbye'))
      setTimeout(() => {
        socket.write('HTTP/1.1 101 Ok\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
      }, 50)
    })
    const gateway = await startGateway(upstream.port)
    opened.push(gateway, upstream)
    const upgrade = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nearly'
    assert.match(await sendAndClose(gateway.port, upgrade), /\r\n\r\ngoodbye$/)
    assert.match(upstream.received.join(''), /\r\n\r\nearly$/)
  })

  it('receives a stream for as long as data arrives', async () => {
    const upstream = await startUpstream(async (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      for (let i = 0; i < 5; i++) {
        await wait(300)
        socket.write('2\r\nab\r\n')
      }
      socket.write('0\r\n\r\n')
    })
    const gateway = await startGateway(upstream.port)
    opened.push(gateway, upstream)
    const text = await sendAndClose(gateway.port, get('/'))
    assert.match(text, /(?:2\r\nab\r\n){5}0\r\n\r\n$/)
  })
})

describe('a client that disconnects', () => {
  const opened: { close: () => unknown }[] = []

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((own) => own.close()))
  })

  it('a client that sent a body and disconnects is logged as the reason', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const client = connect(gateway.port, '127.0.0.1')
    client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody')
    await until('the body', () => upstream.received.join('').includes('body'))
    client.destroy()
    await until('the end of the exchange', () => gateway.runs.length === 1)
    assert.equal(gateway.runs[0]?.exchange.reason, 'client-gone')
  })

  it('a client that disconnects while the upstream works frees the upstream', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const client = connect(gateway.port, '127.0.0.1')
    client.write(get('/'))
    await until('the request', () => upstream.received.join('').includes('GET /'))
    client.destroy()
    await until('the upstream to be free', () => upstream.sockets.size === 0)
    assert.equal(gateway.attempts[0]?.outcome, 'cancelled')
    assert.equal(gateway.runs[0]?.exchange.reason, 'client-gone')
  })
})
