import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Deadlines } from '../deadlines.ts'
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
