import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Deadlines } from '../deadlines.ts'
import { turnWrites } from '../turn-writes.ts'
import { ClientConnection } from './client-connection.ts'

describe('a request with a body', () => {
  it('leaves in one write with what there is of its body', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [accepted] = (await once(server, 'connection')) as [Socket]
    if (socket.connecting) await once(socket, 'connect')
    const writes: number[] = []
    const written = socket as unknown as { _write: unknown; _writev: (all: unknown[]) => void }
    const { _writev } = written
    written._write = () => assert.fail('something was written alone')
    written._writev = function (this: Socket, ...values) {
      writes.push((values[0] as unknown as readonly unknown[]).length)
      _writev.apply(this, values)
    }
    const connection = new ClientConnection(socket, new Deadlines())
    const events = { interim() {}, response: () => false, data: () => true, ended() {} }
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n'
    connection.send('POST', head, true, 1_000, { ...events, failed() {}, drained() {} })
    connection.write(Buffer.from('body'))
    connection.end()
    const [bytes] = await once(accepted, 'data')
    assert.equal(String(bytes), `${head}body`)
    assert.deepEqual(writes, [2])
    connection.abort()
    accepted.destroy()
    server.close()
  })
})

/** A connection to a server that records what it gets, and what became of the request. */
async function ask() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  if (socket.connecting) await once(socket, 'connect')
  let received = ''
  accepted.on('data', (bytes) => {
    received += String(bytes)
  })
  const connection = new ClientConnection(socket, new Deadlines())
  turnWrites.gathers = true
  const failures: [string, boolean][] = []
  connection.send('GET', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', false, 1_000, {
    interim() {},
    response: () => assert.fail('nobody answered'),
    data: () => true,
    ended() {},
    drained() {},
    failed: (reason, isUntouched) => failures.push([reason, isUntouched]),
  })
  const end = async () => {
    const closed = accepted.destroyed ? undefined : once(accepted, 'close')
    connection.abort()
    await closed
    server.close()
    return received
  }
  return { connection, accepted, failures, end }
}

describe('a request without a body', () => {
  it('leaves when the turn is over', async () => {
    const { accepted, end, failures } = await ask()
    await once(accepted, 'data')
    assert.equal(await end(), 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    assert.deepEqual(failures, [])
  })

  it('never leaves where it was given up in the same turn', async () => {
    const { end } = await ask()
    assert.equal(await end(), '')
  })

  it('has nothing to do with bytes that came before it left', async () => {
    const { connection, end, failures } = await ask()
    connection.receive(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    assert.deepEqual(failures, [['closed', true]])
    assert.equal(connection.isClosed, true)
    assert.equal(await end(), '')
  })
})
