import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { readInto } from './user-buffer.ts'

/** Both ends of a connection. */
async function pair(): Promise<{ accepted: Socket; client: Socket }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  server.close()
  return { accepted, client }
}

describe('readInto', () => {
  it('reads an accepted socket into the given buffers', async () => {
    const { accepted, client } = await pair()
    const buffers = [Buffer.alloc(4), Buffer.alloc(3), Buffer.alloc(100)]
    let asked = 0
    const lengths: number[] = []
    const isRead = readInto(
      accepted,
      () => buffers[Math.min(asked++, 2)] as Buffer,
      (length) => lengths.push(length),
    )
    assert.equal(isRead, true)
    accepted.on('data', () => assert.fail('it comes by events'))
    accepted.resume()
    client.end('0123456789')
    await once(accepted, 'end')
    assert.deepEqual(lengths, [4, 3, 3])
    assert.equal(buffers.map((buffer) => buffer.toString('latin1', 0, 3)).join(), '012,456,789')
    assert.equal(accepted.bytesRead, 10)
    client.destroy()
  })

  it('pauses and resumes with the socket', async () => {
    const { accepted, client } = await pair()
    const buffer = Buffer.alloc(100)
    let received = ''
    const take = (length: number) => {
      received += buffer.toString('latin1', 0, length)
      accepted.pause()
    }
    readInto(accepted, () => buffer, take)
    accepted.resume()
    client.write('first')
    while (received === '') await new Promise(setImmediate)
    client.write('second')
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    assert.equal(received, 'first')
    accepted.resume()
    while (received === 'first') await new Promise(setImmediate)
    assert.equal(received, 'firstsecond')
    accepted.destroy()
    client.destroy()
  })

  it('leaves a socket alone whose handle does not support user buffers', async () => {
    const { accepted, client } = await pair()
    const { _handle } = accepted as unknown as { _handle: object }
    Object.defineProperty(_handle, 'useUserBuffer', { value: undefined })
    const never = () => assert.fail('there is no buffer')
    assert.equal(readInto(accepted, never, never), false)
    client.end('as ever')
    const [bytes] = await once(accepted, 'data')
    assert.equal(String(bytes), 'as ever')
    client.destroy()
  })

  it('leaves a socket alone that already reads into another buffer', async () => {
    const { accepted, client } = await pair()
    const buffer = Buffer.alloc(10)
    const isRead = () =>
      readInto(
        accepted,
        () => buffer,
        () => {},
      )
    assert.deepEqual([isRead(), isRead()], [true, false])
    accepted.destroy()
    client.destroy()
  })
})
