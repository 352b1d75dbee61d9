import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { ClientSession } from '../../src/wire/http2/client.ts'
import { SESSION_OPTIONS } from '../../src/wire/http2/client-limits.ts'
import { connectLending, LentReads } from '../../src/wire/lent-reads.ts'
import { fill } from '../faults/patterns.ts'
import { assertProperty } from './assert-property.ts'
import { type Expected, Receiver } from './lent-receiver.ts'
import { fuzz } from './runs.ts'

/**
 * Like lent-reads.test.ts, with many concurrent responses on one connection. Each response has
 * parts of the same buffers, and writes them at any time.
 */

interface Written extends Expected {
  readonly length: number
  /** Bytes that the server writes at a time. */
  readonly piece: number
}

const written: fc.Arbitrary<Written> = fc.record({
  seed: fc.nat(1_000),
  length: fc.oneof(fc.nat(40), fc.nat(20_000), fc.nat(400_000)),
  piece: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1_000, max: 150_000 })),
  writesAfter: fc.constantFrom(0, 0, 1, 2, -1),
  pausesAt: fc.constantFrom(0, 100, 50_000),
})

describe('buffers shared by many streams', () => {
  let responses: readonly Written[] = []
  let server: Http2Server
  let port = 0

  const response = async (stream: ServerHttp2Stream, path: string) => {
    const own = responses[Number(path.slice(1))] as Written
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    for (let at = 0, i = 0; at < own.length && !stream.destroyed; i++) {
      // Limits the number of very small pieces, so that the test finishes.
      const size = i > 40 ? own.length - at : Math.min(own.piece, own.length - at)
      stream.write(fill(own.seed, at, size))
      at += size
      if (i % 3 === 0) await turn()
    }
    stream.end()
  }

  before(async () => {
    server = createServer()
    server.on('stream', (stream: ServerHttp2Stream, { ':path': path = '' }) => {
      void response(stream, path)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => server.close())

  it('are not overwritten while a stream needs them', async () => {
    const property = fc.asyncProperty(
      fc.array(written, { minLength: 1, maxLength: 8 }),
      async (list) => {
        responses = list
        const socket = connectLending({ port, host: '127.0.0.1', noDelay: true })
        await once(socket, 'connect')
        const ready = Promise.withResolvers<void>()
        const session = new ClientSession(socket, SESSION_OPTIONS, new Deadlines(50), {
          ready: () => ready.resolve(),
          freed() {},
          closed() {},
        })
        await ready.promise
        const receivers = list.map((own, i) => {
          const stream = session.open()
          const receiver = new Receiver(own, stream)
          stream.send('GET', `GET /${i} HTTP/1.1\r\nhost: a\r\n\r\n`, false, 60_000, receiver)
          return receiver
        })
        while (!receivers.every(({ done }) => done)) await turn()
        for (const receiver of receivers) receiver.write()
        session.destroy('closed')
        for (const [index, { fault, received }] of receivers.entries())
          assert.deepEqual([fault, received], [undefined, list[index]?.length], `stream ${index}`)
        assert.equal(LentReads.resting, 0, 'a closed connection rests no more')
      },
    )
    await assertProperty('lent-streams', property, fuzz(0.05, 40))
  })
})
