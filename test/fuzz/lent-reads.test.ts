import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { ClientConnection } from '../../src/wire/http1/client-connection.ts'
import { connectLending, LentReads } from '../../src/wire/lent-reads.ts'
import { fill } from '../faults/patterns.ts'
import { assertProperty } from './assert-property.ts'
import { type Expected, Receiver } from './lent-receiver.ts'
import { fuzz } from './runs.ts'

/**
 * Reused buffers are not overwritten while a receiver needs them. The receiver here keeps the bytes
 * that it is given without a copy, and compares them when they are reported as written. This may be
 * long after the response, while the connection already serves other requests.
 */

interface Written extends Expected {
  readonly length: number
  readonly isChunked: boolean
  /** Repeats these piece lengths until the end. */
  readonly pieces: readonly number[]
}

const written: fc.Arbitrary<Written> = fc.record({
  seed: fc.nat(1_000),
  length: fc.oneof(fc.nat(40), fc.nat(20_000), fc.nat(400_000)),
  isChunked: fc.boolean(),
  pieces: fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 150_000 })), {
    minLength: 1,
    maxLength: 5,
  }),
  writesAfter: fc.constantFrom(0, 0, 1, 2, -1),
  pausesAt: fc.constantFrom(0, 100, 50_000),
})

function messageOf({ seed, length, isChunked }: Written, isLast: boolean): Buffer {
  const body = fill(seed, 0, length)
  const close = isLast && seed % 2 === 0 ? 'connection: close\r\n' : ''
  if (!isChunked)
    return Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\n${close}content-length: ${length}\r\n\r\n`),
      body,
    ])
  const parts: Buffer[] = [
    Buffer.from(`HTTP/1.1 200 OK\r\n${close}transfer-encoding: chunked\r\n\r\n`),
  ]
  for (let at = 0; at < length; ) {
    const size = Math.min(length - at, 1 + ((seed * 7 + at) % 30_000))
    parts.push(Buffer.from(`${size.toString(16)}\r\n`), body.subarray(at, at + size), CRLF)
    at += size
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

const CRLF = Buffer.from('\r\n')

describe('reused buffers', () => {
  let serve: (socket: Socket) => Promise<void> = async () => {}
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => void serve(socket))
  })
  const deadlines = new Deadlines(50)
  let port = 0
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => server.close())

  it('are not overwritten while a receiver needs them', async () => {
    const property = fc.asyncProperty(
      fc.array(written, { minLength: 1, maxLength: 4 }),
      async (responses) => {
        serve = async (socket) => {
          for (const one of responses) {
            const bytes = messageOf(one, one === responses.at(-1))
            for (let at = 0, i = 0; at < bytes.length; i++) {
              const size = one.pieces[i % one.pieces.length] as number
              // Limits the number of very small pieces, so that the test finishes.
              const end = i > 40 ? bytes.length : at + size
              socket.write(bytes.subarray(at, end))
              at = end
              if (i % 3 === 0) await turn()
            }
            if (one !== responses.at(-1)) await once(socket, 'data')
          }
        }
        const socket = connectLending({ port, host: '127.0.0.1', noDelay: true })
        await once(socket, 'connect')
        const connection = new ClientConnection(socket, deadlines)
        const receivers: Receiver[] = []
        for (const one of responses) {
          const receiver = new Receiver(one, connection)
          receivers.push(receiver)
          connection.send('GET', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', false, 20_000, receiver)
          const began = performance.now()
          while (!receiver.done && performance.now() - began < 20_000) await turn()
          if (!receiver.done) receiver.failed('no end')
        }
        for (const receiver of receivers) receiver.write()
        connection.abort()
        for (const [index, receiver] of receivers.entries()) {
          assert.equal(receiver.fault, undefined, `response ${index}`)
          assert.equal(receiver.received, responses[index]?.length)
        }
        assert.equal(LentReads.resting, 0, 'a closed connection rests no more')
      },
    )
    await assertProperty('lent-reads', property, fuzz(0.05, 40))
  })
})
