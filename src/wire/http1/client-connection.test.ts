import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Deadlines } from '../deadlines.ts'
import { turnWrites } from '../turn-writes.ts'
import { ClientConnection } from './client-connection.ts'

const HEAD = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n'

type Write = (request: unknown, pieces: unknown, ...more: unknown[]) => number
type Handle = Record<'writeLatin1String' | 'writeBuffer' | 'writev', Write>

/** A connection that records the number of pieces of each write. */
async function upload() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  if (socket.connecting) await once(socket, 'connect')
  const writes: number[] = []
  const { _handle } = socket as unknown as { _handle: Handle }
  for (const name of ['writeLatin1String', 'writeBuffer', 'writev'] as const) {
    const write = _handle[name]
    _handle[name] = (request, pieces, ...more) => {
      writes.push(Array.isArray(pieces) ? pieces.length / (more[0] === true ? 1 : 2) : 1)
      return write.call(_handle, request, pieces, ...more)
    }
  }
  const connection = new ClientConnection(socket, new Deadlines())
  const events = {
    idleTimeout: 1_000,
    interim() {},
    response: () => false,
    data: () => true,
    ended() {},
  }
  const failures: string[] = []
  const failed = (reason: string) => failures.push(reason)
  connection.send('POST', HEAD, true, 1_000, { ...events, failed, drained() {} })
  const received = async (length: number) => {
    let text = ''
    while (text.length < length) text += String((await once(accepted, 'data'))[0])
    return text
  }
  const close = () => {
    connection.abort()
    accepted.destroy()
    server.close()
  }
  return { connection, accepted, writes, failures, received, close }
}

describe('a request with a body', () => {
  for (const gathers of [true, false]) {
    it(`leaves as one piece with a short one${gathers ? ' when the turn is over' : ''}`, async () => {
      turnWrites.gathers = gathers
      const { connection, writes, received, close } = await upload()
      const lent = Buffer.from('body')
      connection.write(lent)
      // The lender may reuse the bytes at once.
      lent.fill('x')
      connection.end()
      assert.equal(await received(HEAD.length + 4), `${HEAD}body`)
      assert.deepEqual(writes, [1])
      close()
    })
  }

  it('is sent in one write with the available part of a long one', async () => {
    const { connection, writes, received, close } = await upload()
    const body = 'b'.repeat(10_000)
    connection.write(Buffer.from(body))
    connection.end()
    assert.equal(await received(HEAD.length + body.length), HEAD + body)
    assert.deepEqual(writes, [2])
    close()
  })

  it('is sent in one write with pieces and their framing', async () => {
    const { connection, writes, received, close } = await upload()
    for (const text of ['one', 'two']) connection.write(Buffer.from(text))
    connection.writeText('three')
    connection.end()
    assert.equal(await received(HEAD.length + 11), `${HEAD}onetwothree`)
    assert.deepEqual(writes, [3])
    close()
  })

  it('does not wait for a body that is not available', async () => {
    const { connection, received, close } = await upload()
    assert.equal(await received(HEAD.length), HEAD)
    connection.write(Buffer.from('late'))
    assert.equal(await received(4), 'late')
    connection.end()
    close()
  })

  it('does not wait for the rest of a started body', async () => {
    const { connection, received, close } = await upload()
    connection.write(Buffer.from('be'))
    assert.equal(await received(HEAD.length + 2), `${HEAD}be`)
    connection.write(Buffer.from('gun'))
    connection.end()
    assert.equal(await received(3), 'gun')
    close()
  })

  it('is not sent after an abort', async () => {
    turnWrites.gathers = true
    const { connection, accepted, writes, close } = await upload()
    connection.write(Buffer.from('body'))
    connection.end()
    connection.abort()
    await once(accepted.resume(), 'close')
    assert.deepEqual(writes, [])
    close()
  })
})

/** A connection to a server that records received bytes, and the outcome of the request. */
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
    idleTimeout: 1_000,
    interim() {},
    response: () => assert.fail('there is no response'),
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
  it('is sent at the end of the turn', async () => {
    const { accepted, end, failures } = await ask()
    await once(accepted, 'data')
    assert.equal(await end(), 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    assert.deepEqual(failures, [])
  })

  it('is never sent if aborted in the same turn', async () => {
    const { end } = await ask()
    assert.equal(await end(), '')
  })

  it('fails on bytes that arrive before it is sent', async () => {
    const { connection, end, failures } = await ask()
    connection.receive(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    assert.deepEqual(failures, [['closed', true]])
    assert.equal(connection.isClosed, true)
    assert.equal(await end(), '')
  })
})
