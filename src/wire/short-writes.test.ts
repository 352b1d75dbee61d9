import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ShortWrites } from './short-writes.ts'

/** Both ends of a connection, and the number of stream writes on the first one. */
async function pair() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  const [socket] = (await once(server, 'connection')) as [Socket]
  server.close()
  const close = () => {
    socket.destroy()
    peer.destroy()
  }
  const own = { socket, peer, streamed: 0, close }
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean
  socket.write = ((...values: unknown[]) => {
    own.streamed++
    return write(...values)
  }) as typeof socket.write
  return own
}

async function receive(peer: Socket, length: number): Promise<string> {
  const pieces: Buffer[] = []
  let received = 0
  peer.on('data', (bytes: Buffer) => {
    pieces.push(bytes)
    received += bytes.length
  })
  peer.resume()
  while (received < length) await turn()
  return Buffer.concat(pieces).toString('latin1')
}

/** Writes until the kernel accepts no more; returns the written text. */
function fill(writes: ShortWrites): string {
  let text = ''
  for (let i = 0; writes.isWritten; i++) {
    const piece = `${i} `.repeat(4_000)
    text += piece
    writes.write(i % 2 === 0 ? piece : Buffer.from(piece))
  }
  return text
}

describe('ShortWrites', () => {
  it('writes strings as latin1, and bytes, bypassing the stream of the socket', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    assert.equal(writes.write('caf\u00e9 '), true)
    assert.equal(writes.write(Buffer.from([0, 255])), true)
    assert.equal(writes.isWritten, true)
    assert.equal(await receive(own.peer, 7), 'caf\u00e9 \u0000\u00ff')
    assert.equal(own.streamed, 0)
    assert.equal(own.socket.bytesWritten, 7)
    own.close()
  })

  it('leaves writes after a partial kernel write to the stream', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    let text = fill(writes)
    assert.equal(own.streamed, 0)
    // Now the buffer for a peer that does not read is limited.
    let more = true
    for (let i = 0; more; i++) {
      const piece = `later ${i} `.repeat(1_000)
      text += piece
      more = writes.write(piece)
      assert.ok(i < 100)
    }
    assert.ok(own.streamed > 0)
    assert.equal(own.socket.writableNeedDrain, true)
    const drained = once(own.socket, 'drain')
    assert.equal(await receive(own.peer, text.length), text)
    await drained
    while (!writes.isWritten) await turn()
    const { streamed } = own
    writes.write('again')
    assert.equal(own.streamed, streamed)
    own.close()
  })

  it('keeps the bytes of a pending write', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    const text = fill(writes)
    for (let i = 0; i < 50; i++) Buffer.alloc(1_000_000, 'x')
    await turn()
    assert.equal(await receive(own.peer, text.length), text)
    own.close()
  })

  it('keeps its order among stream writes, and waits while the stream is corked', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    own.socket.cork()
    own.socket.write('first ')
    writes.write('second ')
    own.socket.uncork()
    writes.write('third ')
    own.socket.end('fourth')
    assert.equal(await receive(own.peer, 25), 'first second third fourth')
    own.close()
  })

  it('reports an error to the socket', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    own.peer.resetAndDestroy()
    const failed = once(own.socket, 'error')
    while (!own.socket.destroyed) {
      writes.write('into the void')
      await turn()
    }
    const [error] = (await failed) as [NodeJS.ErrnoException]
    assert.match(error.code ?? '', /^(EPIPE|ECONNRESET)$/)
    assert.equal(writes.write('after it'), false)
    own.close()
  })

  it('aborts pending writes when the socket is destroyed', async () => {
    const own = await pair()
    const writes = new ShortWrites(own.socket)
    fill(writes)
    own.socket.on('error', (error) => assert.fail(error))
    own.socket.destroy()
    await once(own.socket, 'close')
    own.close()
  })

  it('writes through the stream without a TCP handle', async () => {
    const own = await pair()
    class Other extends Socket {}
    const other = new Other()
    const seen: unknown[] = []
    other.write = ((...values: unknown[]) => seen.push(values) > 0) as typeof other.write
    const writes = new ShortWrites(other)
    writes.write('text')
    writes.write(Buffer.from('bytes'))
    assert.deepEqual(seen, [['text', 'latin1'], [Buffer.from('bytes')]])
    own.close()
  })
})
