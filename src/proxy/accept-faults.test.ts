import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import {
  acceptingPort,
  free,
  frontendPolicy,
  httpListener,
  programOf,
  terminated,
} from '../../test/proxy/accepting.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../../test/tls/certificates.ts'
import { helloMessage, inRecords, realHello, serverName } from '../../test/tls/hello-bytes.ts'

const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

/** Few in quick runs; fuzz runs have the time for many. */
const MANY = process.env['FUZZ_RUNS'] === undefined ? 100 : 2_000

/** Starts a gateway with TLS and this handshake timeout. */
async function start(handshakeTimeout: number) {
  const authority = makeAuthority('authority')
  const pair = authority.issue({ names: ['DNS:a.test'] })
  const own = await acceptingPort()
  opened.push(own)
  const port = await free()
  const listener = { protocol: 'HTTPS', name: 'https', tls: terminated(pair) } as const
  const frontend = [frontendPolicy('frontendTls', { handshakeTimeout })]
  await own.listeners.swap(programOf([httpListener(port, own.upstream, listener, { frontend })]))
  return { ...own, port }
}

async function crowd(port: number, count: number, greet: (socket: Socket, at: number) => void) {
  const sockets: Socket[] = []
  for (let at = 0; at < count; at++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.on('connect', () => greet(socket, at))
    socket.resume()
    sockets.push(socket)
    // The accept queue of the operating system is not under test.
    if (at % 100 === 99) await new Promise((resolve) => socket.on('connect', resolve))
  }
  return sockets
}

/** Receives its response, or hangs. */
async function goodClient(port: number): Promise<void> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  let text = ''
  socket.on('data', (data) => {
    text += data
    if (text.endsWith('hello')) socket.destroy()
  })
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await new Promise((resolve) => socket.on('close', resolve))
  assert.match(text, /hello$/)
}

async function until(isTrue: () => boolean, milliseconds = 8_000): Promise<void> {
  const end = performance.now() + milliseconds
  while (!isTrue() && performance.now() < end) await wait(20)
  assert.ok(isTrue())
}

describe('misbehaving clients', { skip: WITHOUT_OPENSSL }, () => {
  if (WITHOUT_OPENSSL !== false) return

  it(`${MANY} handshakes that never end hold nobody up and are gone in time`, async () => {
    const own = await start(MANY * 2)
    const hello = await realHello({ servername: 'a.test' })
    const sockets = await crowd(own.port, MANY, (socket, at) => {
      // Nothing, part of the ClientHello, or all of it followed by silence.
      if (at % 3 === 1) socket.write(hello.subarray(0, (at % 200) + 1))
      if (at % 3 === 2) socket.write(hello)
    })
    await until(() => sockets.every((socket) => !socket.connecting))
    assert.ok(own.counts.total > 0)
    await goodClient(own.port)
    await until(() => own.counts.total === 0, 15_000)
    assert.equal(own.counts.addresses, 0)
    assert.equal(own.seen.filter((word) => word === 'unsecured timeout').length, MANY)
    assert.ok(sockets.every((socket) => socket.destroyed))
    await goodClient(own.port)
  })

  it('waits for single bytes until the timeout', async () => {
    const own = await start(400)
    const hello = inRecords(helloMessage({ extensions: [serverName('a.test')] }), 1)
    const sockets = await crowd(own.port, 50, () => {})
    for (let at = 0; at < 200 && sockets.some((socket) => !socket.destroyed); at++) {
      for (const socket of sockets) {
        if (!socket.destroyed) socket.write(hello.subarray(at, at + 1))
      }
      await wait(5)
    }
    await until(() => own.counts.total === 0)
    assert.ok(own.seen.every((word) => word === 'unsecured timeout'))
  })

  it('closes all kinds of garbage at once, without leaks', async () => {
    const own = await start(5_000)
    const hello = await realHello({ servername: 'a.test' })
    const garbage = (at: number) => {
      const bytes = Buffer.from(hello)
      for (let turn = 0; turn < 4; turn++) bytes[(at * 31 + turn * 97) % bytes.length] = at % 256
      return at % 2 === 0 ? bytes : Buffer.alloc(1 + (at % 3_000), at % 256)
    }
    const sockets = await crowd(own.port, 500, (socket, at) => socket.end(garbage(at)))
    await until(() => own.counts.total === 0)
    await until(() => sockets.every((socket) => socket.destroyed))
    await goodClient(own.port)
  })

  it('leaks nothing if clients reset at any point of the handshake', async () => {
    const own = await start(5_000)
    const hello = await realHello({ servername: 'a.test' })
    await crowd(own.port, 300, (socket, at) => {
      socket.write(hello.subarray(0, (at * 7) % (hello.length + 1)))
      setTimeout(() => socket.resetAndDestroy(), at % 20)
    })
    await wait(200)
    await until(() => own.counts.total === 0)
    assert.equal(own.counts.addresses, 0)
    await goodClient(own.port)
  })
})
