import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { describe, it } from 'node:test'
import { Arrival } from './arrival.ts'

const OCTETS = 40_000

describe('what arrives on a stream of HTTP/2', () => {
  it('waits in few pieces, however small its frames are', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const pieces: string[] = []
    let came = 0
    const streamed = once(server, 'stream').then(([stream]) => stream as ServerHttp2Stream)
    client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    client.write(Buffer.concat([frame(4, 0, 0, ''), frame(1, 4, 1, '\x83\x86\x84\x41\x01x')]))
    const stream = await streamed
    const all = Promise.withResolvers<void>()
    const arrival = new Arrival(stream, (octets) => {
      came += octets
      if (came === OCTETS) all.resolve()
    })
    const text = Array.from({ length: OCTETS }, (_, i) => String.fromCharCode(97 + (i % 26)))
    client.write(Buffer.concat(text.map((letter) => frame(0, 0, 1, letter))))
    await all.promise
    stream.on('data', (bytes: Buffer) => pieces.push(bytes.toString()))
    arrival.release()
    client.write(frame(0, 1, 1, '.'))
    await once(stream, 'end')
    client.destroy()
    server.close()
    assert.equal(pieces.join(''), `${text.join('')}.`)
    assert.ok(pieces.length < 20, `${pieces.length} pieces`)
    assert.ok(arrival.isWhole)
  })
})

function frame(type: number, flags: number, id: number, payload: string): Buffer {
  const bytes = Buffer.alloc(9 + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(id, 5)
  bytes.write(payload, 9, 'latin1')
  return bytes
}
