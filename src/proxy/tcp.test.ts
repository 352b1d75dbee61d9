import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import {
  type AcceptingPortOptions,
  acceptingPort,
  free,
  httpListener,
  programOf,
  streamTo,
  terminated,
} from '../../test/proxy/accepting.ts'
import { listen } from '../../test/proxy/harness.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../../test/tls/certificates.ts'
import type { Listener } from '../model/gateway.ts'

const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

async function backend(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  opened.push({ close })
  return listen(server)
}

const TCP: Partial<Listener> = { protocol: 'TCP', name: 'tcp' }

async function start(options: AcceptingPortOptions, listener: Partial<Listener> = TCP) {
  const own = await acceptingPort(options)
  opened.push(own)
  const port = await free()
  await own.listeners.swap(programOf([httpListener(port, own.upstream, listener)]))
  return { ...own, port }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue() && turn < 400; turn++) await wait(5)
  assert.ok(isTrue())
}

describe('TCP', () => {
  it('forwards bytes unchanged in both directions, also many', async () => {
    const bytes = randomBytes(8 * 1024 * 1024)
    const digest = createHash('sha256').update(bytes).digest('hex')
    const target = await backend((socket) => socket.pipe(socket))
    const own = await start({ route: streamTo(target) })
    const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true })
    const hash = createHash('sha256')
    socket.on('data', (data) => hash.update(data))
    socket.end(bytes)
    await once(socket, 'end')
    assert.equal(hash.digest('hex'), digest)
    await until(() => own.streams.length === 1 && own.counts.total === 0)
    const [streamed] = own.streams
    assert.equal(streamed?.reason, 'finished')
    assert.equal(streamed?.bytesReceived, bytes.length)
    assert.equal(streamed?.bytesSent, bytes.length)
    assert.equal(streamed?.endpoint, `127.0.0.1:${target}`)
  })

  it('a client that half-closes still receives the response', async () => {
    const target = await backend((socket) => {
      let text = ''
      socket.on('data', (data) => (text += data))
      socket.on('end', () => setTimeout(() => socket.end(`you said ${text}`), 30))
    })
    const own = await start({ route: streamTo(target) })
    const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end('this')
    assert.equal(String((await once(socket, 'data'))[0]), 'you said this')
    await until(() => own.streams[0]?.reason === 'finished')
  })

  it('a backend that half-closes still receives data from the client', async () => {
    let heard = ''
    const target = await backend((socket) => {
      socket.end('bye')
      socket.on('data', (data) => (heard += data))
    })
    const own = await start({ route: streamTo(target) })
    const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.resume()
    await once(socket, 'end')
    socket.end('still here')
    await until(() => heard === 'still here')
    await until(() => own.streams[0]?.reason === 'finished')
  })

  it('a backend that sends first is forwarded before the client sends anything', async () => {
    const target = await backend((socket) => socket.write('220 ready\r\n'))
    const own = await start({ route: streamTo(target) })
    const socket = connect(own.port, '127.0.0.1')
    assert.equal(String((await once(socket, 'data'))[0]), '220 ready\r\n')
    socket.destroy()
  })

  for (const [what, onSocket, reason] of [
    ['the backend resets', (socket: Socket) => socket.resetAndDestroy(), 'upstream'],
    ['the client resets', undefined, 'client'],
  ] as const) {
    it(`${what}: the other side is closed too`, async () => {
      const theirs: Socket[] = []
      const target = await backend((socket) => {
        theirs.push(socket)
        socket.once('data', () => onSocket?.(socket))
      })
      const own = await start({ route: streamTo(target) })
      const socket = connect(own.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.resume()
      socket.write('x')
      await until(() => theirs.length === 1)
      await wait(20)
      if (onSocket === undefined) socket.resetAndDestroy()
      await until(() => own.streams.length === 1 && own.counts.total === 0)
      assert.equal(own.streams[0]?.reason, reason)
      await until(() => socket.destroyed && theirs[0]?.destroyed === true)
    })
  }

  it('skips an unreachable endpoint', async () => {
    const target = await backend((socket) => socket.pipe(socket))
    const own = await start({ route: streamTo(await free(), await free(), target) })
    const socket = connect(own.port, '127.0.0.1')
    socket.write('ping')
    assert.equal(String((await once(socket, 'data'))[0]), 'ping')
    socket.destroy()
    await until(() => own.streams.length === 1)
    assert.equal(own.streams[0]?.endpoint, `127.0.0.1:${target}`)
  })

  it('closes the client if no endpoint is reachable', async () => {
    const own = await start({ route: streamTo(await free()) })
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    await new Promise((resolve) => socket.on('close', resolve))
    await until(() => own.streams.length === 1)
    assert.equal(own.streams[0]?.reason, 'upstream')
    assert.equal(own.streams[0]?.detail, 'connect-refused')
  })

  it('closes the client without a byte if there is no route', async () => {
    const own = await start({})
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    await new Promise((resolve) => socket.on('close', resolve))
    assert.equal(socket.bytesRead, 0)
    assert.deepEqual(own.seen, ['rejected no-route no-route'])
  })

  it('applies backpressure if a side stops reading', async () => {
    const theirs: Socket[] = []
    const target = await backend((socket) => theirs.push(socket.pause()))
    const own = await start({ route: streamTo(target) })
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    const chunk = Buffer.alloc(1024 * 1024)
    let sent = 0
    const more = () => {
      while (sent < 256 && socket.write(chunk)) sent++
    }
    socket.on('drain', more)
    const before = process.memoryUsage.rss()
    more()
    await wait(300)
    assert.ok(sent < 32, `${sent} MiB were taken for nobody`)
    assert.ok(process.memoryUsage.rss() - before < 64 * 1024 * 1024)
    theirs[0]?.resetAndDestroy()
    await until(() => own.counts.total === 0)
    socket.destroy()
  })

  it('a slow client receives everything that a backend sent before it closed', async () => {
    const bytes = randomBytes(4 * 1024 * 1024)
    const target = await backend((socket) => {
      socket.resume()
      socket.end(bytes)
    })
    const own = await start({ route: streamTo(target) })
    const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end()
    await wait(150)
    let length = 0
    for await (const data of socket) {
      length += data.length
      if (length % 7 === 0) await wait(1)
    }
    assert.equal(length, bytes.length)
    await until(() => own.streams[0]?.reason === 'finished')
  })

  it('when draining, a stream stays open until the deadline', async () => {
    const target = await backend((socket) => socket.pipe(socket))
    const own = await start({ route: streamTo(target) })
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('one')
    await once(socket, 'data')
    const drained = own.listeners.drain(300)
    socket.write('two')
    assert.equal(String((await once(socket, 'data'))[0]), 'two')
    assert.equal(await drained, 1)
    assert.equal(own.counts.total, 0)
  })
})

describe('TLS to a backend', { skip: WITHOUT_OPENSSL }, () => {
  if (WITHOUT_OPENSSL !== false) return
  const authority = makeAuthority('authority')
  const pair = authority.issue({ names: ['DNS:a.test'] })

  it('terminated: the backend receives plaintext, and HTTP/2 is not negotiated', async () => {
    const target = await backend((socket) => socket.pipe(socket))
    const listener = { protocol: 'TLS', name: 'tls', tls: terminated(pair) } as const
    const own = await start({ route: streamTo(target) }, listener)
    const socket = connectTls({
      port: own.port,
      host: '127.0.0.1',
      servername: 'a.test',
      ca: authority.cert,
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    await once(socket, 'secureConnect')
    assert.equal(socket.alpnProtocol, false)
    const bytes = randomBytes(2 * 1024 * 1024)
    let length = 0
    socket.on('data', (data) => (length += data.length))
    socket.end(bytes)
    await once(socket, 'end')
    assert.equal(length, bytes.length)
    await until(() => own.streams.length === 1 && own.counts.total === 0)
    assert.equal(own.streams[0]?.reason, 'finished')
    assert.equal(own.connections[0]?.destination.hostname, 'a.test')
  })

  it('passed through: the client sees the backend certificate', async () => {
    const inner = makeAuthority('inner')
    const theirs = inner.issue({ names: ['DNS:a.test'] })
    const server = createTlsServer(theirs, (socket) => socket.end('from inside'))
    const target = await listen(server)
    opened.push({ close: () => server.close() })
    const listener = { protocol: 'TLS', name: 'tls', tls: { mode: 'Passthrough' } } as const
    const own = await start({ route: streamTo(target) }, listener)
    const socket = connectTls({
      port: own.port,
      host: '127.0.0.1',
      servername: 'a.test',
      ca: inner.cert,
    })
    assert.equal(String((await once(socket, 'data'))[0]), 'from inside')
    await until(() => own.streams.length === 1)
    assert.equal(own.connections[0]?.sni, 'a.test')
  })
})
